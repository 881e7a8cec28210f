#!/usr/bin/env python3
"""Writes the Parquet files of this directory, and expected.csv: the text that their values have to become.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1 duckdb==2.0.0
    venv/bin/python generate.py

The same table is written again and again, in the forms that pyarrow and DuckDB can give it. expected.csv is made from
the Python values by the rules of the package's documentation, not by any Parquet reader.
"""
import csv, datetime as dt, decimal, math, random, struct, uuid
import duckdb, pyarrow as pa, pyarrow.parquet as pq

ROWS = 150
rnd = random.Random(5)
D = decimal.Decimal
decimal.getcontext().prec = 80
UTC = dt.timezone.utc


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def float_text(x, single=False, half=False):
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if x == 0:
        return "-0" if math.copysign(1, x) < 0 else "0"
    text = repr(x)
    if single:
        text = next(t for t in (f"%.{p}g" % x for p in range(1, 12)) if f32(float(t)) == x)
    d = D(text)
    if 1e-6 <= abs(x) < 1e21:
        text = format(d, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, exp = d.normalize().as_tuple()
    digits = "".join(map(str, digits))
    e = exp + len(digits) - 1
    return ("-" if sign else "") + digits[0] + ("." + digits[1:] if digits[1:] else "") + "e%s%02d" % ("-" if e < 0 else "+", abs(e))


def decimal_text(scale):
    return lambda d: format(d.quantize(D(1).scaleb(-scale)), "f")


def fraction(ns):
    return ("." + "%09d" % ns).rstrip("0") if ns else ""


def epoch_text(per_second):  # of an integer since 1970, without a time zone
    def text(n):
        s, f = divmod(n, per_second)
        return (dt.datetime(1970, 1, 1) + dt.timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0") + fraction(f * (10**9 // per_second))
    return text


def clock_text(per_second):
    def text(n):
        s, f = divmod(n, per_second)
        return "%02d:%02d:%02d" % (s // 3600, s // 60 % 60, s % 60) + fraction(f * (10**9 // per_second))
    return text


def ints(bits, signed):
    lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return [lo, hi, 0, 1] + [rnd.randint(lo, hi) for _ in range(12)]


def decimals(precision, scale):
    top = 10**precision - 1
    return [D(v).scaleb(-scale) for v in [0, 1, -1, top, -top, 10**scale, -5 * 10**scale // 10] + [rnd.randint(-top, top) for _ in range(8)]]


words = ["", "a", "规则01", 'x,"y"\nz', "A208848994", "客户本人已核实；" * 5, "prefix-0001", "prefix-0002", "prefix-00031", "p"]
at = [0, 1, -1, 1500000000, -1500000000, 1513036800]
floats = [0.0, -0.0, 1.0, 3.0, -2.5, 0.1, 1e-6, 9.999e-7, 1e20, 1e21, -1.5e300, 5e-324, math.pi, math.inf, -math.inf, math.nan, 123456789.125]
days = [dt.date(1970, 1, 1), dt.date(2017, 10, 12), dt.date(1969, 12, 31), dt.date(2000, 2, 29), dt.date(1600, 3, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31)]

# name: type, values to choose from, text of a value, and whether DuckDB has the type.
S = str
columns = {
    "id": (pa.string(), None, S, True),
    "s": (pa.string(), words, S, True),
    "large": (pa.large_string(), words, S, True),
    "cat": (pa.dictionary(pa.int32(), pa.string()), words, S, False),
    "raw": (pa.binary(), [w.encode() for w in words], lambda b: b.decode(), True),
    "fixed": (pa.binary(4), [b"abcd", b"0000", b"wxyz"], lambda b: b.decode(), False),
    "bool": (pa.bool_(), [True, False], lambda b: S(b).lower(), True),
    **{f"i{n}": (getattr(pa, f"int{n}")(), ints(n, True), S, True) for n in (8, 16, 32, 64)},
    **{f"u{n}": (getattr(pa, f"uint{n}")(), ints(n, False), S, True) for n in (8, 16, 32, 64)},
    "f16": (pa.float16(), [0.0, 1.0, -2.5, 0.5, 65504.0, 2.0**-24, math.inf], lambda x: float_text(x, single=True), False),
    "f32": (pa.float32(), [f32(x) if abs(x) < 1e38 or math.isinf(x) else 1.0 for x in floats], lambda x: float_text(x, single=True), True),
    "f64": (pa.float64(), floats, float_text, True),
    "dec9": (pa.decimal128(9, 2), decimals(9, 2), decimal_text(2), True),
    "dec18": (pa.decimal128(18, 4), decimals(18, 4), decimal_text(4), True),
    "dec38": (pa.decimal128(38, 10), decimals(38, 10), decimal_text(10), True),
    "dec38whole": (pa.decimal128(38, 0), decimals(38, 0), decimal_text(0), True),
    "dec60": (pa.decimal256(60, 5), decimals(60, 5), decimal_text(5), False),
    "date": (pa.date32(), days, lambda d: d.isoformat(), True),
    "ts_ms": (pa.timestamp("ms"), [s * 1000 + f for s in at for f in (0, 7, 120)], epoch_text(10**3), False),
    "ts_us": (pa.timestamp("us"), [s * 10**6 + f for s in at for f in (0, 7, 120000)], epoch_text(10**6), True),
    "ts_ns": (pa.timestamp("ns"), [s * 10**9 + f for s in at for f in (0, 7, 120000000)], epoch_text(10**9), False),
    "ts_utc": (pa.timestamp("us", tz="UTC"), [s * 10**6 + f for s in at for f in (0, 7, 120000)], epoch_text(10**6), True),
    "time_ms": (pa.time32("ms"), [0, 1, 86399999, 3723000], clock_text(10**3), False),
    "time_us": (pa.time64("us"), [0, 1, 86399999999, 3723000000], clock_text(10**6), True),
    "time_ns": (pa.time64("ns"), [0, 1, 86399999999999, 3723000000000], clock_text(10**9), False),
    "uuid": (pa.uuid(), [uuid.UUID(int=rnd.getrandbits(128)) for _ in range(9)], S, True),
    "none": (pa.null(), [None], S, False),
}

arrays, fields, expected = [], [], []
for name, (typ, choice, text, _) in columns.items():
    if name == "id":
        values = ["%032X" % rnd.getrandbits(128) for _ in range(ROWS)]
    else:
        values = [None if rnd.random() < 0.2 else rnd.choice(choice) for _ in range(ROWS)]
    if name == "f16" or name == "uuid":
        storage = [None if v is None else v.bytes for v in values] if name == "uuid" else values
        arrays.append(pa.array(storage, pa.binary(16)).cast(typ) if name == "uuid" else pa.array(values, pa.float32()).cast(typ))
    else:
        arrays.append(pa.array(values, typ))
    fields.append(pa.field(name, typ, nullable=name != "id"))
    expected.append(["" if v is None else text(v) for v in values])
table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))

with open("expected.csv", "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(columns)
    w.writerows(zip(*expected))


def arrow(name, **o):
    o = {"compression": "none", "row_group_size": 90, "data_page_size": 300, "write_batch_size": 20, "version": "2.6"} | o
    pq.write_table(table.select(o.pop("columns", list(columns))), name + ".parquet", **o)


for codec in ("snappy", "gzip", "zstd", "brotli", "lz4"):
    arrow("arrow-" + codec, compression=codec)
arrow("arrow-default", compression="snappy", row_group_size=None, data_page_size=None, write_batch_size=None)
arrow("arrow-plain", use_dictionary=False)
arrow("arrow-v2", data_page_version="2.0", compression="snappy")
arrow("arrow-v2-plain", data_page_version="2.0", compression="zstd", use_dictionary=False)
arrow("arrow-checksum", write_page_checksum=True, compression="snappy")
arrow("arrow-small-dictionary", dictionary_pagesize_limit=200)  # falls back to plain pages
arrow("arrow-decimal-int", store_decimal_as_integer=True)
# As Spark writes by default: timestamps as INT96, format 1.0 types. No Spark was at hand; these are the same forms.
arrow("spark-like", use_deprecated_int96_timestamps=True, compression="snappy", version="1.0",
      columns=[c for c in columns if c[0] != "u" and c not in ("f16", "time_ns")])
numbers = [n for n in columns if n[:2] in ("i8", "i1", "i3", "i6", "u8", "u1", "u3", "u6", "da", "ts", "ti")]
arrow("arrow-delta", use_dictionary=False, data_page_version="2.0", column_encoding={
    **{n: "DELTA_BINARY_PACKED" for n in numbers},
    "s": "DELTA_LENGTH_BYTE_ARRAY", "large": "DELTA_BYTE_ARRAY", "cat": "DELTA_BYTE_ARRAY", "id": "DELTA_BYTE_ARRAY", "fixed": "DELTA_BYTE_ARRAY",
    "bool": "RLE", "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT", "f16": "BYTE_STREAM_SPLIT", "dec38": "BYTE_STREAM_SPLIT"})
pq.write_table(table.select(["id", "s"]).slice(0, 0), "arrow-empty.parquet")
pq.write_table(pa.table({"id": ["a"], "list": [[1, 2]]}), "nested.parquet")
pq.write_table(pa.table({"id": ["a"], "struct": [{"x": 1}]}), "struct.parquet")

db = duckdb.connect()
db.execute("set timezone = 'UTC'")
duck = table.select([n for n, c in columns.items() if c[3]])
for name, options in {
    "duckdb-snappy": "codec snappy",
    "duckdb-zstd": "codec zstd",
    "duckdb-gzip": "codec gzip",
    "duckdb-lz4": "codec lz4_raw",
    "duckdb-brotli": "codec brotli",
    "duckdb-v2": "codec zstd, parquet_version v2, dictionary_size_limit 1",
}.items():
    db.execute(f"copy duck to '{name}.parquet' (format parquet, {options})")
