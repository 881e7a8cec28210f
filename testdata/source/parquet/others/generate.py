#!/usr/bin/env python3
"""Writes the nested and odd Parquet files of this directory, and beside each NAME.parquet a NAME.jsonl: the texts that its
values have to become, made from what pyarrow reads of it. The first line names the columns that are chosen.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1 duckdb==2.0.0 fastparquet==2026.9.0
    venv/bin/python generate.py
"""
import datetime as dt, decimal, json, math, os, random, struct, sys
import duckdb, fastparquet, numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from texts import *

D = decimal.Decimal
rnd = random.Random(11)
ROWS = 60


def maybe(make, share=5):
    return None if rnd.randrange(share) == 0 else make()


def word():
    return rnd.choice(["plain", "张三", "", 'q"uo\\te', "line\nfeed\ttab\r\x01", "a,b", "€", "x" * rnd.randrange(40)])


def number():
    return rnd.choice([0, 7, -1, 2**63 - 1, -(2**63), rnd.randrange(1000)])


def items(make, most=4):
    return [make() for _ in range(rnd.randrange(most))]


UTC = dt.timezone.utc
point = pa.struct([("lat", pa.float64()), ("lon", pa.float32())])
schema = pa.schema([
    pa.field("id", pa.int32(), nullable=False),
    ("addr", pa.struct([("city", pa.string()), ("zip.code", pa.int32()), ("geo", point), ("tags", pa.list_(pa.string()))])),
    ("ints", pa.list_(pa.int64())),
    ("words", pa.list_(pa.string())),
    ("deep", pa.list_(pa.list_(pa.list_(pa.int32())))),
    ("points", pa.list_(point)),
    ("m", pa.map_(pa.string(), pa.int64())),
    ("days", pa.map_(pa.date32(), pa.list_(pa.struct([("w", pa.string()), ("n", pa.map_(pa.int32(), pa.string()))])))),
    ("kinds", pa.struct([
        pa.field("must", pa.bool_(), nullable=False), ("money", pa.decimal128(12, 2)), ("big", pa.decimal256(50, 5)), ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("ms")), ("clock", pa.time64("us")), ("raw", pa.binary()), ("four", pa.binary(4)),
        ("u", pa.uint64())])),
    ("a.b", pa.string()),
    ("a", pa.struct([("b", pa.string())])),
])


def row(i):
    geo = lambda: {"lat": rnd.choice([0.1, math.nan, math.inf, -math.inf, 1e21, 1.5e-7, 3.0]), "lon": maybe(lambda: 0.5)}
    when = lambda: dt.datetime(1969, 12, 31, 23, 59, 59, rnd.choice([0, 120000]), UTC) + dt.timedelta(days=rnd.randrange(20000))
    return {
        "id": i,
        "addr": maybe(lambda: {"city": maybe(word), "zip.code": maybe(lambda: 200000 + i), "geo": maybe(geo), "tags": maybe(lambda: items(lambda: maybe(word)))}),
        "ints": maybe(lambda: items(lambda: maybe(number), 9)),
        "words": maybe(lambda: items(word)),
        "deep": maybe(lambda: items(lambda: maybe(lambda: items(lambda: maybe(lambda: items(lambda: maybe(lambda: rnd.randrange(9)))))))),
        "points": maybe(lambda: items(lambda: maybe(geo))),
        "m": maybe(lambda: [(f"k{j}{word()}", maybe(number)) for j in range(rnd.randrange(4))]),
        "days": maybe(lambda: [(dt.date(1960 + j, 2, 3), maybe(lambda: items(lambda: maybe(lambda: {"w": maybe(word), "n": maybe(lambda: [(j, maybe(word)) for j in range(rnd.randrange(3))])}))))
                               for j in range(rnd.randrange(3))]),
        "kinds": maybe(lambda: {"must": i % 2 == 0, "money": maybe(lambda: D(rnd.randrange(-9999, 9999)).scaleb(-2)), "big": maybe(lambda: D(10) ** 44 + D("0.00001")),
                                "day": maybe(lambda: dt.date(1582, 10, 4)), "at": maybe(when), "local": maybe(lambda: when().replace(tzinfo=None)),
                                "clock": maybe(lambda: dt.time(23, 59, 59, 999999)), "raw": maybe(lambda: bytes(range(rnd.randrange(9)))), "four": maybe(lambda: b"\xff\0ab"), "u": maybe(lambda: 2**64 - 1)}),
        "a.b": "dotted", "a": {"b": f"inside {i}"},
    }


decimal.getcontext().prec = 80
table = pa.Table.from_pylist([row(i) for i in range(ROWS)], schema=schema)
chosen = ["words", "addr.geo.lat", "addr", "id", "addr.city", "addr.zip.code", "addr.geo", "addr.tags", "ints", "deep", "points", "m", "days", "kinds",
          "kinds.must", "kinds.money", "kinds.raw", "a.b", "a"]
chosen.remove("kinds.raw")  # not UTF-8: no text of JSON lines


def write(name, **options):
    pq.write_table(table, name + ".parquet", **options)
    back = pq.read_table(name + ".parquet")
    assert back.num_rows == ROWS
    expect(name, back, chosen)


write("nested-arrow-v1", compression="zstd", data_page_size=200, write_batch_size=7, row_group_size=50)
write("nested-arrow-v2", data_page_version="2.0", data_page_size=300, write_batch_size=11, compression="snappy", use_dictionary=False, write_page_checksum=True)
write("nested-arrow-item", use_compliant_nested_type=False, compression="gzip", use_deprecated_int96_timestamps=False)

# DuckDB writes what it can of the same table.
db = duckdb.connect()
db.register("t", table.drop_columns(["kinds"]))
db.sql("COPY (SELECT * FROM t) TO 'nested-duckdb.parquet' (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 2048)")
expect("nested-duckdb", pq.read_table("nested-duckdb.parquet"), [c for c in chosen if not c.startswith("kinds")])

# INT96 before 1970, before the Gregorian calendar and before 1 (the day is signed, the calendar proleptic).
old = [dt.datetime(1, 1, 1), dt.datetime(1582, 10, 4, 23, 59, 59), dt.datetime(1582, 10, 15), dt.datetime(1899, 12, 31, 1, 2, 3, 4000), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), None, dt.datetime(2262, 4, 11)]
days = pa.table({"at": pa.array(old, pa.timestamp("us"))})
pq.write_table(days, "int96.parquet", use_deprecated_int96_timestamps=True)
expect("int96", days, ["at"])

# fastparquet: its own encodings, categories, nullable integers, INT96.
frame = pd.DataFrame({
    "id": np.arange(40), "name": [None if i % 7 == 0 else f"名{i % 9}" for i in range(40)], "n": pd.array([None if i % 5 == 0 else i * 10**15 for i in range(40)], dtype="Int64"),
    "cat": pd.Categorical([["x", "y", "zz"][i % 3] for i in range(40)]), "at": pd.to_datetime([f"20{i:02}-03-05 08:09:10.5" for i in range(10, 50)]).astype("datetime64[ns]"), "f": np.linspace(-1, 1, 40), "b": [i % 2 == 0 for i in range(40)]})
for c in ["name", "cat"]:
    frame[c] = frame[c].astype(object if c == "name" else frame[c].dtype)
fastparquet.write("fastparquet.parquet", frame, compression="GZIP", row_group_offsets=[0, 25], times="int96", object_encoding={"name": "utf8"}, has_nulls=["name", "n"])
back = pq.read_table("fastparquet.parquet")
back = back.set_column(back.column_names.index("cat"), "cat", back.column("cat").cast(pa.string()))
expect("fastparquet", back, ["b", "f", "id", "name", "n", "cat", "at"])


# Maps by keys of every kind, nested ones too; lists of nothing, of NULL and of each other.
keys = pa.table({
    "by_struct": pa.array([[({"a": 1, "b": "x"}, 5), ({"a": None, "b": 'q"'}, None)], None, [], [({"a": 2, "b": None}, 0)]] * 3, pa.map_(pa.struct([("a", pa.int32()), ("b", pa.string())]), pa.int64())),
    "by_list": pa.array([[([1, None], ["v"]), ([], [])], [([2], None)], None, []] * 3, pa.map_(pa.list_(pa.int32()), pa.list_(pa.string()))),
    "by_double": pa.array([[(0.5, 1), (-math.inf, 2)], [], None, [(1e21, None)]] * 3, pa.map_(pa.float64(), pa.int32())),
    "by_bool": pa.array([[(True, "t"), (False, None)], None, [], [(False, "")]] * 3, pa.map_(pa.bool_(), pa.string())),
    "by_money": pa.array([[(D("12.30"), "x")], [], None, [(D("-0.01"), None)]] * 3, pa.map_(pa.decimal128(9, 2), pa.string())),
    "by_bytes": pa.array([[(b"\xff\0", "x")], [], None, [(b"", None)]] * 3, pa.map_(pa.binary(), pa.string())),
    "by_time": pa.array([[(dt.datetime(2026, 3, 5, 8, 9, 10, 120000), "x")], [], None, []] * 3, pa.map_(pa.timestamp("us"), pa.string())),
    "of_maps": pa.array([[[("k", [({"z": 1}, "v")])], None, []], [], None, [[("", None), ("l", [])]]] * 3, pa.list_(pa.map_(pa.string(), pa.map_(pa.struct([("z", pa.int8())]), pa.string())))),
    "lists": pa.array([[[[]]], [[], None, [None]], [[[], None, [None, {"x": None}, None, {"x": []}, {"x": [None]}]]], None] * 3, pa.list_(pa.list_(pa.list_(pa.struct([("x", pa.list_(pa.int32()))]))))),
    "fixed": pa.array([["a", None], [None, None], ["", "b"], ["c", "d"]] * 3, pa.list_(pa.string())),
    "nothing": pa.array([[], [None], None, [None, None]] * 3, pa.list_(pa.null())),
    "large": pa.array([[1, None], [], None, [2]] * 3, pa.large_list(pa.int64())),
})
for name, options in [("nested-keys-v1", {"row_group_size": 5}), ("nested-keys-v2", {"data_page_version": "2.0", "data_page_size": 1, "write_batch_size": 1, "compression": "zstd"})]:
    pq.write_table(keys, name + ".parquet", **options)
    back = pq.read_table(name + ".parquet")
    expect(name, back, back.column_names)
db.register("k", keys.drop_columns(["nothing"]))
db.sql("COPY (SELECT * FROM k) TO 'nested-keys-duckdb.parquet' (FORMAT parquet, COMPRESSION zstd)")
back = pq.read_table("nested-keys-duckdb.parquet")
expect("nested-keys-duckdb", back, back.column_names)


# Columns and footers that are encrypted, with keys that stand here.
class KMS(pe.KmsClient):
    def __init__(self, config):
        super().__init__()

    def wrap_key(self, key, master):
        return base64.b64encode(key)

    def unwrap_key(self, key, master):
        return base64.b64decode(key)


secret = pa.table({"open": ["a", "b"], "secret": ["c", "d"], "plain": pa.array([1, None], pa.int32())})
factory = pe.CryptoFactory(KMS)
for name, plain in [("encrypted-column", True), ("encrypted-footer", False)]:
    config = pe.EncryptionConfiguration(footer_key="f", column_keys={"k": ["secret"]}, plaintext_footer=plain, double_wrapping=False)
    with pq.ParquetWriter(name + ".parquet", secret.schema, encryption_properties=factory.file_encryption_properties(pe.KmsConnectionConfig(), config)) as w:
        w.write_table(secret)

# Columns that are always NULL, half precision, and geometries, which are well-known binary.
unknown = pa.table({"id": [1, 2], "n": pa.nulls(2), "s": pa.array([{"x": None, "y": 1.5}, None], pa.struct([("x", pa.null()), ("y", pa.float16())]))})
pq.write_table(unknown, "unknown.parquet")
expect("unknown", unknown, ["id", "n", "s", "s.y"])
duckdb.sql("COPY (SELECT 1 AS id, 'POINT(2 2)'::GEOMETRY AS g) TO 'geometry.parquet' (FORMAT parquet)")
with open("geometry.jsonl", "w") as f:
    f.write('["id", "g"]\n' + json.dumps({"id": "1", "g": (b"\1\1\0\0\0" + struct.pack("<dd", 2, 2)).decode()}) + "\n")
