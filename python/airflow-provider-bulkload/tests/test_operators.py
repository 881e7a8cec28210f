"""Tests of the operators without Airflow: of its classes there are stand-ins, and of the program too."""

import asyncio
import errno
import importlib
import json
import logging
import os
import pathlib
import signal
import socket
import stat
import sys
import tempfile
import time
import types
import unittest
from datetime import datetime, timezone
from unittest import mock

# The program: it counts its starts, and ends as the plan says for each of them, by an exit code. The word "wait" before it waits for a line in
# the pipe, or for SIGTERM.
PROGRAM = """#!{python}
import json, os, pathlib, signal, sys
here = pathlib.Path({here!r})
starts = len((here / "starts").read_text().split()) + 1 if (here / "starts").exists() else 1
(here / "starts").write_text("x " * starts)
plan = json.loads((here / "plan").read_text())[starts - 1].split()
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
print("start", starts, file=sys.stderr, flush=True)
if plan[0] == "wait":
    (here / "pipe").read_text()
if plan[-1] in ("0", "99"):
    print(json.dumps({{"start": starts, **({{"done_at": plan[0]}} if "T" in plan[0] else {{}})}}), flush=True)
os._exit(int(plan[-1]))
"""


class Deferred(Exception):
    """What a task raises that gives its slot back."""


def airflow_modules():
    """The modules of Airflow 3 that the provider imports."""

    class BaseOperator:
        execution_timeout = None

        def __init__(self, *, task_id, **kwargs):
            self.task_id, self.outlets = task_id, kwargs.get("outlets")
            self.log = logging.getLogger("task")

        def defer(self, *, trigger, method_name):
            raise Deferred(trigger.serialize()[1]["directory"], method_name)

    class Plain:
        def __init__(self, *args, **kwargs):
            self.log = logging.getLogger("task")

    def module(name, **members):
        found = types.ModuleType(name)
        vars(found).update(members)
        return found

    def failure(name, base=Exception):
        return type(name, (base,), {})

    base = failure("AirflowException")
    errors = {name: failure(name, base) for name in ("AirflowFailException", "AirflowSkipException", "AirflowTaskTimeout")}
    conf = types.SimpleNamespace(getboolean=lambda *_, fallback: fallback)
    plain = {name: type(name, (Plain,), {}) for name in ("Asset", "BaseHook", "BaseOperatorLink", "BaseSensorOperator", "PokeReturnValue")}
    return {m.__name__: m for m in (
        module("airflow"), module("airflow.configuration", conf=conf), module("airflow.sdk", BaseOperator=BaseOperator, **plain),
        module("airflow.sdk.exceptions", AirflowException=base, **errors), module("airflow.triggers"),
        module("airflow.triggers.base", BaseTrigger=type("BaseTrigger", (Plain,), {}), TriggerEvent=Plain))}


sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "src"))
with mock.patch.dict(sys.modules, airflow_modules()):
    operators = importlib.import_module("airflow_provider_bulkload.operators")
    sensors = importlib.import_module("airflow_provider_bulkload.sensors")
    process = importlib.import_module("airflow_provider_bulkload.process")


class Listener(logging.Handler):
    """Calls a function, once, when the log has a text."""

    def __init__(self, text, then):
        super().__init__()
        self.text, self.then = text, then

    def emit(self, record):
        if self.text in record.getMessage() and self.then:
            then, self.then = self.then, None
            then()


class Inputs(unittest.TestCase):
    def test_empty_list(self):
        """A search that found nothing does not become the inputs of the job file."""
        run, compare = operators.BulkloadRunOperator, operators.BulkloadCompareOperator
        for inputs, flags in ((None, []), ("a", ["--input=a"]), (["a", "b"], ["--input=a", "--input=b"]), ([], None), ((), None)):
            for operator in (run(task_id="t", job="j", inputs=inputs), compare(task_id="t", a="a", b="b", inputs=inputs)):
                if flags is None:
                    self.assertRaisesRegex(operators.AirflowFailException, "inputs is empty", operator.command)
                else:
                    self.assertEqual([a for a in operator.command() if a.startswith("--input")], flags)


class Assets(unittest.TestCase):
    def test_replace(self):
        """A load in the place of a table updates the asset of its table, the drop of the old table none."""
        for table, into, old, assets in (("a", None, None, 1), ("a", "b", None, 1), (None, "b", "a", 0), ("a", "b", "a", 0)):
            operator = operators.BulkloadReplaceOperator(task_id="t", job="j", table=table, into=into, drop_old=old)
            self.assertEqual(len(operator.outlets or ()), assets, (table, into, old))


class Start(unittest.TestCase):
    def test_disk_full(self):
        """A program whose process is not known, because the file with it could not be written, is stopped."""
        with tempfile.TemporaryDirectory() as directory:
            run = process.Run(pathlib.Path(directory) / "run")
            with mock.patch.object(process, "SUPERVISE", 'shift; "$@" & wait $!'), mock.patch.object(process, "START_SECONDS", 0.2):
                self.assertRaisesRegex(OSError, "the program is stopped", run.start, ["sleep", "600"], os.environ)
            self.assertEqual(run._shell.wait(60), -signal.SIGKILL)
            run.started()  # of a kill: it does not wait for the shell that has ended


class Tries(unittest.TestCase):
    """Several tries of one task on one host."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.program = self.dir / "bulkload"
        self.program.write_text(PROGRAM.format(python=sys.executable, here=str(self.dir)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)
        os.mkfifo(self.dir / "pipe")
        patch = mock.patch.dict(os.environ, {"AIRFLOW_HOME": str(self.dir / "airflow")})
        patch.start()
        self.addCleanup(patch.stop)
        logging.getLogger("task").setLevel(logging.INFO)
        self.tries = 0

    def plan(self, *ends):
        (self.dir / "plan").write_text(json.dumps(ends))

    def starts(self):
        return len((self.dir / "starts").read_text().split())

    def attempt(self, run_id="scheduled__2026-11-20", **more):
        """The operator and the context of the task's next try."""
        self.tries += 1
        ti = types.SimpleNamespace(dag_id="d", run_id=run_id, task_id="load", map_index=-1, try_number=self.tries, xcom_push=mock.Mock())
        return operators.BulkloadRunOperator(task_id="load", program=str(self.program), **{"date": "20261120", **more}), {"ti": ti}

    def when(self, text, then):
        """Has a function called when the log has a text."""
        log = logging.getLogger("task")
        listener = Listener(text, then)
        log.addHandler(listener)
        self.addCleanup(log.removeHandler, listener)

    def dies(self, **more):
        """A try whose worker dies while the program works."""
        op, context = self.attempt(**more)
        return op._open(context)

    def ended(self, **more):
        """A try whose worker dies, and whose program ends later."""
        run = self.dies(**more)
        run._shell.wait(60)
        self.assertIsNotNone(run.exit_code)

    def release(self):
        """Gives the program its line, once it reads the pipe."""
        until = time.monotonic() + 60
        while True:
            try:
                pipe = os.open(self.dir / "pipe", os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError as e:
                if e.errno != errno.ENXIO or time.monotonic() > until:
                    raise
            time.sleep(0.01)
        os.write(pipe, b"\n")
        os.close(pipe)

    def execute(self, **more):
        op, context = self.attempt(**more)
        return op.execute(context)

    def test_stopped_with_the_try_before(self):
        """A program that a signal for an earlier try ends is started again, once."""
        for code in ("129", "130", "143"):
            with self.subTest(code):
                self.setUp()
                self.plan("wait " + code, "0")
                self.dies()
                self.when("of an earlier try is still running", self.release)
                self.assertEqual(self.execute(), {"start": 2})

    def test_stopped_and_taken(self):
        """The try before, which is killed, may take the files of the program first: it is started again all the same."""
        self.plan("wait 143", "0")
        first = self.dies()

        def taken():
            self.release()
            first._shell.wait(60)
            first.remove()

        self.when("of an earlier try is still running", taken)
        self.assertEqual(self.execute(), {"start": 2})

    def test_killed_with_a_try_after(self):
        """A try that is killed leaves the files of a program to the try that waits for it."""
        self.plan("wait 0", "0")
        op, context = self.attempt()

        def killed():
            operators.Run(op._run.directory).join()
            op.on_kill()

        self.when("start 1", killed)
        directory = []
        self.when("stopping bulkload", lambda: directory.extend((self.dir / "airflow").rglob("joined")))
        with self.assertRaisesRegex(operators.AirflowException, "ended with exit code 143|was killed by SIGTERM"):
            op.execute(context)
        self.assertTrue(directory and directory[0].parent.exists())

    def test_stopped_twice(self):
        """One that is stopped again fails the try: the next one is Airflow's to start."""
        self.plan("wait 143", "143", "0")
        self.dies()
        self.when("of an earlier try is still running", self.release)
        with self.assertRaisesRegex(operators.AirflowException, "ended with exit code 143|was killed by SIGTERM"):
            self.execute()
        self.assertEqual(self.starts(), 2)

    def test_failed_with_the_try_before(self):
        """One that fails by itself is not started again by the try that has waited for it."""
        self.plan("wait 7", "0")
        self.dies()
        self.when("of an earlier try is still running", self.release)
        with self.assertRaisesRegex(operators.AirflowException, "exit code 7"):
            self.execute()
        self.assertEqual(self.starts(), 1)

    def test_killed_itself(self):
        """A try that is killed while it waits starts nothing: Airflow 3 calls on_kill from a signal handler, and the task continues."""
        self.plan("wait 0", "0")
        self.dies()
        op, context = self.attempt()
        self.when("start 1", op.on_kill)
        with self.assertRaisesRegex(operators.AirflowException, "ended with exit code 143|was killed by SIGTERM"):
            op.execute(context)
        self.assertEqual(self.starts(), 1)

    def test_killed_while_it_starts(self):
        """A kill stops a program that its shell is starting: a time limit raises, and Airflow 3 calls on_kill from a signal handler."""
        sleep = time.sleep
        for raises in (True, False):
            with self.subTest(raises=raises):
                self.setUp()
                self.plan("wait 0")
                op, context = self.attempt()
                found = []

                def killed(seconds, op=op, raises=raises, found=found):
                    if not found:
                        found.extend((self.dir / "airflow").glob("bulkload/*"))
                        if raises:
                            raise operators.AirflowTaskTimeout("late")
                        op.on_kill()
                    sleep(seconds)

                with mock.patch("time.sleep", killed), self.assertRaises(operators.AirflowException):
                    op.execute(context)
                self.assertEqual(len(found), 1)
                self.assertFalse(operators.Run(found[0]).alive)

    def test_deferred_is_the_triggers(self):
        """A worker that shuts down after the deferral does not stop the program, which is the trigger's by then."""
        self.plan("wait 0")
        op, context = self.attempt(deferrable=True)
        with self.assertRaises(Deferred) as deferred:
            op.execute(context)
        with mock.patch.object(operators.Run, "stop") as stop:
            op.on_kill()
        stop.assert_not_called()
        self.release()
        run, until = operators.Run(deferred.exception.args[0]), time.monotonic() + 60
        while run.exit_code is None and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(run.exit_code, 0)

    def test_no_process(self):
        """The files may go while a process is stopped: then no signal is sent, least of all to the caller's own group."""
        run = operators.Run(self.dir / "run")
        with mock.patch("os.kill") as kill, mock.patch.object(operators.Run, "alive", True):
            run.stop()
        kill.assert_not_called()

    def test_stopped_and_deferred(self):
        """A deferred try that gets such an outcome defers again, with a new process."""
        self.plan("wait 143", "0")
        first = self.dies()
        op, context = self.attempt(deferrable=True)
        with self.assertRaises(Deferred):
            op.execute(context)
        self.release()
        first._shell.wait(60)
        op, _ = self.attempt(deferrable=True)
        with self.assertRaises(Deferred) as deferred:
            op.resume(context, {"directory": str(first.directory), "late": False})
        self.assertEqual(deferred.exception.args, (str(first.directory), "resume"))
        op, _ = self.attempt(deferrable=True)
        self.assertEqual(op.resume(context, {"directory": str(first.directory), "late": False}), {"start": 2})

    def test_outcome_of_a_dead_worker(self):
        """A success that no try has heard of is the outcome of the next one, and of no further one."""
        for code in ("0", "99"):
            for deferrable in (False, True):
                with self.subTest(code, deferrable=deferrable):
                    self.setUp()
                    self.plan(code, "0")
                    self.ended()
                    self.assertEqual(self.execute(deferrable=deferrable), {"start": 1})
                    self.assertEqual(self.execute(), {"start": 2})  # the task was cleared

    def test_cleared(self):
        """A job that was done before the run of the DAG could begin makes each try skipped; one that was done later may be the work of a try."""
        due, started = datetime(2026, 11, 20, 2, tzinfo=timezone.utc), datetime(2026, 11, 20, 3, tzinfo=timezone.utc)
        for done, times, skipped in (
            ("2026-11-20T01:59:59.5Z", {"run_after": due, "start_date": started}, True),
            ("2026-11-20T01:59:59Z", {"data_interval_end": due}, True),
            ("2026-11-20T02:00:01.123456789Z", {"run_after": due, "start_date": started}, False),
            ("2026-11-20T02:30:00Z", {"run_after": started, "start_date": due}, False),
            ("2026-11-20T01:00:00Z", {}, False),
        ):
            with self.subTest(done):
                self.setUp()
                self.plan(done + " 99", done + " 99")
                for cleared in (False, True):
                    op, context = self.attempt()
                    context["dag_run"] = types.SimpleNamespace(**times)
                    if skipped or not cleared:
                        self.assertRaises(operators.AirflowSkipException, op.execute, context)
                    else:
                        self.assertEqual(op.execute(context), {"start": 2, "done_at": done})

    def test_outcome_of_others(self):
        """A failure is no outcome of a later try, nor is that of another command or of another run of the DAG."""
        self.plan("7", "0", "0", "0")
        self.ended()
        self.assertEqual(self.execute(), {"start": 2})
        self.ended()
        self.assertEqual(self.execute(run_id="manual"), {"start": 4})
        self.plan("0", "0", "0", "0", "0")
        self.assertEqual(self.execute(date="20261121"), {"start": 5})

    def test_no_signal(self):
        """An exit code above 128 that is no signal's is given as it is."""
        for code, want in (("255", "ended with exit code 255: start 1"), ("137", "was killed by SIGKILL: start 1")):
            self.setUp()
            self.plan(code)
            with self.assertRaisesRegex(operators.AirflowException, want):
                self.execute()

    def test_late_elsewhere(self):
        """A task that is late, and resumes where its program is not, says that the program was not stopped."""
        elsewhere = operators.Run(self.dir / "run")
        elsewhere.directory.mkdir()
        (elsewhere.directory / "pids").write_text(f"{os.getpid()} {os.getpid()}")
        op, context = self.attempt()
        with self.assertLogs("task", "WARNING") as log, self.assertRaises(operators.AirflowTaskTimeout):
            op.resume(context, {"directory": str(elsewhere.directory), "late": True})
        self.assertIn("is not on this host", log.output[0])

    def test_late(self):
        """A trigger stops a program that is over the time limit: Airflow 2 does not resume the task then. It gets one signal in all."""
        self.plan("wait 0")
        run = self.dies()
        signals = []
        send = operators.Run.send

        def seen(run, number):
            signals.append(number)
            send(run, number)

        async def events(trigger):
            return [event async for event in trigger.run()]

        with mock.patch.object(operators.Run, "send", seen):
            self.assertEqual(len(asyncio.run(events(self.trigger(run, deadline=1)))), 1)
            self.assertEqual(len(signals), 1)
            operators.Run(run.directory).stop()
        run._shell.wait(60)
        self.assertEqual(run.exit_code, 143)
        self.assertEqual(len(signals), 1)

    def trigger(self, run, **more):
        return operators.BulkloadTrigger(**{"directory": str(run.directory), "host": socket.gethostname(), "pid": run.pid, "program": "bulkload",
                                            "env": {"BULKLOAD_STATE": "hbase:states"}, "deadline": None, **more})

    def test_between_directories(self):
        """A run by directories has no job that works between two of them: on another host, that is not its end unless it lasts."""
        trigger = self.trigger(types.SimpleNamespace(directory=self.dir / "nowhere", pid=7), host="elsewhere")
        other = {"host": "elsewhere", "pid": 8, "state": "running"}
        done, works = ({"host": "elsewhere", "pid": 7, "state": state} for state in ("done", "running"))
        for after, jobs, over in ((0, [other, works], False), (5, [other, done], False), (10, [done, works], False), (15, [done, done], False),
                                  (40, [done, done, works], False), (45, [other, done], False), (80, [other, done], True)):
            with self.subTest(after), mock.patch.dict(trigger._at_work.__globals__, ask=lambda *_, jobs=jobs: (0, {"jobs": jobs})), \
                    mock.patch("time.monotonic", return_value=1000.0 + after):
                self.assertEqual(trigger._over(), over)

    def test_line_ends_in_texts(self):
        """JSON leaves some characters as they are that Python takes for ends of lines."""
        run = operators.Run(self.dir / "run")
        run.directory.mkdir()
        for name in ("stdout", "event"):
            (run.directory / name).write_text('{"first": 1}\n{"job_id": "a\x85b\u2028c"}\n', encoding="utf-8")
        self.assertEqual(run.result(), {"job_id": "a\x85b\u2028c"})
        self.assertEqual(operators.lineage.final_event(run.directory / "event"), run.result())
        self.assertEqual(operators.lineage.final_event(run.directory / "none"), {})

    def test_full_disk(self):
        """A disk without room for how much of the log was given stops no load; its lines are given once there is room."""
        self.plan("0")
        run = self.dies()
        run._shell.wait(60)
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch.object(pathlib.Path, "write_text", side_effect=full):
            self.assertEqual(list(run.lines()), [])
            self.assertEqual(self.execute(), {"start": 1})
        self.assertEqual(self.starts(), 1)

    def test_sensor(self):
        """Of the jobs of a table, those that load into it count."""
        sensor = sensors.BulkloadJobSensor(task_id="wait", table="t", job_id="night")
        done = {"table": "t", "job_id": "night", "state": "done"}
        for job, fits in ((done, True), ({**done, "command": "run"}, True), ({**done, "command": "load"}, True), ({**done, "table": "default:t"}, True),
                          ({**done, "table": "main", "tables": [{"table": "main"}, {"table": "t"}]}, True),
                          ({**done, "table": "main", "tables": [{"table": "main"}, {"table": "u"}]}, False),
                          ({**done, "command": "export"}, False), ({**done, "command": "compare"}, False), ({**done, "table": "u"}, False)):
            with self.subTest(job):
                self.assertEqual(sensor._fits(job), fits)


if __name__ == "__main__":
    unittest.main()
