"""bulkload fills Apache HBase tables from exports and data frames.

    import bulkload

    result = bulkload.run("check.yaml", input="/exports/check/20171012")
    result = bulkload.run("check.yaml", frame=df, job_id="2017-10-12")
    for row in bulkload.get("check.yaml", "A208848994"):
        print(row["rowkey"], row["rule_no"])

Each function runs one command of the program `bulkload`, which comes with this package. Keyword arguments are the command's flags:
`verify="full"` is --verify=full, `from_="a"` is --from=a, `replace=True` is --replace, and a list gives a flag several times. The program's log goes to the
logger "bulkload". A failure raises the exception of its exit code, a subclass of BulkloadError.
"""

from ._commands import call, export, get, load, read, rekey, run, scan, undo
from ._process import Rows, find_bulkload_bin
from .errors import (
    BadRowsError, BulkloadError, BusyError, CheckError, ConfigError, HDFSError, InputError, LoadError, StateError, StoppedError,
    UnexpectedError, VerifyError)
from .results import Result

__all__ = [
    "BadRowsError", "BulkloadError", "BusyError", "CheckError", "ConfigError", "HDFSError", "InputError", "LoadError", "Result", "Rows",
    "StateError", "StoppedError", "UnexpectedError", "VerifyError", "call", "export", "find_bulkload_bin", "get", "load", "read", "rekey",
    "run", "scan", "undo"]
