#!/usr/bin/env python3
"""Writes stripes.orc, of several stripes, and stripes.jsonl next to it."""
import os, sys
import pyarrow.orc as orc

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, ".."))
from texts import *

name = os.path.join(here, "stripes")
table = pa.table({"id": pa.array(range(2500)), "w": [None if i % 5 == 0 else "w%d" % (i * i % 97) for i in range(2500)]})
with orc.ORCWriter(name + ".orc", compression="zlib", stripe_size=1024, batch_size=256, dictionary_key_size_threshold=1.0) as w:
    for at in range(0, 2500, 1024):
        w.write(table.slice(at, 1024))
print(orc.ORCFile(name + ".orc").nstripes)
expect(name, orc.read_table(name + ".orc"), ["id", "w"])
