#!/usr/bin/env python3
"""Reads a file as its exporter documents it and says what rows it has.

judge.py '{"how": ..., ...}' FILE prints a line of JSON: the number of rows, a sum for each column, the sums behind each
thousandth row, and the rows [from, to). The sums are those of digest_test.go. "how" is

  plain     records end with one text and fields with another, and nothing else means anything
  escaped   a backslash takes the next byte: MySQL's and PostgreSQL's COPY text, Hive with ESCAPED BY, jq
  quoted    values may be in quotes: RFC 4180 and its relatives with escapes
  lenient   values in quotes that are not doubled: MySQL with ESCAPED BY ''
  csv       Python's own module csv
  json, avro, fastavro, duckdb

Other character sets are decoded by Python, all of the text before anything is looked for in it.
Only fastavro and duckdb need packages.
"""
import bz2, csv, io, json, re, struct, sys, zlib

PRIME, BASE = (1 << 61) - 1, 1152921504606846883
LETTERS = {
    "": {},
    "mysql": {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"},
    "batch": {b"0": b"\0", b"n": b"\n", b"t": b"\t"},
    "copy": {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"},
    "hive": {b"n": b"\n", b"r": b"\r"},
    "jq": {b"n": b"\n", b"r": b"\r", b"t": b"\t"},
}


def unescaper(escape, letters):
    """A function that takes the escapes out of a value."""
    means = LETTERS[letters]
    if letters == "copy":
        pattern = re.compile(rb"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.S)

        def one(m):
            c = m[1]
            if c[:1] in b"01234567":
                return bytes([int(c, 8) & 255])
            if len(c) > 1:
                return bytes([int(c[1:], 16)])
            return means.get(c, c)
    else:
        pattern = re.compile(re.escape(escape) + rb"(.)", re.S)

        def one(m):
            return means.get(m[1], m[1])
    return lambda v: pattern.sub(one, v)


def lines_off(text, j):
    """The text without a mark, and without the lines before and behind its records."""
    if text.startswith(b"\xef\xbb\xbf"):
        text = text[3:]
    for _ in range(j["skip"]):
        text = text[text.index(b"\n") + 1:]
    for _ in range(j["skip_end"]):
        text = text[:text.rindex(b"\n", 0, len(text) - 1) + 1]
    return text


def stops(*texts):
    """What a pattern for plain bytes must not match, and a pattern for those of them that begin no such text."""
    first = b"".join(sorted({re.escape(t[:1]) for t in texts}))
    whole = b"|".join(re.escape(t) for t in texts)
    return b"[^" + first + b"]", b"(?!" + whole + b")[" + first + b"]"


def plain(text, j):
    records = text.split(j["end"])
    if records[-1] == b"":
        records.pop()
    null = j["null"] if j["has_null"] else None
    for record in records:
        if j["comment"] and record.startswith(j["comment"]):
            continue
        fields = record.split(j["sep"])
        if j["trim"]:
            fields = [f.strip(b" \t") for f in fields]
        yield [None if f == null else f for f in fields]


def escaped(text, j):
    sep, end, null = j["sep"], j["end"], j["null"] if j["has_null"] else None
    other, part = stops(sep, end, b"\\")
    field = re.compile(b"(" + other + rb"*(?:(?:\\.|" + part + b")" + other + b"*)*)(" + re.escape(sep) + b"|" + re.escape(end) + rb"|\Z)", re.S)
    plain_text = unescaper(b"\\", j["letters"])
    row, at, match = [], 0, field.match
    while at < len(text):
        m = match(text, at)
        v = m[1]
        row.append(None if v == null else plain_text(v) if b"\\" in v else v)
        at = m.end()
        if m[2] != sep:
            yield row
            row = []


def quoted(text, j):
    sep, quote, escape = j["sep"], j["quote"], j["escape"]
    ends = [j["end"]] if j["end"] else [b"\r\n", b"\n"]
    end = b"|".join(re.escape(e) for e in ends)
    q = re.escape(quote)
    stop = [sep, quote, *ends]
    inside, pair = b"[^" + q + b"]", q + q
    if escape:
        inside, pair = b"[^" + q + re.escape(escape) + b"]", q + q + b"|" + re.escape(escape) + b"."
    other, part = stops(*stop)
    if escape and j["outside"]:
        other, part = stops(*stop, escape)
        part += b"|" + re.escape(escape) + b"."
    blank = rb"[ \t]*" if j["trim"] else b""
    field = re.compile(b"(?:" + blank + q + b"(" + inside + b"*(?:(?:" + pair + b")" + inside + b"*)*)" + q + blank + b"|(" + other + b"*(?:(?:" +
                       part + b")" + other + b"*)*))(" + re.escape(sep) + b"|" + end + rb"|\Z)", re.S)
    comment = re.compile(b"(?:" + re.escape(j["comment"]) + rb"[^\n]*(?:\n|\Z))+") if j["comment"] else None
    means = LETTERS[j["letters"]]
    pairs = re.compile(b"(?:" + pair + b")", re.S)

    def one(m):
        c = m[0][1:]
        return means.get(c, c) if m[0][:1] == escape else quote

    null = j["null"] if j["has_null"] else None
    row, at, match, size, cols = [], 0, field.match, len(text), j["cols"]
    while at < size:
        if not row and comment:
            m = comment.match(text, at)
            if m:
                at = m.end()
                continue
        m = match(text, at)
        if m is None:
            raise SystemExit(f"no field begins at byte {at}: {text[at:at + 60]!r}")
        v = m[1]
        if v is not None:
            row.append(None if j["null_quoted"] and v == null else pairs.sub(one, v) if quote in v or escape and escape in v else v)
        else:
            v = m[2]
            if j["trim"]:
                v = v.strip(b" \t")
            row.append(None if v == null else pairs.sub(one, v) if escape and j["outside"] and escape in v else v)
        at = m.end()
        if m[3] != sep:
            if cols == 1 or len(row) > 1 or row[0]:
                yield row
            row = []


def lenient(text, j):
    sep, end, q = re.escape(j["sep"]), re.escape(j["end"]), re.escape(j["quote"])
    field = re.compile(b"(?:" + q + b"(.*?)" + q + b"|([^" + q + sep + b"]*?))(" + sep + b"|" + end + rb"|\Z)", re.S)
    row, at = [], 0
    while at < len(text):
        m = field.match(text, at)
        row.append(m[1] if m[1] is not None else None if m[2] == j["null"] else m[2])
        at = m.end()
        if m[3] != j["sep"]:
            yield row
            row = []


def python_csv(text, j):
    csv.field_size_limit(1 << 30)
    for row in csv.reader(io.StringIO(text.decode("latin-1"), newline=""), delimiter=j["sep"].decode(), strict=True):
        yield [v.encode("latin-1") for v in row]


def json_lines(text, j):
    def scalar(v):
        if v is None:
            return None
        if v is True:
            return b"true"
        if v is False:
            return b"false"
        return v.encode()

    d = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    names = [f"c{i + 1}" for i in range(j["cols"])]
    for line in text.split(b"\n"):
        line = line.strip()
        if line:
            o = d.decode(line.decode())
            yield [scalar(o.get(n)) for n in names]


def number(n):
    return None if n is None else str(n).encode()


def unsnappy(p):
    """The format of snappy's blocks: a length, then literals and copies."""
    at = shift = size = 0
    while True:
        b = p[at]
        at, size, shift = at + 1, size | (b & 127) << shift, shift + 7
        if b < 128:
            break
    out = bytearray()
    while at < len(p):
        tag = p[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            n = tag >> 2
            if n >= 60:
                more = n - 59
                n = int.from_bytes(p[at:at + more], "little")
                at += more
            out += p[at:at + n + 1]
            at += n + 1
            continue
        if kind == 1:
            n, back, at = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | p[at], at + 1
        elif kind == 2:
            n, back, at = (tag >> 2) + 1, int.from_bytes(p[at:at + 2], "little"), at + 2
        else:
            n, back, at = (tag >> 2) + 1, int.from_bytes(p[at:at + 4], "little"), at + 4
        start = len(out) - back
        if back >= n:
            out += out[start:start + n]
        else:
            out += (bytes(out[start:]) * (n // back + 1))[:n]
    assert len(out) == size
    return bytes(out)


def avro(data, j):
    """The specification of Avro, for the one schema of the test."""
    assert data[:4] == b"Obj\1"
    at = 4

    def long(p, at):
        n = shift = 0
        while True:
            b = p[at]
            at += 1
            n |= (b & 127) << shift
            if b < 128:
                return (n >> 1) ^ -(n & 1), at
            shift += 7

    meta = {}
    while True:
        n, at = long(data, at)
        if n == 0:
            break
        for _ in range(n):
            kv = []
            for _ in range(2):
                size, at = long(data, at)
                kv.append(data[at:at + size])
                at += size
            meta[kv[0]] = kv[1]
    marker = data[at:at + 16]
    at += 16
    unpack = {b"null": bytes, b"deflate": lambda p: zlib.decompress(p, -15), b"bzip2": bz2.decompress,
              b"snappy": lambda p: unsnappy(p[:-4])}[meta[b"avro.codec"]]
    types = [f["type"] for f in json.loads(meta[b"avro.schema"])["fields"]]
    while at < len(data):
        records, at = long(data, at)
        size, at = long(data, at)
        p, q = unpack(data[at:at + size]), 0
        at += size
        assert data[at:at + 16] == marker
        at += 16
        for _ in range(records):
            row = []
            for t in types:
                if isinstance(t, list):
                    n, q = long(p, q)
                    t = t[n]
                if t == "null":
                    row.append(None)
                elif t == "long":
                    n, q = long(p, q)
                    row.append(number(n))
                else:
                    n, q = long(p, q)
                    row.append(p[q:q + n])
                    q += n
            yield row
        assert q == len(p)


def fast_avro(file):
    import fastavro
    with open(file, "rb") as f:
        for r in fastavro.reader(f):
            yield [v if isinstance(v, bytes) else v.encode() if isinstance(v, str) else number(v) for v in r.values()]


def duckdb(file, j):
    import duckdb
    con = duckdb.connect(config={"threads": 1})
    names = "{" + ", ".join(f"'c{i + 1}': 'VARCHAR'" for i in range(j["cols"])) + "}"

    def lit(s):
        return "'" + s.replace("'", "''") + "'"

    nulls = f", nullstr={lit(j['null'])}" if j["has_null"] else ""
    con.execute(f"select * from read_csv({lit(file)}, delim={lit(j['sep'])}, quote={lit(j['quote'])}, escape={lit(j['escape'] or j['quote'])}"
                f", header={str(j['header']).lower()}, columns={names}, auto_detect=false, allow_quoted_nulls=false, strict_mode=true, parallel=false, new_line='\\n', comment='', skip=0{nulls})")
    while True:
        rows = con.fetchmany(10000)
        if not rows:
            return
        for row in rows:
            yield [None if v is None else v.encode() for v in row]


def rows_of(j, file):
    how = j["how"]
    if how == "duckdb":
        return duckdb(file, j)
    if how == "fastavro":
        return fast_avro(file)
    data = open(file, "rb").read()
    if how == "avro":
        return avro(data, j)
    if j.get("charset"):
        data = data.decode(j["charset"]).encode()
    for name in ("sep", "end", "quote", "escape", "comment", "null"):
        j[name] = j.get(name, "").encode("latin-1")
    data = lines_off(data, j)
    read = {"plain": plain, "escaped": escaped, "quoted": quoted, "lenient": lenient, "csv": python_csv, "json": json_lines}[how]
    rows = read(data, j)
    if j["header"]:
        names = next(rows)
        assert [n.strip() for n in names] == [f"c{i + 1}".encode() for i in range(j["cols"])], names
    return rows


def main():
    j = json.loads(sys.argv[1])
    for name in ("sep", "end", "quote", "escape", "letters", "comment", "charset"):
        j.setdefault(name, "")
    j.setdefault("outside", False)
    first, last, cols = j["from"], j["to"], j["cols"]
    sums, n, marks, show, crc = [0] * cols, 0, [], [], zlib.crc32
    for row in rows_of(j, sys.argv[2]):
        if len(row) != cols:
            raise SystemExit(f"row {n + 1} has {len(row)} columns: {row!r:.300}")
        sums = [(s * BASE + (1 if v is None else crc(v) + (len(v) + 1 << 32))) % PRIME for s, v in zip(sums, row)]
        if first <= n < last:
            show.append([None if v is None else v.decode("latin-1") for v in row])
        n += 1
        if n % 1000 == 0:
            marks.append(sums)
    json.dump({"rows": n, "sums": sums, "marks": marks, "Show": show}, sys.stdout)


main()
