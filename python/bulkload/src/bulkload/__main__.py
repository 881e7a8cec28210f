"""python -m bulkload is the program bulkload."""

import os
import sys

from ._process import find_bulkload_bin

if __name__ == "__main__":
    program = find_bulkload_bin()
    os.execv(program, [program, *sys.argv[1:]])
