"""The exceptions: one class for each kind of failure, which is what a caller decides on."""

from __future__ import annotations

import signal
from typing import Any, ClassVar, Dict

SIGNALS = {s.value: s.name for s in signal.Signals}


class BulkloadError(Exception):
    """A command that has failed.

    code is the exit code (negative: the number of the signal that killed the program), kind its word in results, message the reason,
    result the result object as far as the command had one. retry says whether the same command may succeed later, with nothing else done.
    """

    kind: ClassVar[str] = "unexpected"
    retry: ClassVar[bool] = True

    def __init__(self, code: int, message: str, result: Dict[str, Any]) -> None:
        super().__init__(code, message, result)
        self.code, self.message, self.result = code, message, result

    def __str__(self) -> str:
        ended = f"ended with exit code {self.code} ({self.kind})"
        if self.code < 0:
            ended = f"was killed by {SIGNALS.get(-self.code, f'signal {-self.code}')}"
        return f"bulkload {ended}: {self.message}"


class UnexpectedError(BulkloadError):
    """Exit code 1, all codes that have no class, and a program that was killed."""


class ConfigError(BulkloadError):
    """Exit code 2: usage, the job file or a setting is wrong."""

    kind, retry = "config", False


class CheckError(BulkloadError):
    """Exit code 3: the table or the cluster is not fit for the job."""

    kind, retry = "check", False


class BadRowsError(BulkloadError):
    """Exit code 4: more bad records or duplicates than allowed, or an expectation is not met."""

    kind, retry = "bad_rows", False


class InputError(BulkloadError):
    """Exit code 5: an input is missing, unreadable or has changed."""

    kind, retry = "input", False


class HDFSError(BulkloadError):
    """Exit code 6: HDFS, an object store or the local disk was out of reach, or refused a write or a read."""

    kind, retry = "hdfs", True


class LoadError(BulkloadError):
    """Exit code 7: HBase or YARN was out of reach, or did not finish its work; complete files are kept."""

    kind, retry = "load", True


class VerifyError(BulkloadError):
    """Exit code 8: the table does not hold what was written."""

    kind, retry = "verify", False


class StateError(BulkloadError):
    """Exit code 9: the table of jobs' state was out of reach."""

    kind, retry = "state", True


class BusyError(BulkloadError):
    """Exit code 75: another process is running this job."""

    kind, retry = "busy", True


class StoppedError(BulkloadError):
    """Exit codes 129, 130 and 143: SIGHUP, SIGINT or SIGTERM has stopped the program. Ctrl-C raises KeyboardInterrupt instead."""

    kind, retry = "stopped", True


BY_CODE = {
    1: UnexpectedError, 2: ConfigError, 3: CheckError, 4: BadRowsError, 5: InputError, 6: HDFSError, 7: LoadError, 8: VerifyError,
    9: StateError, 75: BusyError, 129: StoppedError, 130: StoppedError, 143: StoppedError}
