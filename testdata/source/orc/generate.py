#!/usr/bin/env python3
"""Writes random ORC files into a directory, and beside each NAME.orc a NAME.jsonl: the texts that its values have to become, made from what
pyarrow reads of it. The first line names the columns. What pyarrow reads otherwise than it has written is printed: timestamps within structs.

    python3 -m venv venv && venv/bin/pip install pyarrow==26.0.1
    venv/bin/python generate.py DIRECTORY COUNT SEED [ROWS]
"""
import os, random, string, sys
import pyarrow.orc as orc

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from texts import *

directory, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
most_rows = int(sys.argv[4]) if len(sys.argv) > 4 else 20000
rnd = random.Random(seed)
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1)


def numbers(bits):
    """A generator of numbers of one pattern: what each kind of run is for."""
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    clip = lambda v: max(low, min(high, v))
    start, step, width = rnd.randrange(low, high), rnd.randrange(-300, 300), rnd.randrange(1, bits + 1)
    state = [start]

    def series(delta):
        state[0] = clip(state[0] + delta)
        return state[0]

    return rnd.choice([
        lambda: clip(start),
        lambda: series(step),
        lambda: series(rnd.randrange(0, 100)),
        lambda: series(-rnd.randrange(0, 2 ** rnd.randrange(1, 20))),
        lambda: rnd.randrange(low, high + 1),
        lambda: clip(rnd.randrange(0, 2**width)),
        lambda: clip(rnd.randrange(0, 100) if rnd.randrange(50) else rnd.randrange(low, high)),
        lambda: clip(rnd.randrange(-100, 100) if rnd.randrange(300) else 2 ** rnd.randrange(bits)),
        lambda: rnd.choice([0, -1, low, high, 7]) if rnd.randrange(4) else clip(start),
    ])


def words():
    few = ["plain", "张三", "", 'q"uo\\te', "line\nfeed\ttab\r\x01", "a,b", "€", "x" * rnd.randrange(40)]
    letters = string.ascii_letters
    return rnd.choice([
        lambda: rnd.choice(few),
        lambda: "".join(rnd.choices(letters, k=rnd.randrange(12))),
        lambda: str(rnd.randrange(5000)),
        lambda: rnd.choice(few) * rnd.choice([1, 1, 1, 300]),
    ])


def micros(old):
    fraction = rnd.choice([0, 0, 1000, 100000, 123456, 999999, 1])
    seconds = rnd.randrange(-9000000000 if old else 0, 9000000000)
    if seconds < 0 and rnd.randrange(2):
        fraction = 0
    return EPOCH + dt.timedelta(seconds=seconds if seconds != -1 else 0, microseconds=fraction)


def decimals(precision, scale):
    digits = rnd.randrange(1, precision + 1)
    return lambda: D(rnd.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale, decimal.Context(prec=60))


def flat():
    kinds = [
        lambda: (pa.bool_(), rnd.choice([lambda: rnd.random() < 0.5, lambda: True, lambda: rnd.random() < 0.01])),
        lambda: (pa.float32(), lambda: rnd.choice([0.0, -0.0, f32(rnd.random()), f32(1e30), float("nan"), float("-inf"), 3.0])),
        lambda: (pa.float64(), lambda: rnd.choice([0.0, rnd.random(), 1e300, 1e-7, 1e21, float("inf"), 12345.0])),
        lambda: (pa.string(), words()),
        lambda: (pa.string(), words()),
        lambda: (pa.binary(), lambda: bytes(rnd.choices(range(32, 127), k=rnd.randrange(9)))),
        lambda: (pa.date32(), lambda: dt.date.fromordinal(rnd.choice([1, 577735, 577736, 719163, rnd.randrange(1, 3652059)]))),
        lambda: (pa.timestamp("ns"), lambda: micros(True)),
        lambda: (pa.timestamp("ns", tz="UTC"), lambda: micros(True).replace(tzinfo=UTC)),
    ]
    for bits, t in ((8, pa.int8()), (16, pa.int16()), (32, pa.int32()), (64, pa.int64()), (64, pa.int64())):
        kinds.append(lambda bits=bits, t=t: (t, numbers(bits)))
    for p, s in ((9, 2), (18, 0), (18, 6), (38, 10), (38, 38), (20, 0)):
        kinds.append(lambda p=p, s=s: (pa.decimal128(p, s), decimals(p, s)))
    return rnd.choice(kinds)()


def nullable(make):
    share = rnd.choice([0, 0, 0.01, 0.2, 0.9, 1])
    return lambda: None if rnd.random() < share else make()


def any_type(depth):
    if depth == 0 or rnd.randrange(3):
        t, make = flat()
        return t, nullable(make)
    kind = rnd.randrange(4)
    if kind == 0:
        t, make = any_type(depth - 1)
        most = rnd.choice([1, 3, 3, 30])
        return pa.list_(t), nullable(lambda: [make() for _ in range(rnd.randrange(most))])
    if kind == 1:
        key, new = rnd.choice([(pa.string(), words()), (pa.int64(), numbers(64)), (pa.date32(), lambda: dt.date.fromordinal(rnd.randrange(700000, 730000)))])
        t, make = any_type(depth - 1)
        return pa.map_(key, t), nullable(lambda: list({new(): make() for _ in range(rnd.randrange(4))}.items()))
    names = rnd.sample(["a", "city", "zip.code", 'q"', "数", "b"], rnd.randrange(1, 4))
    fields = [(name, *any_type(depth - 1)) for name in names]
    return pa.struct([(n, t) for n, t, _ in fields]), nullable(lambda: {n: make() for n, _, make in fields})


def unions(rows):
    """A column of a union, which pyarrow makes of its parts only."""
    values = [rnd.choice([True, rnd.randrange(1000), "w%d" % rnd.randrange(9)]) for _ in range(rows)]
    kinds = [bool, int, str]
    types = [[type(v) for v in values][i] for i in range(rows)]
    tags = pa.array([kinds.index(t) for t in types], pa.int8())
    parts = [[None if i % 7 == 3 else v for i, v in enumerate(values) if type(v) is k] for k in kinds]
    seen, offsets = [0, 0, 0], []
    for t in types:
        offsets.append(seen[kinds.index(t)])
        seen[kinds.index(t)] += 1
    arrays = [pa.array(p, t) for p, t in zip(parts, (pa.bool_(), pa.int32(), pa.string()))]
    return pa.UnionArray.from_dense(tags, pa.array(offsets, pa.int32()), arrays)


def same(a, b):
    return repr(a) == repr(b)  # NaN is itself


for number in range(count):
    rows = rnd.choice([0, 1, 7, 100, 513, 1024, 1025, 3000, most_rows])
    rows = min(rows, most_rows)
    columns, arrays = ["id"], [pa.array(range(rows), pa.int64())]
    for i in range(rnd.randrange(1, 9)):
        t, make = any_type(rnd.choice([0, 0, 1, 2, 3]))
        if pa.types.is_nested(t):
            rows_of = [make() if i < 2000 or not pa.types.is_list(t) else [] for i in range(rows)]
        else:
            rows_of = [make() for _ in range(rows)]
        columns.append("c%d" % i)
        arrays.append(pa.array(rows_of, t))
    if rnd.randrange(6) == 0:
        columns.append("u")
        arrays.append(unions(rows))
    table = pa.table(arrays, names=columns)
    name = os.path.join(directory, "random-%03d" % number)
    compression = rnd.choice(["uncompressed", "zlib", "snappy", "lz4", "zstd"])
    orc.write_table(
        table, name + ".orc", compression=compression, file_version=rnd.choice(["0.12", "0.12", "0.11"]),
        batch_size=rnd.choice([1024, 100, 1000]), stripe_size=rnd.choice([64 << 20, 64 << 10, 4096]),
        compression_block_size=rnd.choice([64 << 10, 64 << 10, 256 << 10, 1 << 20]), compression_strategy=rnd.choice(["speed", "compression"]),
        row_index_stride=rnd.choice([10000, 1000, 100000]), dictionary_key_size_threshold=rnd.choice([0.0, 0.0, 0.5, 1.0]),
        bloom_filter_columns=rnd.choice([[], [0]]))
    read = orc.read_table(name + ".orc")
    for c in columns:
        a, b = table.column(c).to_pylist(), read.column(c).to_pylist()
        if not all(map(same, a, b)) or len(a) != len(b):
            x, y = next((repr(x), repr(y)) for x, y in zip(a, b) if not same(x, y))
            at = max(0, next((i for i in range(min(len(x), len(y))) if x[i] != y[i]), 0) - 40)
            print("%s: %s: pyarrow reads %s, written was %s" % (name, c, y[at:at + 100], x[at:at + 100]))
    expect(name, read, columns)
