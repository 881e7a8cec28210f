"""The result object of a command that works on a job. Made by "make docs" from docs/result.schema.json; docs/result.md says more."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict


class Replace(TypedDict):
    bytes: int  # of those
    changed: int  # of them that are in it without some of their columns
    deleted: int  # of them that are not in the export
    files: int  # with them
    markers: int  # delete markers that were loaded
    max_deletes: str  # how many may be deleted: N or P%
    rows: int  # of the table before


class ManifestCell(TypedDict):
    family: str
    qualifier: str


class Digest(TypedDict):
    cells: int
    rows: int
    sum: str


class _ExpectationsCount(TypedDict):
    checked: int
    failed: int
    of: str  # what was counted, whatever the bounds are


class ExpectationsCount(_ExpectationsCount, total=False):
    newest: int  # date, in milliseconds
    undecided: bool


class _ExpectationsFinding(TypedDict):
    checked: int  # records or values
    expectation: str  # with its bounds
    failed: int  # of them
    found: str
    kind: Literal["rows", "nulls", "values", "matches", "min", "max", "unique", "newest_within"]
    severity: Literal["fail", "warn"]
    status: Literal["passed", "failed", "undecided", "unchecked"]  # undecided counts as failed


class ExpectationsFinding(_ExpectationsFinding, total=False):
    column: str  # absent: it is about the records


class _Expectations(TypedDict):
    read_at: str  # when reading began, with which dates are compared
    records: int  # that are neither rejected nor filtered


class Expectations(_Expectations, total=False):
    counts: list[ExpectationsCount]  # from which another attempt judges
    findings: list[ExpectationsFinding]  # in the order of the job file


class ManifestTimes(TypedDict, total=False):
    expires: int
    max: int
    min: int


class _Manifest(TypedDict):
    bytes: int
    columns: list[str]
    digest: Digest
    duplicates: int
    family: str
    hfiles: int
    key: str
    records: int
    rejected: int
    schema: Literal[1]
    timestamp: int


class Manifest(_Manifest, total=False):
    cell_timestamp: bool  # a column gives the timestamp of the cells
    cells: list[ManifestCell]  # that rows can have, of a job with a mapping
    duplicates_file: str
    expectations: Expectations
    filtered: int
    filtered_file: str
    input_tables: list[str]  # inputs that are tables
    joined: int
    modulus: int
    no_cells: int
    read_ns: int
    reject_file: str
    row_sum: str  # of rekey: the sum of the rows' hashes without their keys
    runs: int
    salt_buckets: int  # the modulus, if the job states it
    spill_bytes: int
    table: str
    times: ManifestTimes  # timestamps of cells that columns give, in milliseconds
    versions: int  # of a cell at most, if records of a key are versions of one row
    wide_rows: bool  # rows are made of all records of a key
    write_ns: int


class VerifyFiles(TypedDict):
    bytes: int
    compacted: int  # of these: no longer in service, since a compaction has taken their rows
    files: int  # of the load, with the bytes that were written
    others: int  # in service in addition to them
    read: int  # of these: read, because HDFS gave no checksum
    split: int  # of these: served by references, since their region was split


class VerifyMasked(TypedDict):
    by_delete_markers: int
    by_newer_cells: int
    rows: int


class _Verify(TypedDict):
    got: Digest
    mode: Literal["full", "files", "sample", "off"]
    sampled: int
    want: Digest


class Verify(_Verify, total=False):
    expired: Literal[True]
    files: VerifyFiles  # in mode files: what the stores have of the files that were loaded
    masked: VerifyMasked  # what was loaded and is in the table, but hidden by what others wrote


class _Table(TypedDict):
    load_ns: int
    manifest: Optional[Manifest]
    regions: int
    table: str


class Table(_Table, total=False):
    index: str
    verify: Verify
    verify_ns: int


class _Cluster(TypedDict):
    conf: str  # directory of its configuration, empty for the command's own
    elapsed_ns: int
    status: Literal["done", "already", "failed", "busy", "stopped", "left"]


class Cluster(_Cluster, total=False):
    error: str
    id: str  # HBase's id of the cluster that was loaded
    jobs: list[str]
    replace: Replace
    tables: list[Table]


class FreshBefore(TypedDict):
    changed: int  # of them that are in it without some of their columns
    max_deletes: str  # how many may be missing: N or P%
    missing: int  # of them that are not in the export
    rows: int  # of the old table


_Fresh = TypedDict("_Fresh", {
    "from": "str",  # the old table, which is as it was
})


class Fresh(_Fresh, total=False):
    before: FreshBefore  # what the old table has that the export lacks; absent: it was not compared
    coprocessors: list[str]  # that the new table has of the old one's descriptor, as written there


class _Part(TypedDict):
    bytes: int
    cells: int
    elapsed_ns: int
    files: int
    hfiles: int
    input: str
    input_bytes: int
    records: int
    rows: int
    status: Literal["done", "already", "failed", "busy", "stopped", "left"]


class Part(_Part, total=False):
    began: str
    duplicates_file: str
    error: str
    filtered: int
    filtered_file: str
    job: str
    reject_file: str
    rejected: int


class _Phase(TypedDict):
    name: str
    seconds: float


class Phase(_Phase, total=False):
    bytes: int
    files: int
    rows: int


class Rates(TypedDict):
    hfile_bytes_per_second: float
    input_bytes_per_second: float
    rows_per_second: float


class FileColumn(TypedDict):
    columns: list[str]
    files: list[str]


class _ReadingWay(TypedDict):
    files: int
    format: str


class ReadingWay(_ReadingWay, total=False):
    detected: bool
    dialect: str
    settings: str


class _Reading(TypedDict):
    ways: list[ReadingWay]


class Reading(_Reading, total=False):
    lacking: list[FileColumn]
    partitions: list[str]
    passed_over: list[FileColumn]
    where: list[str]


_Rekey = TypedDict("_Rekey", {
    "created": "int",  # when the snapshot was made, in milliseconds
    "from": "str",  # the table that was read
    "next_since": "int",  # for the next pass
    "snapshot": "str",
})


class Rekey(_Rekey, total=False):
    since: int  # cells of earlier timestamps were left out


class _Share(TypedDict):
    of: int
    share: int


class Share(_Share, total=False):
    bytes: int  # of the sorted rows that build --share left
    filtered_file: str
    pending: int  # merges that are still to be done before the files can be loaded
    records: int  # read by build --share, bad ones included
    reject_file: str


class _YarnTask(TypedDict):
    attempts: int
    bytes: int  # of the input of a map, of the HFiles of a reduce
    node: str
    number: int
    program_ns: int
    rows: int  # records of a map, rows of a reduce
    shuffled_bytes: int  # that a map gave, or a reduce got
    task: Literal["map", "reduce"]
    wall_ns: int


class YarnTask(_YarnTask, total=False):
    rejected: int
    straggler: bool


class Yarn(TypedDict):
    application: str
    failed_attempts: int  # before those that count
    maps: int
    reduces: int
    shuffled_bytes: int  # from maps to reduces
    stragglers: int
    tasks: list[YarnTask]


class _Result(TypedDict):
    attempt: int  # 0: it ended before an attempt began
    began: str
    command: Literal["run", "build", "merge", "load", "rekey"]
    ended: str
    exit_code: int
    host: str
    job: str  # directory of the job's state on host; empty if there is none
    job_id: str  # what --job-id said
    phases: list[Phase]
    pid: int
    rejected: int  # bad records that were set aside
    schema: Literal[1]
    seconds: float
    status: Literal["done", "already", "failed", "stopped", "busy"]
    table: str  # empty if it is not known
    version: str
    warnings: int


class Result(_Result, total=False):
    already_done: Literal[True]
    clusters: list[Cluster]  # the clusters of a run with --also, the command's own first; regions, load_ns and verify outside of this are the greatest, and the first cluster's
    done_at: str
    elapsed_ns: int
    error: str  # why it is not done, for people
    error_kind: Literal["unexpected", "config", "check", "bad_rows", "input", "hdfs", "load", "verify", "busy", "state", "stopped"]
    filtered: int  # records that the filter left out
    fresh: Fresh
    job_file: str  # file that describes the job, with its whole path
    load_ns: int
    manifest: Optional[Manifest]
    not_met: Expectations
    parts: list[Part]  # the directories of a run with --split-by directory, in their order
    rates: Rates
    reading: Reading  # how the inputs were read; absent of a run that was split
    regions: int  # that took files
    rekey: Rekey
    replace: Replace
    report: str  # path of report.html on host
    share: Share
    snapshot: str
    staging: str
    tables: list[Table]  # further tables of the job, in the order in which they are loaded; manifest, regions, load_ns and verify outside of this are of the first table
    verify: Verify
    verify_ns: int
    yarn: Yarn
