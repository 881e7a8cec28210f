"""The commands as functions."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Union, cast

from . import _frames
from ._process import Process, Rows, log
from .errors import BulkloadError
from .results import Result

Path = Union[str, "os.PathLike[str]"]
Flag = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Union[int, str, "os.PathLike[str]"]]]


def _args(command: str, values: Sequence[Path], flags: Dict[str, Flag]) -> List[str]:
    """Returns the arguments of a command: flags by their names, then values."""
    args = command.split()
    for name, value in flags.items():
        if name == "input" and isinstance(value, (list, tuple)) and not value:
            raise ValueError("input is an empty list, such as of a pattern that fits no file: leave it out for the inputs of the job file")
        flag = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, bool):
                args.append(f"{flag}={str(one).lower()}")
            elif one is not None:
                args.append(f"{flag}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return [*args, "--", *(os.fspath(v) for v in values)] if values else args


def _call(command: str, *values: Path, frame: Any = None, **flags: Flag) -> Dict[str, Any]:
    """Runs a command and returns its result. A frame is written to its standard input."""
    batches = None if frame is None else _frames.reader(frame)
    with Process(_args(command, values, flags), fed=batches is not None) as process:
        if batches is not None:
            _frames.write(batches, process.stdin)
        return process.end()


def call(command: str, *values: Path, **flags: Flag) -> Dict[str, Any]:
    """Runs any command, such as `call("check", job="check.yaml")` or `call("table create", "check", salts=10)`, and returns the object that it prints."""
    return _call(command, *values, **flags)


def run(job: Optional[Path] = None, *, input: Flag = None, frame: Any = None, job_id: Optional[str] = None, **flags: Flag) -> Result:
    """Loads exports, or a data frame, into a table: `bulkload run`. The same call resumes a job that has failed.

    A frame is one of pyarrow, pandas, polars, DuckDB or any other with __arrow_c_stream__, a stream of batches too. It has no path by which the program
    knows a job again, so it needs a job_id, such as the day or the name of a run: the same job_id with the same frame resumes the job, or finds it done;
    with another frame it is refused.
    """
    if frame is not None:
        if input is not None or not job_id:
            raise ValueError("a frame takes the place of input and needs a job_id, by which the same call resumes the job")
        input = "-"
        if "expect_records" not in flags:
            flags["expect_records"] = _frames.rows(frame)
    return cast(Result, _call("run", frame=frame, job=job, input=input, job_id=job_id, **flags))


def load(directory: Path, **flags: Flag) -> Result:
    """Loads a directory of HFiles into a table: `bulkload load`."""
    return cast(Result, _call("load", directory, **flags))


def rekey(from_: str, to: str, key: str, **flags: Flag) -> Result:
    """Gives the rows of a table new keys, in another table: `bulkload rekey`."""
    return cast(Result, _call("rekey", from_=from_, to=to, key=key, **flags))


def undo(job: Path, **flags: Flag) -> Dict[str, Any]:
    """Takes one finished load out of its table again: `bulkload undo`. The job is its directory, or its job_id."""
    return _call("undo", job=job, **flags)


def export(source: str, to: Path, format: str = "parquet", **flags: Flag) -> Dict[str, Any]:
    """Writes the rows of a table, or of snapshot:NAME, into files of a directory: `bulkload export`. Returns the manifest of the files."""
    return _call("export", source, to=to, format=format, **flags)


def get(job: Optional[Path] = None, *values: str, **flags: Flag) -> Rows:
    """Returns the rows of a query key, one after the other: `bulkload get`."""
    return Rows(_args("get", values, {"job": job, "format": "jsonl", **flags}))


def scan(job: Optional[Path] = None, **flags: Flag) -> Rows:
    """Returns the rows of a range of the original key, in its order: `bulkload scan`. `from_` and `to` are the range; without them, the whole table."""
    return Rows(_args("scan", (), {"job": job, "format": "jsonl", **flags}))


_CONNECTION = ("config", "hdfs", "keytab", "principal", "staging", "ticket_cache", "user", "znode", "zookeeper")  # flags of export and of clean


def read(source: str, job: Optional[Path] = None, **flags: Flag) -> Any:
    """Returns the rows of a table, or of snapshot:NAME, as a pyarrow.Table: `bulkload export` into a directory that is removed again. `to_pandas()` of it
    is a frame of pandas. A table that does not fit in memory is for export. One that fails or is stopped deletes the snapshot of its export: no other
    call resumes it."""
    dataset = _frames.arrow("pyarrow.dataset")
    with tempfile.TemporaryDirectory(prefix="bulkload-") as directory:
        rows, state = os.path.join(directory, "rows"), os.path.join(directory, "state")
        try:
            _call("export", source, to=rows, format="parquet", job=job, **{"state": state, **flags})
        except BaseException:
            for name in os.listdir(state) if os.path.isdir(state) else ():
                if os.path.isdir(os.path.join(state, name)):
                    _clean(job=name, state=state, **{k: v for k, v in flags.items() if k in _CONNECTION})
            raise
        return dataset.dataset(rows, format="parquet").to_table()


def _clean(**flags: Flag) -> None:
    """Removes a job and what it has left in the cluster. A failure goes to the logger: the exception of the job itself is raised."""
    try:
        _call("clean", yes=True, **flags)
    except BulkloadError as e:
        log.warning("a read has left its snapshot, which was not deleted: %s", e)
