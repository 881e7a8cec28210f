"""BulkloadOperator: one `bulkload run` as an Airflow task. Works on Airflow 2.11 and 3.

Put this file next to the DAGs, or anywhere on the PYTHONPATH of scheduler and workers. It needs nothing but
Airflow; the program `bulkload` and the Hadoop configuration must be on the workers.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import subprocess
from collections import deque
from threading import Thread

try:  # Airflow 3
    from airflow.sdk import Asset, BaseOperator
except ImportError:  # Airflow 2
    from airflow.datasets import Dataset as Asset
    from airflow.models.baseoperator import BaseOperator
try:  # Airflow 3.1 and later
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
except ImportError:
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

ALREADY = 99  # the job was done by an earlier run
# What a retry cannot fix: usage, an unfit table, bad rows, input missing or changed, verification.
FATAL = {2, 3, 4, 5, 8}
# The program stops within 15 s of a SIGTERM and resolves the outcome of calls in flight first. To kill it
# earlier is safe, the next try resumes all the same, but has to resolve the outcome then.
STOP_SECONDS = 20


class BulkloadOperator(BaseOperator):
    """Loads exports into an HBase table; its XCom is the result object of `--output json`.

    A retry, or the same task again, resumes the job: see `job_id`. Exit codes 2, 3, 4, 5 and 8 fail
    the task at once, all others are retried as `retries` says. The task is skipped when another run of the DAG has done
    the job before, and so are tasks behind it, unless their trigger_rule is none_failed.

    :param job: the job file.
    :param inputs: files, directories or globs, local or hdfs://; none: those of the job file.
    :param date: the value of --date, for `{{ .Date }}` in the job file.
    :param job_id: distinguishes jobs of the same table, inputs and key. Like `inputs` and `date` it must not change
        between the tries of a task: it may depend on the run, never on the try or the time of day.
    :param table: instead of the job file's; with `cluster` it names the asset that a success updates.
    :param cluster: the name of the HBase cluster in the asset hbase://CLUSTER/TABLE.
    :param state: where jobs have their state: hbase:TABLE, which all workers reach, or a directory. With several workers
        and a directory the task must always run on the same one (`queue`).
    :param args: further arguments of `bulkload run`.
    :param env: further environment variables; those of the worker stay.
    :param program: the program, a path or a name on PATH.
    """

    template_fields = ("job", "inputs", "date", "job_id", "state", "args", "env")
    ui_color = "#e8f0d8"
    _process = None

    def __init__(self, *, job, inputs=(), date=None, job_id=None, table=None, cluster="hbase", state=None, args=(),
                 env=None, program="bulkload", **kwargs):
        if table:
            kwargs["outlets"] = [*(kwargs.get("outlets") or ()), Asset(f"hbase://{cluster}/{table}")]
        super().__init__(**kwargs)
        self.job, self.inputs, self.date, self.job_id, self.table = job, inputs, date, job_id, table
        self.state, self.args, self.env, self.program = state, args, env, program

    def command(self):
        """The program's arguments: a list, which no shell sees."""
        flags = {"--job": self.job, "--table": self.table, "--date": self.date, "--job-id": self.job_id,
                 "--state": self.state}
        inputs = [self.inputs] if isinstance(self.inputs, str) else self.inputs
        return [self.program, "run", "--output=json", "--skip-exit-code", *(f"{k}={v}" for k, v in flags.items() if v),
                *(f"--input={i}" for i in inputs), *self.args]

    def execute(self, context):
        argv = self.command()
        self.log.info("running %s", shlex.join(argv))
        # A session of its own: on_kill alone stops the program. A second SIGTERM, by Airflow's to the whole process
        # group, would end it at once.
        process = self._process = subprocess.Popen(
            argv, env={**os.environ, "BULKLOAD_LOG_FORMAT": "json", **(self.env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        results, errors = deque(maxlen=1), deque(maxlen=1)
        # Only threads wait, so that on_kill, which a signal handler calls in the middle of this, can wait too.
        self._threads = [Thread(target=target, args=args, daemon=True) for target, args in (
            (results.extend, (process.stdout,)), (self._relay, (process.stderr, errors)), (process.wait, ()))]
        for thread in self._threads:
            thread.start()
        try:
            for thread in self._threads:
                thread.join()
        except BaseException:  # a time limit or a kill, raised by a signal handler
            self.on_kill()
            raise
        try:
            result = json.loads(results[-1])
        except (IndexError, ValueError):  # the program was killed, or failed before it knew what to do
            result = {}
        return self._outcome(process.returncode, result, errors[-1] if errors else "", context)

    def _outcome(self, code, result, last, context):
        if code == 0 or code == ALREADY and context["ti"].try_number > 1:
            return result  # an earlier try may have done it, and Airflow did not hear of it
        if code == ALREADY:
            context["ti"].xcom_push(key="return_value", value=result)
            raise AirflowSkipException("the job was done by an earlier run")
        ended = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        message = f"bulkload {ended}: {result.get('error') or last or 'it gave no reason'}"
        raise (AirflowFailException if code in FATAL else AirflowException)(message)

    def _relay(self, lines, errors):
        """Gives each line of standard error to the task's log: JSON by its level, other lines as they are."""
        for line in map(str.rstrip, lines):
            try:
                entry = json.loads(line)
                level, message = logging.getLevelName(entry.pop("level")), entry.pop("msg")
                entry.pop("time", None)
                message = " ".join([message, *(f"{k}={v}" for k, v in entry.items())])
            except (ValueError, KeyError, TypeError, AttributeError):
                level, message = logging.INFO, line
            errors.append(message)
            self.log.log(level if isinstance(level, int) else logging.WARNING, "%s", message)

    def on_kill(self):
        process, self._process = self._process, None  # one signal only, however often this is called
        if process is None or process.returncode is not None:
            return
        self.log.info("stopping bulkload, process %d", process.pid)
        process.send_signal(signal.SIGTERM)
        self._threads[-1].join(STOP_SECONDS)
        if process.returncode is None:
            self.log.warning("bulkload has not stopped within %d s, killing it", STOP_SECONDS)
            process.kill()
