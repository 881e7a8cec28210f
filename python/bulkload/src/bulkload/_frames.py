"""Data frames as Parquet on a pipe.

Parquet can be written to a pipe; only its reader has to seek. The program copies its standard input into a file of --spill-dir that only its owner may read,
within --spill-limit, reads that on all cores, and keeps it for a job that is resumed. So Python writes no file and has none to remove, and holds no
second frame. A temporary file would give each attempt another path, and so another job; a memfd would hold the whole frame in memory once more.
Parquet ends with its footer: where Python dies while it writes, the program refuses what it has got.
"""

from __future__ import annotations

import importlib
from typing import IO, Any, List, Optional

GROUP_ROWS = 1 << 17  # of a row group: the program's workers read groups side by side


def arrow(module: str = "pyarrow") -> Any:
    """Returns a module of pyarrow, which this package does not require."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError("data frames need pyarrow: pip install 'bulkload[pyarrow]'") from None


def reader(frame: Any) -> Any:
    """Returns the RecordBatchReader of a frame: of pyarrow, pandas, polars, DuckDB or any other with __arrow_c_stream__."""
    pa = arrow()
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    libraries = {of.__module__.partition(".")[0] for of in type(frame).__mro__}  # also of a class that extends theirs
    if "pandas" in libraries:  # whose index is not a column
        return pa.Table.from_pandas(frame, preserve_index=False).to_reader()
    if "polars" in libraries and hasattr(frame, "to_arrow"):  # its stream has types that pyarrow does not write, such as categories of views
        return frame.to_arrow().to_reader()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise TypeError(f"{type(frame).__name__} is not a data frame: want pyarrow, pandas, polars or another with __arrow_c_stream__")
    return pa.RecordBatchReader.from_stream(frame)


def rows(frame: Any) -> Optional[int]:
    """Returns how many rows a frame has, None of a stream."""
    try:
        return len(frame)
    except TypeError:
        return None


class _Pipe:
    """The pipe that pyarrow writes to. A broken one takes what comes and drops it: pyarrow ends a file with its footer also after an error."""

    closed = False
    broken = False

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe

    def write(self, data: bytes) -> int:
        if not self.broken:
            try:
                self._pipe.write(data)
            except BrokenPipeError:  # the program has ended, and says why
                self.broken = True
        return len(data)

    def flush(self) -> None:
        pass


def write(batches: Any, stdin: IO[bytes]) -> None:
    """Writes record batches as one Parquet file. After an error it has no footer."""
    pa, pipe = arrow(), _Pipe(stdin)
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()} if hasattr(pa, "string_view") else {}
    schema = pa.schema([field.with_type(views.get(field.type, field.type)) for field in batches.schema])
    writer = arrow("pyarrow.parquet").ParquetWriter(pipe, schema)
    try:
        group: List[Any] = []
        held = 0  # rows of group

        def put() -> None:
            writer.write_table(pa.Table.from_batches(group, batches.schema).cast(schema), row_group_size=GROUP_ROWS)
            group.clear()

        for batch in batches:
            group.append(batch)
            held += batch.num_rows
            if held >= GROUP_ROWS:
                put()
                held = 0
            if pipe.broken:
                break
        put()
    except BaseException:
        pipe.broken = True
        raise
    finally:
        writer.close()
    if not pipe.broken:
        try:
            stdin.close()
        except BrokenPipeError:
            pass
