#!/usr/bin/env python3
"""Writes VARIANTs with Spark, as values and in columns of their own, and beside each NAME.parquet a NAME.jsonl: what Spark's to_json makes of them.

    python3 -m venv venv && venv/bin/pip install pyspark==4.1.1
    venv/bin/python spark.py
"""
import glob, json, os, shutil, tempfile
from pyspark.sql import SparkSession, functions as F

here, work = os.path.dirname(os.path.abspath(__file__)), tempfile.mkdtemp()
spark = (SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
         .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "localhost").config("spark.sql.ansi.enabled", "false")
         .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")

TEXTS = ['null', 'true', 'false', '0', '-1', '127', '-129', '40000', '2147483648', '-9223372036854775808', '9223372036854775808', '1.5', '12.30', '100.00', '0.00001', '-0.5', '1e10', '1.0E-4',
         '12345678901234567890.123456789', '1.7976931348623157e308', '123456.75e0', '1e0', '"short"', '""', '"%s"' % ("long " * 30), '"张三 \\"q\\" \\\\ \\n\\t"', '[]', '{}', '[1,"a",null,[true,{}]]',
         '{"b":1,"a":{"z":[1,2,{"y":null}],"":"empty"},"数":"x"}', '{"a":7,"b":"text","c":[1,2,3],"d":{"e":1.25,"f":true},"g":"more"}', '{"a":"no number","c":"no list","d":{"e":"x","h":1}}',
         '{"c":[1,"two",null,4],"d":{},"a":null}', '{"d":[1],"b":2.5,"a":9999999999}', '[{"a":1},{"a":2}]', "[%s]" % ",".join(map(str, range(300))),
         "{%s}" % ",".join('"k%03d":%d' % (i, i) for i in range(300))]
CASTS = ["DATE'2026-03-05'", "DATE'0001-01-01'", "TIMESTAMP'2026-03-05 08:09:10.5'", "TIMESTAMP'1969-12-31 23:59:59.999999'", "TIMESTAMP_NTZ'2026-03-05 08:09:10'",
         "TIMESTAMP_NTZ'1582-01-01 00:00:00.000001'", "X'00ff10'", "CAST(1.1 AS FLOAT)", "CAST(3 AS FLOAT)", "CAST(1e8 AS FLOAT)", "CAST(0.1 AS DOUBLE)", "CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS FLOAT)",
         "CAST(1e7 AS DOUBLE)", "CAST(9999999 AS DOUBLE)", "CAST(0.001 AS DOUBLE)", "CAST(-0.0 AS DOUBLE)", "CAST(7 AS TINYINT)", "CAST('123.4500' AS DECIMAL(9,4))", "CAST('-99999999999999999999999999999999999999' AS DECIMAL(38,0))",
         "CAST('0.000' AS DECIMAL(18,3))"]
OBJECTS = ["named_struct('a', 5, 'd', named_struct('e', DATE'2026-01-01', 'f', TIMESTAMP'2026-01-01 00:00:00'), 'c', array(1, NULL, 3))",
           "named_struct('t', TIMESTAMP'2026-01-01 01:02:03', 'n', TIMESTAMP_NTZ'2026-01-01 01:02:03.25', 'day', DATE'2026-02-03', 'm', CAST(1.50 AS DECIMAL(5,2)), 'x', CAST(2.5 AS DOUBLE), 'bin', X'01', 'ok', true)",
           "named_struct('t', 'text', 'm', CAST('7.00' AS DECIMAL(5,2)), 'x', CAST(1e9 AS DOUBLE), 'y', 1)"]
quoted = lambda s: "'" + s.replace("\\", "\\\\").replace("'", "\\'") + "'"
values = ["parse_json(%s)" % quoted(t) for t in TEXTS] + ["CAST(%s AS VARIANT)" % c for c in CASTS] + ["to_variant_object(%s)" % o for o in OBJECTS] + ["CAST(NULL AS VARIANT)"]
query = " UNION ALL ".join("SELECT %d AS id, %s AS v" % (i, v) for i, v in enumerate(values))
spark.sql("SELECT id, v, named_struct('in', v, 'n', id) AS s, array(v, NULL, v) AS l FROM (%s)" % query).coalesce(1).createOrReplaceTempView("t")

SCHEMAS = {"objects": "a int, c array<int>, d struct<e: double, f: boolean, h: string>, b string", "typed": "t timestamp, n timestamp_ntz, day date, m decimal(5,2), x double, bin binary, ok boolean",
           "list": "array<bigint>", "number": "decimal(20,4)", "string": "string", "double": "double", "nested": "a struct<z: array<variant>, b: int>, l array<struct<a: int>>"}


def export(name):
    table = spark.table("t") if name == "plain" else spark.table("t").drop("l")  # Spark 4.1.1 cannot write columns of their own beside an array
    table.write.mode("overwrite").option("compression", "zstd").parquet(work + "/" + name)
    (source,) = glob.glob(work + "/" + name + "/*.parquet")
    shutil.copy(source, os.path.join(here, name + ".parquet"))
    with open(os.path.join(here, name + ".jsonl"), "w") as f:
        f.write(json.dumps(table.columns) + "\n")
        for r in spark.read.parquet(work + "/" + name).selectExpr("CAST(id AS string) AS id", "to_json(v) AS v", "to_json(s.in) AS x").orderBy(F.col("id").cast("int")).collect():
            x = r.x if r.x is not None else "null"
            row = {"id": r.id, "v": r.v, "s": '{"in":%s,"n":%s}' % (x, r.id), "l": "[%s,null,%s]" % (x, x)}
            f.write(json.dumps({c: row[c] for c in table.columns}, ensure_ascii=False) + "\n")


spark.conf.set("spark.sql.variant.writeShredding.enabled", "false")
export("plain")
spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
for name, schema in SCHEMAS.items():
    spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", schema)
    try:
        export("shredded-" + name)
    except Exception as e:
        print(name, [x[:300] for x in str(e).splitlines() if "Caused by" in x])
spark.stop()
shutil.rmtree(work)
