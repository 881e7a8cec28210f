"""A program that outlives the process that starts it. What it prints and how it ends are files of a directory."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# The shell waits for the program: a process that is not its parent cannot learn its exit code.
# A file that is there is complete.
SUPERVISE = """dir=$1; shift
"$@" </dev/null >"$dir/stdout" 2>"$dir/stderr" &
echo $$ $! >"$dir/pids.part" && mv "$dir/pids.part" "$dir/pids"
wait $!
echo $? >"$dir/exit.part" && mv "$dir/exit.part" "$dir/exit"
"""
START_SECONDS = 30  # until the shell has started the program


class Run:
    """One process of the program, by the directory of its files."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._shell: subprocess.Popen[bytes] | None = None
        self.taken_over = False  # an earlier try has started the program

    def start(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Starts the program in a session of its own: a signal to the group of its caller does not reach it."""
        self.remove()
        self.directory.mkdir(parents=True, mode=0o700)
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", SUPERVISE, "bulkload", str(self.directory), *argv], env=dict(env), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.started()

    def started(self) -> None:
        """Waits until the shell has started the program, if this process has started the shell."""
        shell, end = self._shell, time.monotonic() + START_SECONDS
        while shell is not None and not self.pid and shell.poll() is None:
            if time.monotonic() > end:  # such as a full disk: nobody could stop the program, or learn how it ends
                os.killpg(shell.pid, signal.SIGKILL)
                raise OSError(f"{self.directory}/pids was not written within {START_SECONDS} s: the program is stopped; is the disk full?")
            time.sleep(0.01)

    def _numbers(self, name: str) -> list[int]:
        try:
            return [int(word) for word in (self.directory / name).read_text().split()]
        except (OSError, ValueError):
            return []

    @property
    def pid(self) -> int:
        """The program's process, 0 if there is none."""
        return self._numbers("pids")[1] if self._numbers("pids") else 0

    @property
    def exit_code(self) -> int | None:
        """How the program ended, None if it has not, or if that is not known; 128 and more as a shell says it."""
        code = self._numbers("exit")
        if self._shell is not None:
            self._shell.poll()  # leaves no zombie
        return code[0] if code else None

    @property
    def alive(self) -> bool:
        """Whether the shell is there: a process with this directory in its command line."""
        shell = (self._numbers("pids") or [0])[0]
        if not shell or self.exit_code is not None:
            return False
        try:
            return str(self.directory).encode() in Path(f"/proc/{shell}/cmdline").read_bytes().split(b"\0")
        except OSError:
            if Path("/proc/self/cmdline").exists():
                return False
        try:  # no Linux
            os.kill(shell, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def join(self) -> None:
        """Notes that another try waits for the program than the one that has started it."""
        self.taken_over = True
        with contextlib.suppress(OSError):  # the files go when the other one takes the outcome
            (self.directory / "joined").touch()

    @property
    def joined(self) -> bool:
        return (self.directory / "joined").exists()

    def stop(self) -> None:
        """Sends one SIGTERM, however often and by which process it is called. The program ends within 15 s; a second one would end it at once."""
        if not self.alive:
            return
        try:
            (self.directory / "stopped").touch(exist_ok=False)
        except FileExistsError:
            return
        except OSError:  # a full disk does not keep it from being stopped
            pass
        self.send(signal.SIGTERM)

    def send(self, number: int) -> None:
        pid = self.pid
        if not pid:  # the files are gone, with the process; 0 is the caller's own group
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def lines(self) -> Iterator[str]:
        """The lines of standard error that were not given yet, by no process."""
        given = (self._numbers("given") or [0])[0]
        try:
            with open(self.directory / "stderr", "rb") as file:
                file.seek(given)
                for line in file:
                    if not line.endswith(b"\n") and self.exit_code is None:
                        return  # the rest of it is still to come
                    given += len(line)
                    (self.directory / "given.part").write_text(str(given))
                    os.replace(self.directory / "given.part", self.directory / "given")
                    yield line.decode(errors="replace").rstrip()
        except OSError:  # there is no such file, or no room for given: the lines are given later
            return

    def last(self, name: str) -> str:
        """The last line of a file, empty if there is none."""
        try:
            return last_line(self.directory / name)
        except OSError:
            return ""

    def result(self) -> dict[str, Any]:
        """The result object; empty of a program that was killed, or failed before it knew what to do."""
        try:
            found = json.loads(self.last("stdout"))
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


def last_line(file: Path) -> str:
    """The last line of a file. Only a line feed ends one: JSON has other characters as they are at which splitlines() splits."""
    return file.read_text(encoding="utf-8", errors="replace").rstrip("\n").split("\n")[-1]


def message(line: str) -> tuple[int, str]:
    """The level and the text of a line of the log: JSON by its level, other lines as they are."""
    try:
        entry = json.loads(line)
        level, text = logging.getLevelName(entry.pop("level")), entry.pop("msg")
        entry.pop("time", None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return logging.INFO, line
    text = " ".join([text, *(f"{k}={v}" for k, v in entry.items())])
    return (level if isinstance(level, int) else logging.WARNING), text


def relay(run: Run, log: logging.Logger) -> None:
    """Gives a task's log the lines that are new."""
    for line in run.lines():
        level, text = message(line)
        log.log(level, "%s", text)
