#!/usr/bin/env python3
"""Writes what Python's codecs decode into testdata/python: for each codec a
gzip file of rows of UTF-8, each with FF behind it; U+FFFD where there is no
character. Codecs of single bytes are in one file, a row of the codec's name
before each.

The first row has the bytes 00 to FF alone. Then, for each lead byte (one that is
no character alone), one row of the pairs with 00 to FF. gb18030 has then one
row of the 39,420 numbers of characters of four bytes below U+10000, and the
SHA-256 of the 1,048,576 above, euc_jp 94 rows of 8F and two bytes from A1 to FE.

A pair that Python decodes to two characters is one of the ASCII row or, in
Big5 only, a character with a combining one: those are written as U+FFFC.
"""
import gzip, hashlib, pathlib

def decode(codec, *b):
    try:
        s = bytes(b).decode(codec)
    except UnicodeDecodeError:
        return "\ufffd"
    return s if len(s) == 1 else "\ufffc"

def four(n):
    return 0x81 + n // 12600, 0x30 + n // 1260 % 10, 0x81 + n // 10 % 126, 0x30 + n % 10

def rows(codec):
    yield "".join(decode(codec, b) for b in range(256))
    if codec.startswith(("cp125", "iso", "koi")):
        return
    for lead in range(128, 256):
        if decode(codec, lead) == "\ufffd":
            yield "".join(decode(codec, lead, b) for b in range(256))
    if codec == "gb18030":
        yield "".join(decode(codec, *four(n)) for n in range(39420))
        h = hashlib.sha256()
        for n in range(189000, 189000 + 0x100000):
            h.update(bytes(four(n)).decode(codec).encode())
        yield h.hexdigest()
    if codec == "euc_jp":
        for b in range(0xa1, 0xff):
            yield "".join(decode(codec, 0x8f, b, c) for c in range(0xa1, 0xff))

singles = ["cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258",
    *("iso8859_%d" % n for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)), "koi8_r"]
doubles = ["gb18030", "gbk", "big5hkscs", "cp932", "euc_jp", "cp949"]
there = pathlib.Path(__file__).parent / "python"
for name, codecs in [("singles", singles), *((c, [c]) for c in doubles)]:
    text = b"".join(row.encode("utf-8", "surrogatepass") + b"\xff" for c in codecs for row in ([c] if name == "singles" else []) + list(rows(c)))
    (there / (name + ".gz")).write_bytes(gzip.compress(text, 9, mtime=0))
