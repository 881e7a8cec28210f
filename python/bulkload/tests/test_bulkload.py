"""Tests of the package with the real program, and of its jobs on a real cluster where HADOOP_CONF_DIR names one.

TESTDATA is the directory of examples and testdata (default: this checkout), TABLES what the names of tables begin with, WITHOUT_FRAMES leaves out data frames,
STOPS says that the program knows BULKLOAD_TEST_STOP_AFTER.
"""

import csv
import errno
import importlib.util
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import bulkload
from bulkload import _commands

TOP = pathlib.Path(os.environ.get("TESTDATA") or pathlib.Path(__file__).parents[3])
JOB = TOP / "examples/check.yaml"
CSV = TOP / "testdata/exports/check.csv"
TABLES = os.environ.get("TABLES", f"python_{os.getpid()}_")
ARROW = "WITHOUT_FRAMES" not in os.environ and importlib.util.find_spec("pyarrow") is not None
FRAMES = [m for m in ("pyarrow", "pandas", "polars") if ARROW and importlib.util.find_spec(m)]


def records():
    with open(CSV, newline="") as f:
        return list(csv.DictReader(f))


def frame_of(module, rows):
    """A frame of text columns; an empty text is not a value, as in CSV."""
    columns = {name: [row[name] or None for row in rows] for name in rows[0]}
    if module == "pyarrow":
        return importlib.import_module(module).table(columns)
    if module == "pandas":  # with an index, which is not a column
        return importlib.import_module(module).DataFrame(columns, index=[f"i{i}" for i in range(len(rows))])
    return importlib.import_module(module).DataFrame(columns)


def open_pipe(fifo, reader):
    """A named pipe for writing, once a process reads it. One that ends before, or does not read in time, is an error."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            pipe = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            os.set_blocking(pipe, True)
            return open(pipe, "w")
        except OSError as e:
            if e.errno != errno.ENXIO:
                raise
        try:
            raise AssertionError(f"the reader has ended with {reader.wait(0.02)} before it has read the pipe")
        except subprocess.TimeoutExpired:
            pass
    reader.kill()
    raise AssertionError("the pipe was not read in time")


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def build(self, **flags):
        return bulkload.call("build", **{"job": JOB, "input": CSV, "out": self.dir / "hfiles", "splits": "1,2,3,4,5,6,7,8,9", **flags})


class Program(Case):
    def test_is_the_module(self):
        out = [subprocess.run([*argv, "version"], check=True, capture_output=True, text=True).stdout
               for argv in ([bulkload.find_bulkload_bin()], [sys.executable, "-m", "bulkload"])]
        self.assertEqual(out[0], out[1])
        self.assertTrue(out[0].startswith("bulkload "), out[0])

    def test_is_that_of_the_package(self):
        """The program that was installed with the package comes before those of other installations: they may be of other versions."""
        places = {name: self.dir / name for name in ("scripts", "user", "target/bin", "site", "usersite")}
        for path in places.values():
            path.mkdir(parents=True)
            (path / "bulkload").touch(0o755)
        paths = {("scripts", None): "scripts", ("scripts", "user"): "user", ("purelib", "user"): "usersite"}

        def get_path(name, scheme=None):
            return str(self.dir / paths[name, scheme and "user"])

        for package, want in (("target", "target/bin"), ("site", "scripts"), ("usersite", "user")):
            with self.subTest(package), unittest.mock.patch("sysconfig.get_path", get_path), \
                    unittest.mock.patch.object(bulkload._process, "__file__", str(self.dir / package / "bulkload/_process.py")):
                self.assertEqual(bulkload.find_bulkload_bin(), str(places[want] / "bulkload"))

    def test_result_and_log(self):
        with self.assertLogs("bulkload", "INFO") as log:
            result = self.build()
        self.assertEqual((result["status"], result["exit_code"], result["hfiles"]), ("done", 0, 10))
        self.assertEqual(result["manifest"]["records"], len(records()))
        self.assertTrue(all(r.levelname == "INFO" for r in log.records), log.output)

    def test_errors(self):
        bad = self.dir / "bad.csv"
        bad.write_text(CSV.read_text().partition("\n")[0] + "\n1,2\n")
        for error, flags in ((bulkload.ConfigError, {"memory": "many"}), (bulkload.InputError, {"input": self.dir / "none.csv"}),
                             (bulkload.BadRowsError, {"input": bad}), (bulkload.ConfigError, {"no_such_flag": True})):
            with self.assertRaises(error) as raised:
                self.build(**flags)
            e = raised.exception
            self.assertIsInstance(e, bulkload.BulkloadError)
            self.assertEqual((e.kind, e.code, e.retry), (e.result["error_kind"], e.result["exit_code"], False))
            self.assertIn(e.message, str(e))
            self.assertTrue(e.message)

    def test_a_program_that_is_killed(self):
        fifo = self.dir / "in.csv"
        os.mkfifo(fifo)
        with bulkload._process.Process(_commands._args("build", (), {"job": JOB, "salt_buckets": 10, "input": fifo, "out": self.dir / "hfiles"})) as process:
            with open_pipe(fifo, process._popen):
                process._popen.kill()
                with self.assertRaises(bulkload.UnexpectedError) as raised:
                    process.end()
        self.assertEqual(raised.exception.code, -signal.SIGKILL)
        self.assertIn("SIGKILL", str(raised.exception))

    def stand_in(self, text):
        """Has a program of Python take the place of the real one."""
        program = self.dir / "program"
        program.write_text(f"#!{sys.executable}\nimport os, signal, sys\n{text}\n")
        program.chmod(0o755)
        patch = unittest.mock.patch.object(bulkload._process, "find_bulkload_bin", lambda: str(program))
        patch.start()
        self.addCleanup(patch.stop)

    def test_rows_of_a_program_that_is_killed(self):
        """A row is no result: its column "error" is not the reason."""
        self.stand_in("""for _ in "12": print('{"rowkey": "a", "error": "of a row"}', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)""")
        with self.assertRaises(bulkload.UnexpectedError) as raised:
            list(bulkload.scan(JOB))
        self.assertEqual((raised.exception.code, raised.exception.result), (-signal.SIGKILL, {}))
        self.assertEqual(str(raised.exception), "bulkload was killed by SIGKILL: it gave no reason")
        self.assertEqual(str(bulkload.UnexpectedError(-99, "why", {})), "bulkload was killed by signal 99: why")

    def test_log_handler_that_fails(self):
        """A handler of the log that fails does not stop the program, which would wait for a reader of its log."""
        self.stand_in("""for i in range(3000): print(i, "x" * 100, file=sys.stderr)\nprint('{"status": "done"}')""")
        handler = logging.Handler()
        handler.emit = unittest.mock.Mock(side_effect=RuntimeError("full"))
        log = logging.getLogger("bulkload")
        log.addHandler(handler)
        self.addCleanup(log.removeHandler, handler)
        self.addCleanup(log.setLevel, log.level)
        log.setLevel(logging.INFO)
        with unittest.mock.patch.object(bulkload._process, "STOP_SECONDS", 1), unittest.mock.patch.object(threading, "excepthook"):
            timer = threading.Timer(20, os.kill, [os.getpid(), signal.SIGINT])
            self.addCleanup(timer.cancel)
            timer.start()
            try:
                self.assertEqual(bulkload.call("version"), {"status": "done"})
            except KeyboardInterrupt:
                self.fail("the program waits for a reader of its log")

    def test_fork(self):
        """A process that was forked leaves the program and its pipes to its parent."""
        self.stand_in("""print('{"rowkey": "a"}\\n' * 9, '{}', sep="", flush=True)\nsys.stdin.close()""")
        rows = bulkload.scan(JOB)
        next(rows)
        child = os.fork()
        if not child:
            signal.alarm(20)
            del rows
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(sum(1 for _ in rows), 8)

    def test_ctrl_c(self):
        """Ctrl-C stops the program, which removes what it has made, and is raised."""
        fifo, spill = self.dir / "in.csv", self.dir / "spill"
        os.mkfifo(fifo)
        spill.mkdir()
        script = "import bulkload, sys\nbulkload.call('build', job=sys.argv[1], salt_buckets=10, input=sys.argv[2], out=sys.argv[3], spill_dir=sys.argv[4])"
        caller = subprocess.Popen([sys.executable, "-c", script, JOB, fifo, self.dir / "hfiles", spill], stderr=subprocess.PIPE, text=True)
        with open_pipe(fifo, caller) as pipe:  # waits for the program to read
            pipe.write("id,check_id\n")
            pipe.flush()
            caller.send_signal(signal.SIGINT)
            _, errors = caller.communicate(timeout=60)
            with self.assertRaises(OSError, msg="the program still reads"):
                os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        self.assertEqual(caller.returncode, -signal.SIGINT, errors)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["in.csv", "spill"])
        self.assertEqual(list(spill.iterdir()), [])

    def test_ctrl_c_while_the_program_starts(self):
        """Ctrl-C in the middle of Popen stops the program, too, and is raised afterwards."""
        fifo, started = self.dir / "in.csv", []
        os.mkfifo(fifo)

        class Interrupted(subprocess.Popen):
            def __init__(self, *args, **options):
                super().__init__(*args, **options)
                started.append(self)
                signal.raise_signal(signal.SIGINT)

        with unittest.mock.patch.object(subprocess, "Popen", Interrupted), self.assertRaises(KeyboardInterrupt):
            bulkload.call("build", job=JOB, salt_buckets=10, input=fifo, out=self.dir / "hfiles")
        running = started[0].returncode is None
        started[0].kill()
        started[0].wait(60)
        self.assertFalse(running, "the program still runs")
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_frames_need_a_job_id(self):
        for flags in ({}, {"input": CSV, "job_id": "x"}):
            with self.assertRaises(ValueError):
                bulkload.run(JOB, frame=object(), **flags)

    def test_no_inputs(self):
        """A pattern that fits no file does not become the inputs of the job file."""
        for inputs in ([], ()):
            self.assertRaisesRegex(ValueError, "input is an empty list", bulkload.run, JOB, input=inputs)

    @unittest.skipUnless(ARROW, "needs pyarrow")
    def test_small_batches(self):
        """A stream of small batches takes no time that grows with the square of their number."""
        from bulkload import _frames
        pa = importlib.import_module("pyarrow")
        batch = pa.record_batch({"id": ["1"]})
        calls = []
        with open(os.devnull, "wb") as null:
            sys.setprofile(lambda _, event, __: calls.append(event))
            self.addCleanup(sys.setprofile, None)
            _frames.write(pa.RecordBatchReader.from_batches(batch.schema, [batch] * 300), null)
            sys.setprofile(None)
        self.assertLess(calls.count("call"), 3000)

    @unittest.skipUnless("pandas" in FRAMES, "needs pandas")
    def test_index_of_a_subclass(self):
        """The index is not a column, nor is that of a class of others, such as a frame of geopandas."""
        from bulkload import _frames
        frame = type("Frame", (importlib.import_module("pandas").DataFrame,), {})({"id": ["1"]}, index=["i"])
        self.assertEqual(_frames.reader(frame).schema.names, ["id"])

    @unittest.skipUnless(ARROW, "needs pyarrow")
    def test_frame_that_fails(self):
        """No part of a frame becomes a file, and the error is that of the frame."""
        pa = importlib.import_module("pyarrow")
        table = frame_of("pyarrow", records())

        def batches():
            yield from table.to_batches()
            raise RuntimeError("lost the source")

        reader = pa.RecordBatchReader.from_batches(table.schema, batches())
        with self.assertRaisesRegex(RuntimeError, "lost the source"):
            _commands._call("build", frame=reader, job=JOB, salt_buckets=10, input="-", out=self.dir / "hfiles", spill_dir=self.dir)
        self.assertEqual(list(self.dir.iterdir()), [])
        whole = pa.BufferOutputStream()
        importlib.import_module("pyarrow.parquet").write_table(table, whole)
        args = _commands._args("build", (), {"job": JOB, "salt_buckets": 10, "input": "-", "out": self.dir / "hfiles"})
        with bulkload._process.Process(args, fed=True) as process:  # what the program gets of a Python that is killed
            process.stdin.write(whole.getvalue().to_pybytes()[:-1000])
            process.stdin.close()
            with self.assertRaises(bulkload.InputError):
                process.end()
        self.assertEqual(list(self.dir.iterdir()), [])
        with self.assertRaises(bulkload.ConfigError):  # which the program says before it has read the frame
            _commands._call("build", frame=table, job=JOB, salt_buckets=10, input="-", out=self.dir / "hfiles", memory="many")


@unittest.skipUnless(os.environ.get("HADOOP_CONF_DIR"), "needs a cluster")
class Cluster(Case):
    def table(self, name):
        bulkload.call("table create", TABLES + name, salts=10)
        return TABLES + name

    def setUp(self):
        super().setUp()
        self.flags = {"verify": "full", "state": self.dir / "state"}

    def test_files_in_rows_out(self):
        table, want = self.table("files"), records()
        result = bulkload.run(JOB, input=CSV, table=table, **self.flags)
        self.assertEqual((result["status"], result["table"], result["attempt"]), ("done", table, 1))
        self.assertEqual(result["manifest"]["digest"], result["verify"]["got"])
        self.assertEqual(result["manifest"]["records"], len(want))
        self.assertEqual(bulkload.run(JOB, input=CSV, table=table, **self.flags)["status"], "already")

        rows = list(bulkload.scan(JOB, table=table))
        self.assertEqual(sorted(r["id"] for r in rows), sorted(r["id"] for r in want))
        for row, record in zip(sorted(rows, key=lambda r: r["id"]), sorted(want, key=lambda r: r["id"])):
            self.assertEqual({k: v for k, v in row.items() if k != "rowkey"}, {k: v for k, v in record.items() if v})
        one = want[0]["check_id"]
        self.assertEqual(sorted(r["id"] for r in bulkload.get(JOB, one, table=table)), sorted(r["id"] for r in want if r["check_id"] == one))

        pages, page = [], None
        while page is None or page:
            with bulkload.scan(JOB, table=table, limit=400, page=page) as some:
                pages += some
            page = some.result.get("next_page", "")
        self.assertEqual([r["rowkey"] for r in pages], [r["rowkey"] for r in bulkload.scan(JOB, table=table)])

        with bulkload.scan(JOB, table=table) as some:  # the program is stopped when no more rows are wanted
            first = next(some)
        self.assertEqual(first, pages[0])
        self.assertEqual(list(some), [])
        with self.assertRaises(bulkload.CheckError):
            next(bulkload.scan(JOB, table=table + "_none"))

        bulkload.undo(result["job"], state=self.dir / "state")
        self.assertEqual(list(bulkload.scan(JOB, table=table)), [])
        if ARROW:
            with self.assertRaises(bulkload.BulkloadError):
                bulkload.read(table + "_none", JOB)

    @unittest.skipUnless("STOPS" in os.environ, "needs a program that ends after a record of its journal")
    def test_read_that_dies(self):
        """A read whose program ends after its first region has no job and no files left; TestPython looks for its snapshot."""
        table = self.table("dies")
        bulkload.run(JOB, input=CSV, table=table, **self.flags)
        with unittest.mock.patch.dict(os.environ, {"BULKLOAD_TEST_STOP_AFTER": "exported", "TMPDIR": str(self.dir / "tmp")}), \
                unittest.mock.patch.object(_commands._frames, "arrow"), unittest.mock.patch.object(_commands, "_clean", wraps=_commands._clean) as clean:
            (self.dir / "tmp").mkdir()
            self.addCleanup(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = None
            with self.assertRaises(bulkload.UnexpectedError):
                bulkload.read(table, JOB)
            clean.assert_called_once()
            self.assertEqual(list((self.dir / "tmp").iterdir()), [])

    def test_hfiles(self):
        table = self.table("hfiles")
        self.build(table=table)
        result = bulkload.load(self.dir / "hfiles", table=table)
        self.assertEqual((result["status"], result["regions"]), ("done", 10))
        self.assertEqual(sum(1 for _ in bulkload.scan(JOB, table=table)), len(records()))

    @unittest.skipUnless(ARROW, "needs pyarrow")
    def test_frames(self):
        """The frames of all libraries give the rows that the file gives, and come back."""
        rows, table = records(), self.table("file")
        bulkload.run(JOB, input=CSV, table=table, **self.flags)
        want = list(bulkload.scan(JOB, table=table))
        for module in FRAMES:
            with self.subTest(module):
                table, frame = self.table(module), frame_of(module, rows)
                again = {"table": table, "job_id": "day-1", "empty": "skip", **self.flags}
                self.assertEqual(bulkload.run(JOB, frame=frame, **again)["status"], "done")
                self.assertEqual(list(bulkload.scan(JOB, table=table)), want)
                self.assertEqual(bulkload.run(JOB, frame=frame, **again)["status"], "already")
                with self.assertRaises(bulkload.InputError):  # another frame of this job_id
                    bulkload.run(JOB, frame=frame_of(module, rows[1:]), **again)
                back = bulkload.read(table, JOB).to_pylist()
                self.assertEqual(sorted(r["id"] for r in back), sorted(r["id"] for r in rows))
                self.assertEqual({r["id"]: r["check_id"] for r in back}, {r["id"]: r["check_id"] for r in rows})


if __name__ == "__main__":
    unittest.main()
