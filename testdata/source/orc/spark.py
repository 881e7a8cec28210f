#!/usr/bin/env python3
"""Writes ORC files with Spark's writer of ORC and with Hive's, in a time zone, and beside each NAME.orc a NAME.jsonl: what Spark shows of it in
that zone. The first line names the columns.

    python3 -m venv venv && venv/bin/pip install pyspark==4.1.1
    venv/bin/python spark.py DIRECTORY Asia/Shanghai
"""
import glob, json, os, shutil, sys, tempfile
from pyspark.sql import SparkSession

directory, zone = sys.argv[1], sys.argv[2]
work = tempfile.mkdtemp()
spark = (SparkSession.builder.master("local[1]").config("spark.driver.extraJavaOptions", "-Duser.timezone=%s -Dderby.system.home=%s" % (zone, work))
         .config("spark.sql.session.timeZone", zone).config("spark.sql.warehouse.dir", work + "/warehouse").config("spark.ui.enabled", "false")
         .config("spark.sql.hive.convertMetastoreOrc", "false").config("spark.sql.hive.convertInsertingPartitionedTable", "false")
         .config("spark.sql.hive.convertMetastoreInsertDir", "false").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "localhost")
         .config("spark.sql.ansi.enabled", "false").enableHiveSupport().getOrCreate())
spark.sparkContext.setLogLevel("ERROR")

TIMES = ["2026-03-05 08:09:10", "1970-01-01 00:00:00", "1969-12-31 23:59:58.5", "1900-01-01 00:00:00", "1899-12-31 12:00:00.25", "1582-10-15 00:00:00", "1582-10-04 01:02:03",
         "0001-01-01 00:00:00", "1941-07-01 12:00:00", "2024-07-01 12:00:00.000001", "2015-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1986-06-01 03:04:05", "1970-01-01 07:59:59.5"]
DATES = ["2026-03-05", "1970-01-01", "1969-12-31", "0001-01-01", "1582-10-04", "1582-10-15", "9999-12-31", "1900-02-28"]
WORDS = ["", "plain", "张三", "a  ", "  b", "quote\"d", "a\tb\nc", "0123456789"]


def pick(values, i, quote="'%s'"):
    v = values[i % len(values)]
    return quote % v.replace("\\", "\\\\").replace("'", "\\'")


def row(i):
    null = i % 7 == 3
    f = [str(i)]
    add = lambda text, typ: f.append("CAST(%s AS %s)" % ("NULL" if null else text, typ))
    add(str(i % 2 == 0).lower(), "boolean"), add(str(i * 37 % 256 - 128), "tinyint"), add(str(i * 3001 % 65536 - 32768), "smallint")
    add(str(i * 7 - 5), "int"), add(str((-1) ** i * 3 ** min(i, 38)), "bigint")
    add(str(i * i - 900) + ".25", "decimal(7,2)"), add("-" * (i % 2) + "12345678901234567890" + str(i) + ".123456789012345", "decimal(38,15)")
    add(pick(WORDS, i), "string"), add(pick(WORDS, i), "char(10)"), add(pick(WORDS, i), "varchar(10)"), add(pick(WORDS, i), "binary")
    add(pick(DATES, i), "date"), add(pick(TIMES, i), "timestamp")
    add("array(%d, NULL, %d)" % (i, -i), "array<int>"), add("map('k%d', 'v', 'n', NULL)" % i, "map<string,string>")
    add("named_struct('city', %s, 'zip', %d, 'tags', array('x', 'y'))" % (pick(WORDS, i), i), "struct<city:string,zip:int,tags:array<string>>")
    return "(" + ", ".join(f) + ")"


NAMES = "id flag i8 i16 i32 i64 d7 d38 s c v b day ts ints m addr".split()
TYPES = ("int boolean tinyint smallint int bigint decimal(7,2) decimal(38,15) string char(10) varchar(10) binary date timestamp array<int> "
         "map<string,string> struct<city:string,zip:int,tags:array<string>>").split()
COLUMNS = ", ".join("%s %s" % c for c in zip(NAMES, TYPES))
short = zone.split("/")[-1].lower()
view = "SELECT * FROM VALUES " + ", ".join(row(i) for i in range(60)) + " AS t(" + ", ".join(NAMES) + ")"


def text(name, typ, table):
    if name == "c":  # Spark writes it as a string with its blanks, Hive as CHAR
        return "rtrim(c)" if table == "hive_orc" else "c"
    if "<" in typ:
        return "to_json(%s, map('ignoreNullFields', 'false'))" % name
    return "CAST(%s AS string)" % name


def export(name, table):
    source = glob.glob(work + "/warehouse/" + table + "/*")
    source = [f for f in source if not os.path.basename(f).startswith("_") and os.path.getsize(f) > 0]
    assert len(source) == 1, source
    shutil.copy(source[0], os.path.join(directory, name + ".orc"))
    columns = spark.table(table).columns
    texts = [text(n, t, table) + " AS " + n for n, t in zip(NAMES, TYPES) if n in columns]
    with open(os.path.join(directory, name + ".jsonl"), "w") as f:
        f.write(json.dumps(columns) + "\n")
        for r in spark.sql("SELECT %s FROM %s ORDER BY CAST(id AS int)" % (", ".join(texts), table)).collect():
            f.write(json.dumps(r.asDict(), ensure_ascii=False) + "\n")


for codec in ["zstd"] if short != "shanghai" else ["zlib", "lz4"]:
    spark.sql("CREATE TABLE spark_%s (%s) USING orc OPTIONS (compression '%s')" % (codec, COLUMNS, codec))
    spark.sql("INSERT INTO spark_%s %s DISTRIBUTE BY 1 SORT BY id" % (codec, view))
    export("spark-%s-%s" % (short, codec), "spark_" + codec)
spark.sql("CREATE TABLE hive_orc (%s) STORED AS ORC TBLPROPERTIES ('orc.compress'='SNAPPY')" % COLUMNS)
spark.sql("INSERT INTO hive_orc %s DISTRIBUTE BY 1 SORT BY id" % view)
export("hive-%s-snappy" % short, "hive_orc")
spark.stop()
shutil.rmtree(work)
