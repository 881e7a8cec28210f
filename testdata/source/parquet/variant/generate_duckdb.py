#!/usr/bin/env python3
"""Writes duckdb.parquet, VARIANTs as DuckDB writes them, which the schema annotates, and duckdb.jsonl: the texts by hand.

    python3 -m venv venv && venv/bin/pip install duckdb==2.0.1
    venv/bin/python duckdb.py
"""
import json, os, sys
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]
import duckdb

here = os.path.dirname(os.path.abspath(__file__))
VALUES = [("1::TINYINT", "1"), ("-300::SMALLINT", "-300"), ("70000", "70000"), ("5000000000", "5000000000"), ("1.5::DOUBLE", "1.5"), ("0.1::FLOAT", "0.1"), ("12.30::DECIMAL(4,2)", "12.3"),
          ("'123456789012.345'::DECIMAL(18,3)", "123456789012.345"), ("'12345678901234567890.12345'::DECIMAL(38,5)", "12345678901234567890.12345"), ("true", "true"), ("'text'", '"text"'),
          ("'\\x00\\xFF'::BLOB", '"AP8="'), ("DATE '2026-03-05'", '"2026-03-05"'), ("TIMESTAMP '2026-03-05 08:09:10.25'", '"2026-03-05 08:09:10.25"'), ("TIMESTAMPTZ '2026-03-05 08:09:10+00'", '"2026-03-05 08:09:10+00:00"'),
          ("'2026-03-05 08:09:10.123456789'::TIMESTAMP_NS", '"2026-03-05 08:09:10.123456789"'), ("'00112233-4455-6677-8899-aabbccddeeff'::UUID", '"00112233-4455-6677-8899-aabbccddeeff"'),
          ("TIME '08:09:10.5'", '"08:09:10.5"'), ("[1, NULL, 3]", "[1,null,3]"), ("{'b': 1, 'a': ['x', 'y'], 'c': {'d': DATE '2026-01-01'}}", '{"a":["x","y"],"b":1,"c":{"d":"2026-01-01"}}'),
          ("NULL", None)]
db = duckdb.connect()
db.execute("SET TimeZone='UTC'")
query = " UNION ALL ".join("SELECT %d AS id, (%s)::VARIANT AS v" % (i, v) for i, (v, _) in enumerate(VALUES))
db.execute("COPY (SELECT * FROM (%s) ORDER BY id) TO '%s/duckdb.parquet' (FORMAT parquet)" % (query, here))
with open(here + "/duckdb.jsonl", "w") as f:
    f.write('["id", "v"]\n')
    for i, (_, text) in enumerate(VALUES):
        f.write(json.dumps({"id": str(i), "v": text}) + "\n")
