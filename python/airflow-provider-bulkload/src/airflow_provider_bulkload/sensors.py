"""The sensor that waits for jobs which others run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from airflow_provider_bulkload.compat import AirflowException, BaseSensorOperator, PokeReturnValue
from airflow_provider_bulkload.hook import BulkloadHook

NO_LOADS = {"export", "compare"}  # commands with jobs of a table that load nothing into it


class BulkloadJobSensor(BaseSensorOperator):
    """Waits until a job of a table is done, as `bulkload status` has it; its XCom is what status says of the job.

    Exports and comparisons of the table do not count. A job that was undone is not done. A job that failed is waited for: the same command resumes it.
    With `--split-by directory` each directory is a job, and the first that is done is enough.

    :param table: the job's table.
    :param job_id: the job's --job-id.
    :param after: a time: jobs that ended before do not count, such as those of the nights before.
    :param bulkload_conn_id: the connection; with none the worker's environment counts.
    :param state: instead of the connection's.
    :param program: instead of the connection's.
    """

    template_fields: Sequence[str] = ("table", "job_id", "after", "state", "bulkload_conn_id")
    ui_color = "#e8f0d8"

    def __init__(self, *, table: str, job_id: str | None = None, after: str | datetime | None = None,
                 bulkload_conn_id: str | None = None, state: str | None = None, program: str | None = None,
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table, self.job_id, self.after = table, job_id, after
        self.bulkload_conn_id, self.state, self.program = bulkload_conn_id, state, program

    def poke(self, context: Any) -> PokeReturnValue:
        args = ["status"] + ([f"--state={self.state}"] if self.state else [])
        code, answer = BulkloadHook(self.bulkload_conn_id, self.program).ask(*args)
        if code:
            raise AirflowException(f"bulkload status ended with exit code {code}: {answer.get('error')}")
        for job in answer.get("jobs", []):
            if self._fits(job):
                self.log.info("job %s is %s", job["job"], job["state"])
                if job["state"] == "done" and not job.get("undo"):
                    return PokeReturnValue(True, job)
        return PokeReturnValue(False)

    def _fits(self, job: dict[str, Any]) -> bool:
        def whole(table: str) -> str:
            return table if ":" in table else f"default:{table}"

        tables = {whole(of.get("table") or "") for of in (job, *(job.get("tables") or ()))}
        if job.get("command") in NO_LOADS or whole(self.table) not in tables or self.job_id and job.get("job_id") != self.job_id:
            return False
        return not self.after or bool(job.get("ended")) and moment(job["ended"]) >= moment(self.after)


def moment(when: str | datetime) -> float:
    """A time in seconds; text is ISO 8601, as templates and `bulkload status` write it."""
    if isinstance(when, datetime):
        return when.timestamp()
    import pendulum

    return pendulum.parse(when).timestamp()
