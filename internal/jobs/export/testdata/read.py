"""Reads the files of an export as other programs do: read.py HOW FILE... prints a JSON list of rows for each file.

csv and jsonl are Python's own modules; duckdb-csv and duckdb-parquet need DuckDB.
"""
import csv
import json
import sys

how, files = sys.argv[1], sys.argv[2:]
for name in files:
    if how == "csv":
        with open(name, newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f, strict=True))
    elif how == "jsonl":
        with open(name, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
    else:
        import duckdb
        read = {"duckdb-csv": "read_csv(?, header=true, all_varchar=true, quote='\"', escape='\"', delim=',')", "duckdb-parquet": "read_parquet(?)"}[how]
        found = duckdb.execute("select * from " + read, [name])
        names = [d[0] for d in found.description]
        rows = [dict(zip(names, r)) for r in found.fetchall()]
    print(json.dumps(rows))
