"""Operators: one command of bulkload as an Airflow task. They work on Airflow 2.11 and 3."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import signal
import socket
import time
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from airflow.configuration import conf

from airflow_provider_bulkload import lineage
from airflow_provider_bulkload.compat import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    AirflowTaskTimeout,
    Asset,
    BaseOperator,
)
from airflow_provider_bulkload.hook import BulkloadHook
from airflow_provider_bulkload.links import REPORT_KEY, BulkloadReportLink
from airflow_provider_bulkload.process import Run, message, relay
from airflow_provider_bulkload.triggers import BulkloadTrigger

ALREADY = 99  # the job was done by an earlier run
# What a retry cannot fix: usage, an unfit table, bad rows, input missing or changed, verification.
FATAL = {2, 3, 4, 5, 8}
STOPPED = {129, 130, 143}  # by SIGHUP, SIGINT or SIGTERM
# The program stops within 15 s of a SIGTERM and resolves the outcome of calls in flight first. To kill it
# earlier is safe, the next try resumes all the same, but has to resolve the outcome then.
STOP_SECONDS = 20
SIGNALS = {s.value: s.name for s in signal.Signals}
LINEAGE = "lineage.jsonl"
LOOK_SECONDS = 0.2  # how often a task that waits itself looks at its program


class BulkloadBaseOperator(BaseOperator):
    """Runs one command of the program; its XCom is the object of `--output json`.

    A retry is the same command and resumes the job; a program that an earlier try has left running is waited for.
    Exit codes 2, 3, 4, 5 and 8 fail the task at once, all others are retried as `retries` says. The task is skipped when
    another run of the DAG has done the job before, also after the task was cleared, and so are tasks behind it, unless their trigger_rule is none_failed.

    :param bulkload_conn_id: a connection of type bulkload; with none the worker's environment counts.
    :param state: instead of the connection's: hbase:TABLE, which all workers reach, or a directory. With several workers
        and a directory the task must always run on the same one (`queue`).
    :param args: further arguments of the command.
    :param env: further environment variables; those of the worker stay.
    :param program: instead of the connection's: a path, or a name on PATH.
    :param deferrable: give the worker's slot back while the program works.
    :param poll_seconds: how often the trigger looks at the program.
    :param openlineage: `task`: the datasets of the program's events are those of the task's own event; `program`: the
        program sends its events itself, to OPENLINEAGE_URL, with the task's run as their parent.
    """

    template_fields: Sequence[str] = ("state", "args", "env", "bulkload_conn_id")
    ui_color = "#e8f0d8"
    operator_extra_links = (BulkloadReportLink(),)
    sends_lineage = False  # whether the command has --openlineage
    report = ""  # its address, when the program has ended
    _run: Run | None = None
    _event: dict[str, Any] | None = None

    def __init__(self, *, bulkload_conn_id: str | None = None, state: str | None = None, args: Sequence[str] = (),
                 env: dict[str, str] | None = None, program: str | None = None,
                 deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
                 poll_seconds: float = 5, openlineage: str = "task", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.bulkload_conn_id, self.state, self.args, self.env, self.program = bulkload_conn_id, state, args, env, program
        self.deferrable, self.poll_seconds, self.openlineage = deferrable, poll_seconds, openlineage

    def command(self) -> list[str]:
        """The command and its own arguments; each class has its own."""
        raise NotImplementedError

    def execute(self, context: Any) -> dict[str, Any] | None:
        return self._begin(context)

    def _begin(self, context: Any) -> dict[str, Any] | None:
        """Has the program work, and waits for it or defers the task."""
        run = self._open(context)
        if not self.deferrable or run.exit_code is not None:
            return self._finish(run, context)
        limit = self.execution_timeout
        self.log.info("process %d continues without a slot", run.pid)
        self._run = None  # it is the trigger's
        self.defer(method_name="resume", trigger=BulkloadTrigger(
            directory=str(run.directory), host=socket.gethostname(), pid=run.pid, program=self.hook.program,
            env=self._added(), deadline=time.time() + limit.total_seconds() if limit else None, poll_seconds=self.poll_seconds))

    def resume(self, context: Any, event: dict[str, Any]) -> dict[str, Any] | None:
        """Takes the outcome of a program for which a trigger has waited."""
        run = Run(event["directory"])
        if event["late"]:
            if run.exit_code is None and not run.alive:
                self.log.warning("bulkload is not on this host: if it still works elsewhere, it continues")
            self._run = run
            self.on_kill()
            raise AirflowTaskTimeout(f"bulkload took longer than execution_timeout, {self.execution_timeout}")
        if run.exit_code is None and not run.alive:
            # Another worker, or the process's host has started again: the same command finds the outcome, or resumes.
            self.log.info("the outcome is not in %s: asking the program", run.directory)
            return self._finish(self._open(context), context, again=True)
        return self._finish(run, context)

    @cached_property
    def hook(self) -> BulkloadHook:
        return BulkloadHook(self.bulkload_conn_id, self.program)

    def _added(self) -> dict[str, str]:
        """What connection and task add to the environment of the program."""
        state = {"BULKLOAD_STATE": self.state} if self.state else {}
        return {**self.hook.env, **state, **(self.env or {})}

    def _open(self, context: Any) -> Run:
        """Starts the program, or finds the one that an earlier try of the task has left running, or its success.

        The directory of a process is named by the task, the DAG's run and the command, and goes when a try takes the
        outcome: what is found there is this task's, and no try has heard of it.
        """
        ti, hook = context["ti"], self.hook
        argv = [hook.program, *self.command(), *self.args, "--output=json"]
        name = "\0".join(map(str, (ti.dag_id, ti.run_id, ti.task_id, ti.map_index, *argv)))
        run = Run(hook.work_dir / (re.sub(r"[^\w.-]+", "_", ti.task_id) + "-" + hashlib.sha256(name.encode()).hexdigest()[:16]))
        if run.alive:
            self.log.info("process %d of an earlier try is still running", run.pid)
            run.join()
            return run
        if run.exit_code in (0, ALREADY):
            self.log.info("an earlier try has started the program, and has not taken its outcome")
            return run
        parent = lineage.parent(ti)
        if parent and self.sends_lineage and self.openlineage == "task":
            argv.append(f"--openlineage={run.directory / LINEAGE}")
        self.log.info("running %s", shlex.join(argv))
        self._run = run
        try:
            run.start(argv, {**os.environ, "BULKLOAD_LOG_FORMAT": "json", **parent, **self._added()})
        except BaseException:  # as in _finish
            self.on_kill()
            raise
        return run

    def _finish(self, run: Run, context: Any, again: bool = False) -> dict[str, Any] | None:
        """Follows the program to its end."""
        self._run = run
        try:
            while run.exit_code is None and run.alive:
                relay(run, self.log)
                time.sleep(LOOK_SECONDS)
        except BaseException:  # a time limit or a kill, raised by a signal handler
            self.on_kill()
            raise
        relay(run, self.log)
        code, result, last = run.exit_code, run.result(), message(run.last("stderr"))[1]
        killed = self._run is not run  # which on_kill takes away
        if not killed and (code in STOPPED and run.joined or code is None and run.taken_over):  # or the earlier try took the files
            self.log.info("bulkload was stopped with an earlier try: the same command resumes")
            self._run = None
            return self._begin(context)
        self._event = lineage.final_event(run.directory / LINEAGE)
        self._run = None
        if not (killed and run.joined):  # else they are the next try's
            run.remove()
        self.report = self.hook.report_link(result)
        if self.report:
            context["ti"].xcom_push(key=REPORT_KEY, value=self.report)
        return self._outcome(code, result, last, context, again)

    def _outcome(self, code: int | None, result: dict[str, Any], last: str, context: Any, again: bool) -> dict[str, Any]:
        if code == 0 or code == ALREADY and (again or context["ti"].try_number > 1) and not done_before(context.get("dag_run"), result):
            return result  # an earlier try may have done it, and Airflow did not hear of it
        if code == ALREADY:
            context["ti"].xcom_push(key="return_value", value=result)
            raise AirflowSkipException("the job was done by an earlier run")
        ended = f"ended with exit code {code}"
        if code is None:
            ended = "has ended without an exit code"
        elif code - 128 in SIGNALS and not result:
            ended = f"was killed by {SIGNALS[code - 128]}"
        text = f"bulkload {ended}: {result.get('error') or last or 'it gave no reason'}"
        raise (AirflowFailException if code in FATAL else AirflowException)(text)

    def on_kill(self) -> None:
        run, self._run = self._run, None  # one signal only, however often this is called
        if run is None:
            return
        run.started()
        if not run.alive:
            return
        pid = run.pid  # the next try may start another in the same directory
        self.log.info("stopping bulkload, process %d", pid)
        run.stop()
        end = time.monotonic() + STOP_SECONDS
        while run.alive and run.pid == pid and time.monotonic() < end:
            relay(run, self.log)
            time.sleep(LOOK_SECONDS)
        if run.pid == pid:
            relay(run, self.log)
        if run.alive and run.pid == pid:
            self.log.warning("bulkload has not stopped within %d s, killing it", STOP_SECONDS)
            run.send(signal.SIGKILL)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """What Airflow's provider for OpenLineage asks for: the datasets of the program's last event."""
        return lineage.operator_lineage(self._event or {})


class BulkloadRunOperator(BulkloadBaseOperator):
    """`bulkload run`: loads exports into a table.

    :param job: the job file.
    :param inputs: files, directories or globs, local or hdfs://; None: those of the job file. An empty list is refused.
    :param date: the value of --date, for `{{ .Date }}` in the job file.
    :param job_id: distinguishes jobs of the same table, inputs and key. Like `inputs` and `date` it must not change
        between the tries of a task: it may depend on the run, never on the try or the time of day.
    :param table: instead of the job file's; with `cluster` it names the asset that a success updates.
    :param cluster: the name of the HBase cluster in the asset hbase://CLUSTER/TABLE.
    """

    template_fields = ("job", "inputs", "date", "job_id", *BulkloadBaseOperator.template_fields)
    sends_lineage = True

    def __init__(self, *, job: str | None = None, inputs: str | Sequence[str] | None = None, date: str | None = None,
                 job_id: str | None = None, table: str | None = None, cluster: str = "hbase", **kwargs: Any) -> None:
        super().__init__(**updates(cluster, table, kwargs))
        self.job, self.inputs, self.date, self.job_id, self.table = job, inputs, date, job_id, table

    def command(self) -> list[str]:
        return ["run", "--skip-exit-code", *flags(job=self.job, table=self.table, date=self.date, job_id=self.job_id),
                *input_flags(self.inputs)]


class BulkloadReplaceOperator(BulkloadRunOperator):
    """`bulkload run --replace`: the table holds exactly the export afterwards.

    :param max_deletes: rows of the table that may go, N or P%.
    :param into: a new table that is made and loaded instead, which is also the one of the asset then.
    :param drop_old: instead of a load: drop this table, in whose place `into` was loaded. No asset is updated then.
    """

    template_fields = ("max_deletes", "into", "drop_old", *BulkloadRunOperator.template_fields)

    def __init__(self, *, max_deletes: str | int | None = None, into: str | None = None, drop_old: str | None = None,
                 table: str | None = None, cluster: str = "hbase", **kwargs: Any) -> None:
        super().__init__(**updates(cluster, None if drop_old else into or table, kwargs))
        self.max_deletes, self.into, self.drop_old, self.table = max_deletes, into, drop_old, table

    def command(self) -> list[str]:
        return [*super().command(), "--replace",
                *flags(max_deletes=self.max_deletes, into=self.into, drop_old=self.drop_old)]


class BulkloadRekeyOperator(BulkloadBaseOperator):
    """`bulkload rekey`: gives the rows of a table new keys, in another table.

    :param source: the table that is read.
    :param target: the table that is made and loaded; with `cluster` it names the asset that a success updates.
    :param key: the spec of the new keys.
    :param old_key: the spec of the old keys, for columns that only they have.
    :param since: for a second pass: take only cells from this time on.
    :param job_id: distinguishes jobs of the same tables and key, such as passes.
    :param cluster: the name of the HBase cluster in the asset hbase://CLUSTER/TABLE.
    """

    template_fields = ("source", "target", "key", "old_key", "since", "job_id", *BulkloadBaseOperator.template_fields)

    def __init__(self, *, source: str, target: str, key: str, old_key: str | None = None, since: str | int | None = None,
                 job_id: str | None = None, cluster: str = "hbase", **kwargs: Any) -> None:
        super().__init__(**updates(cluster, target, kwargs))
        self.source, self.target, self.key, self.old_key = source, target, key, old_key
        self.since, self.job_id = since, job_id

    def command(self) -> list[str]:
        return ["rekey", "--skip-exit-code", f"--from={self.source}", f"--to={self.target}",
                *flags(key=self.key, old_key=self.old_key, since=self.since, job_id=self.job_id)]


class BulkloadUndoOperator(BulkloadBaseOperator):
    """`bulkload undo`: takes one finished load out of its table.

    :param job: the job: the path or name of its directory, such as `{{ ti.xcom_pull("load")["job"] }}`, or its --job-id.
    :param dry_run: only say what would be removed, and fail where something would be lost.
    """

    template_fields = ("job", *BulkloadBaseOperator.template_fields)

    def __init__(self, *, job: str, dry_run: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job, self.dry = job, dry_run

    def command(self) -> list[str]:
        return ["undo", f"--job={self.job}", *(["--dry-run"] if self.dry else [])]


class BulkloadExportOperator(BulkloadBaseOperator):
    """`bulkload export`: writes the rows of a table into files; its XCom has their numbers.

    :param table: the table, or snapshot:NAME.
    :param to: directory for the files, local or hdfs://; missing or empty.
    :param format: csv, dump, parquet or jsonl.
    :param job: the job file whose columns are written.
    :param columns: the columns that are written, instead of all of the job's.
    """

    template_fields = ("table", "to", "job", "columns", *BulkloadBaseOperator.template_fields)

    def __init__(self, *, table: str, to: str, format: str, job: str | None = None, columns: Sequence[str] = (),
                 **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.table, self.to, self.format, self.job, self.columns = table, to, format, job, columns

    def command(self) -> list[str]:
        return ["export", self.table, *flags(to=self.to, format=self.format, job=self.job, columns=",".join(self.columns))]


class BulkloadCompareOperator(BulkloadBaseOperator):
    """`bulkload compare`: fails at once where two sides differ; its XCom has the counts.

    :param a: a table, snapshot:NAME, hfiles:DIR, or export with `job` and `inputs`.
    :param b: a table, or snapshot:NAME.
    :param only: families and columns to compare, such as `f` and `f:name`, instead of all.
    :param job: the job file of an export, or whose columns --new-key and ranges name.
    :param inputs: files of an export.
    :param new_key: the spec of B's keys: A's rows are compared under the keys that rekey gives them.
    :param old_key: the spec of A's keys, for columns that only they have.
    :param since: compare only cells from this time on.
    :param until: compare only cells from before this time.
    :param b_conf: directory with the configuration of B's cluster, where that is another.
    :param differences: a local file for the rows that differ, which are data.
    :param repair_b: load into table B what differs, and compare again; with `cluster` B is the asset that a success updates.
    :param job_id: distinguishes comparisons of the same sides.
    :param cluster: the name of B's cluster in the asset hbase://CLUSTER/TABLE.
    """

    template_fields = ("a", "b", "job", "inputs", "since", "until", "differences", "job_id", *BulkloadBaseOperator.template_fields)

    def __init__(self, *, a: str, b: str, only: Sequence[str] = (), job: str | None = None, inputs: str | Sequence[str] | None = None,
                 new_key: str | None = None, old_key: str | None = None, since: str | int | None = None,
                 until: str | int | None = None, b_conf: str | None = None, differences: str | None = None,
                 repair_b: bool = False, job_id: str | None = None, cluster: str = "hbase", **kwargs: Any) -> None:
        super().__init__(**updates(cluster, b if repair_b else None, kwargs))
        self.a, self.b, self.only, self.job, self.inputs, self.new_key, self.old_key = a, b, only, job, inputs, new_key, old_key
        self.since, self.until, self.b_conf, self.differences = since, until, b_conf, differences
        self.repair, self.job_id = repair_b, job_id

    def command(self) -> list[str]:
        return ["compare", self.a, self.b,
                *flags(only=",".join(self.only), job=self.job, new_key=self.new_key, old_key=self.old_key, since=self.since,
                       until=self.until, b_conf=self.b_conf, differences=self.differences, job_id=self.job_id),
                *input_flags(None if self.inputs == "" else self.inputs), *(["--repair-b"] if self.repair else [])]


def flags(**values: Any) -> list[str]:
    """Flags of the program by their names, without those that have no value."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value not in (None, "")]


def done_before(dag_run: Any, result: dict[str, Any]) -> bool:
    """Whether a job was done before a run of the DAG could begin: not by a try of that run. False if that is not known."""
    times = [getattr(dag_run, name, None) for name in ("run_after", "data_interval_end", "start_date")]
    due = times[0] or times[1]
    try:
        done = datetime.strptime(result["done_at"][:19] + "+0000", "%Y-%m-%dT%H:%M:%S%z")
        return bool(due) and done < min(due, times[2] or due)  # a run may be due later than it is started by hand
    except (KeyError, TypeError, ValueError):
        return False


def input_flags(inputs: str | Sequence[str] | None) -> list[str]:
    """Flags for the inputs of a job; None: those of its job file. An empty list, such as of a search that found nothing, is refused."""
    if inputs is None:
        return []
    if not inputs:
        raise AirflowFailException("inputs is empty: leave it out for the inputs of the job file")
    return [f"--input={i}" for i in ([inputs] if isinstance(inputs, str) else inputs)]


def updates(cluster: str, table: str | None, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operator with the asset of a table among those that a success updates."""
    if not table:
        return kwargs
    return {**kwargs, "outlets": [*(kwargs.get("outlets") or ()), Asset(f"hbase://{cluster}/{table}")]}
