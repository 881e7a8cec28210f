"""The trigger that waits for a program whose task has given its slot back."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_bulkload.compat import THREE
from airflow_provider_bulkload.hook import ask
from airflow_provider_bulkload.process import Run, relay

UNKNOWN_SECONDS = 120  # a process that the table of states has not heard of for so long has no job
IDLE_SECONDS = 30  # a run by directories has no job at work between two of them


class BulkloadTrigger(BaseTrigger):
    """Waits until a process of the program has ended.

    It keeps nothing in memory that it needs: a triggerer that starts later, or another one, waits on. On the
    process's host it looks at the files of the process; on another host it asks `bulkload status`, if the state is in
    a table.

    :param directory: of the process's files.
    :param host: on which the process runs.
    :param pid: the process.
    :param program: for `bulkload status`.
    :param env: what the task adds to the environment of the program.
    :param deadline: the time at which the task's execution_timeout is over, in seconds since 1970.
    :param poll_seconds: how often it looks.
    """

    def __init__(self, *, directory: str, host: str, pid: int, program: str, env: dict[str, str],
                 deadline: float | None = None, poll_seconds: float = 5) -> None:
        super().__init__()
        self.directory, self.host, self.pid, self.program = directory, host, pid, program
        self.env, self.deadline, self.poll_seconds = env, deadline, poll_seconds
        self._idle_since = 0.0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("directory", "host", "pid", "program", "env", "deadline", "poll_seconds")
        return f"{type(self).__module__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            while not await asyncio.to_thread(self._over):
                if self.deadline and time.time() > self.deadline:
                    await self.on_kill()  # Airflow 2 does not resume a task that is over its limit
                    yield TriggerEvent({"directory": self.directory, "late": True})
                    return
                await asyncio.sleep(self.poll_seconds)
        except asyncio.CancelledError:
            if await asyncio.to_thread(self._given_up):
                await self.on_kill()
            raise
        yield TriggerEvent({"directory": self.directory, "late": False})

    async def on_kill(self) -> None:
        """Stops the program, when it is late, or the deferred task was cleared or marked: then Airflow 3 calls this."""
        if self._here:
            self.log.info("stopping bulkload, process %d", self.pid)
            await asyncio.to_thread(Run(self.directory).stop)
        else:
            self.log.warning("bulkload, process %d on %s, is on another host and continues", self.pid, self.host)

    @property
    def _here(self) -> bool:
        return self.host == socket.gethostname()

    def _over(self) -> bool:
        run = Run(self.directory)
        relay(run, self.log)
        if run.exit_code is not None:
            return True
        if self._here:
            return not run.alive
        return self.env.get("BULKLOAD_STATE", "").startswith("hbase:") and not self._at_work()

    def _at_work(self) -> bool:
        """Whether the process works on a job, as far as the table of states knows."""
        try:
            code, answer = ask(self.program, {**os.environ, **self.env}, "status")
        except (OSError, subprocess.SubprocessError) as error:
            code, answer = 1, {"error": error}
        if code:
            self.log.warning("bulkload status: %s", answer.get("error"))
            return True  # which only means that it is not known
        states = [job.get("state") for job in answer.get("jobs", []) if (job.get("host"), job.get("pid")) == (self.host, self.pid)]
        if "running" in states:
            self._idle_since = 0.0
            return True
        self._idle_since = self._idle_since or time.monotonic()
        return time.monotonic() - self._idle_since < (IDLE_SECONDS if states else UNKNOWN_SECONDS)

    def _given_up(self) -> bool:
        """Whether this is cancelled because the task waits no more, in Airflow 2, which has no on_kill of triggers."""
        if THREE or self.task_instance is None:
            return False
        from airflow.models import TaskInstance
        from airflow.utils.session import create_session

        key = self.task_instance
        with create_session() as session:
            now = session.query(TaskInstance.state, TaskInstance.trigger_id).filter_by(
                dag_id=key.dag_id, task_id=key.task_id, run_id=key.run_id, map_index=key.map_index).one_or_none()
        return now is None or now[0] != "deferred" or now[1] != self.trigger_id
