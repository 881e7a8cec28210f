"""The program: where it is, and one run of it."""

from __future__ import annotations

import base64
import json
import logging
import os
import shutil
import signal
import subprocess
import sysconfig
import traceback
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import IO, Any, Dict, Iterator, List, Optional, Sequence, Tuple

from .errors import BY_CODE, UnexpectedError

ALREADY = 99  # with --skip-exit-code: the job was done before
STOP_SECONDS = 30  # the program stops within 15 s of a signal; to kill it later is safe, the same command resumes
log = logging.getLogger("bulkload")


def find_bulkload_bin() -> str:
    """Returns the path of the program: the one that was installed with this package, else the one on PATH."""
    target = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # pip install --target DIR puts programs into DIR/bin
    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    if target == sysconfig.get_path("purelib", f"{os.name}_user"):  # pip install --user
        places.reverse()
    for directory in (os.path.join(target, "bin"), *places):
        path = os.path.join(directory, "bulkload")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    found = shutil.which("bulkload")
    if found is None:
        raise FileNotFoundError("the program bulkload is neither with this Python nor on PATH: install the wheel of this platform")
    return found


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Handles SIGINT after the block: in the middle of Popen it would leave a program running that no object stands for."""
    handler = signal.getsignal(signal.SIGINT)
    seen: List[Tuple[Any, ...]] = []
    if current_thread() is not main_thread() or not callable(handler):
        yield
        return
    signal.signal(signal.SIGINT, lambda *of: seen.append(of))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if seen:
            handler(*seen[0])


class Process:
    """One run of the program. Its log goes to the logger while it runs; leaving the context ends it whatever happens."""

    def __init__(self, args: Sequence[str], fed: bool = False) -> None:
        self._last = b""  # line of standard output
        self._reason = "it gave no reason"
        self._owner = os.getpid()
        self._relay = Thread(target=self._log, daemon=True)
        try:
            with _interrupts_later():
                # A session of its own: Ctrl-C reaches Python alone, which sends the program one signal. A second one would end it at once.
                self._popen = subprocess.Popen(
                    [find_bulkload_bin(), "--output=json", *args], env={**os.environ, "BULKLOAD_LOG_FORMAT": "json"}, start_new_session=True,
                    stdin=subprocess.PIPE if fed else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self._relay.start()
        except BaseException:
            if hasattr(self, "_popen"):
                self.__exit__(None)
            raise

    @property
    def stdin(self) -> IO[bytes]:
        assert self._popen.stdin
        return self._popen.stdin

    def lines(self) -> Iterator[bytes]:
        """Yields the lines of standard output but for the last, which is the result."""
        assert self._popen.stdout
        for line in self._popen.stdout:
            if self._last:
                yield self._last
            self._last = line

    def end(self) -> Dict[str, Any]:
        """Returns the result once the program has ended, or raises the exception of its exit code."""
        for _ in self.lines():
            pass
        code = self._popen.wait()
        self._relay.join()
        try:
            result = json.loads(self._last)
        except ValueError:  # it was killed, or prints texts only
            result = {}
        if code in (0, ALREADY):
            return dict(result)
        if result.get("exit_code") != code:  # it was killed: this is a row
            result = {}
        raise BY_CODE.get(code, UnexpectedError)(code, result.get("error") or self._reason, result)

    def stop(self) -> None:
        """Stops the program by one signal, if it still runs, and waits until it has ended."""
        assert self._popen.stdout
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGINT)
            Thread(target=self._popen.stdout.read, daemon=True).start()  # it may wait for a reader
            try:
                self._popen.wait(STOP_SECONDS)
            except BaseException as e:  # too late, or a second Ctrl-C
                self._popen.kill()
                self._popen.wait()
                if not isinstance(e, subprocess.TimeoutExpired):
                    raise

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        if os.getpid() != self._owner:  # a fork: the program is its parent's, and who closes the pipes waits for a thread that is not here
            return
        try:
            self.stop()
        finally:
            self._relay.join()
            for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
                try:
                    if pipe:
                        pipe.close()
                except BrokenPipeError:
                    pass

    def _log(self) -> None:
        """Gives each line of standard error to the logger: JSON by its level, other lines as they are."""
        assert self._popen.stderr
        failed = False
        for line in self._popen.stderr:
            text = line.decode(errors="replace").rstrip()
            try:
                entry = json.loads(text)
                level, message = logging.getLevelName(entry.pop("level")), entry.pop("msg")
                entry.pop("time", None)
                text = " ".join([message, *(f"{k}={v}" for k, v in entry.items())])
            except (ValueError, KeyError, TypeError, AttributeError):
                level = logging.INFO
            self._reason = text
            try:
                log.log(level if isinstance(level, int) else logging.WARNING, "%s", text)
            except Exception:  # of a handler: the program would wait for a reader
                if not failed:
                    traceback.print_exc()
                failed = True


class Rows(Iterator[Dict[str, Any]]):
    """Rows of a table, read while they are asked for: nothing is held but a pipe's buffer.

    A row is a dict: "rowkey", then its cells. Text is str, bytes that are not UTF-8 are bytes. After the last row `result` is the command's result,
    with "next_page" where a limit has left rows. An error of the program is raised where it shows: rows before it are rows of the table. close, or
    leaving a with statement, stops the program.
    """

    def __init__(self, args: Sequence[str]) -> None:
        self.result: Dict[str, Any] = {}
        self._process: Optional[Process] = Process(args)
        self._lines = self._process.lines()

    def __next__(self) -> Dict[str, Any]:
        if self._process is None:
            raise StopIteration
        try:
            line = next(self._lines, None)
            if line is not None:
                return dict(json.loads(line, object_hook=_value))
            self.result = self._process.end()
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.__exit__(None)

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None):
            self.close()


def _value(o: Dict[str, Any]) -> Any:
    return base64.b64decode(o["base64"]) if o.keys() == {"base64"} else o
