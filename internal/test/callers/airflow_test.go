package callers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// airflowVersions are the lines of Airflow that the examples are for; requirements-VERSION.txt pins all packages.
var airflowVersions = []string{"2.11.2", "3.3.2"}

// airflow is an installation of Airflow with a metadata database of its own.
type airflow struct {
	python string
	home   string
}

// openAirflow takes the virtual environment of a version out of the user's cache, or builds it, which takes minutes.
func openAirflow(t *testing.T, version string) *airflow {
	t.Helper()
	requirements := "testdata/airflow/requirements-" + version + ".txt"
	pins, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(cache, "bulkload", fmt.Sprintf("airflow-%s-%x", version, sha256.Sum256(pins))[:len("airflow-")+len(version)+9])
	complete := filepath.Join(venv, "airflow.db")
	run := func(limit time.Duration, argv ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), airflowEnv(venv)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", argv, err, out)
		}
	}
	if _, err := os.Stat(complete); err != nil {
		start := time.Now()
		python := os.Getenv("BULKLOAD_TEST_PYTHON")
		if python == "" {
			python = "python3"
		}
		run(time.Minute, python, "-m", "venv", "--clear", venv)
		// uv takes ten seconds for what takes pip minutes.
		run(5*time.Minute, venv+"/bin/python", "-m", "pip", "install", "--quiet", "--constraint", requirements, "uv")
		run(20*time.Minute, venv+"/bin/uv", "pip", "install", "--quiet", "--python", venv+"/bin/python", "--requirement", requirements)
		// An empty database is made once, since that takes as long as a load.
		run(5*time.Minute, venv+"/bin/airflow", "db", "migrate")
		t.Logf("Airflow %s was installed in %s", version, time.Since(start).Round(time.Second))
	}
	a := &airflow{python: venv + "/bin/python", home: t.TempDir()}
	copyFile(t, complete, filepath.Join(a.home, "airflow.db"))
	for _, from := range []string{root + "/examples/airflow", "testdata/airflow/dags"} {
		if err := os.CopyFS(filepath.Join(a.home, "dags"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// airflowEnv are the settings of an Airflow that has its files in home and reports nothing about itself.
func airflowEnv(home string) []string {
	return []string{"AIRFLOW_HOME=" + home, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=sqlite:///" + home + "/airflow.db",
		"AIRFLOW__CORE__LOAD_EXAMPLES=False", "AIRFLOW__CORE__DAGS_FOLDER=" + home + "/dags", "AIRFLOW__LOGGING__BASE_LOG_FOLDER=" + home + "/logs",
		"AIRFLOW__USAGE_DATA_COLLECTION__ENABLED=False", "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1"}
}

// dagRun is what run_dag.py says of a run.
type dagRun struct {
	State string
	Tasks map[string]struct {
		State string
		Try   int
		XCom  map[string]any
	}
	Assets []string
	log    string
}

// command is dag.test() of a DAG's file, with the site's tables and exports.
func (a *airflow) command(t *testing.T, s *site, dag, date, conf string, more ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, a.python, jobtest.Absolute(t, "testdata/airflow/run_dag.py"), filepath.Join(a.home, "dags", dag+".py"), date, conf)
	cmd.Dir = a.home
	cmd.Env = append(s.environ(t, airflowEnv(a.home)...), "ENDS_PROGRAM="+jobtest.Absolute(t, "testdata/airflow/ends"))
	cmd.Env = append(cmd.Env, more...)
	return cmd
}

func (a *airflow) run(t *testing.T, s *site, dag, date, conf string, more ...string) dagRun {
	t.Helper()
	out, err := a.command(t, s, dag, date, conf, more...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", dag, err, out)
	}
	return parseRun(t, string(out))
}

func parseRun(t *testing.T, out string) dagRun {
	t.Helper()
	r := dagRun{log: out}
	for line := range strings.Lines(out) { // the last one that is there; Airflow may log after it
		if rest, ok := strings.CutPrefix(line, "ran: "); ok {
			if err := json.Unmarshal([]byte(rest), &r); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		}
	}
	if r.State == "" {
		t.Fatalf("no result: %s", out)
	}
	return r
}

// eachAirflow runs a test with every version.
func eachAirflow(t *testing.T, test func(*testing.T, *airflow)) {
	if testing.Short() || os.Getenv("BULKLOAD_TEST_AIRFLOW") == "" {
		t.Skip("installs Airflow: make test-airflow")
	}
	for _, version := range airflowVersions {
		t.Run(version, func(t *testing.T) { test(t, openAirflow(t, version)) })
	}
}

// The run of the 21st at half past two in Shanghai loads the export of the 20th.
const (
	night = "2026-11-20T18:30:00+00:00"
	day   = "20261120"
)

// TestAirflowNightly runs the example DAGs: a night's load, the same night again, and a day that was delivered again.
func TestAirflowNightly(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		for _, dag := range []string{"nightly_bash", "nightly_operator"} {
			t.Run(dag, func(t *testing.T) {
				s := newSite(t, day)
				r := a.run(t, s, dag, night, "{}")
				for _, table := range []string{"check", "opinion"} {
					ti := r.Tasks["load_"+table]
					if ti.State != "success" || ti.Try != 1 || ti.XCom["table"] != s.tables+table || ti.XCom["attempt"] != 1.0 {
						t.Fatalf("%s: %+v: %s", table, ti, r.log)
					}
					s.judge(t, table)
				}
				again := a.run(t, s, dag, night, "{}")
				for name, ti := range again.Tasks {
					if ti.State != "skipped" || ti.Try != 1 {
						t.Errorf("again: %s: %+v: %s", name, ti, again.log)
					}
				}
				if dag == "nightly_bash" {
					return
				}
				if want := fmt.Sprintf("[hbase://hbase/%[1]scheck hbase://hbase/%[1]sopinion]", s.tables); fmt.Sprint(r.Assets) != want || len(again.Assets) != 0 {
					t.Errorf("assets %v, and %v of the tasks that were skipped", r.Assets, again.Assets)
				}
				if x := again.Tasks["load_check"].XCom; x["already_done"] != true {
					t.Errorf("result of a task that was skipped: %v", x)
				}
				r = a.run(t, s, dag, "2026-11-25T00:00:00+00:00", `{"day": "`+day+`", "delivery": "2"}`)
				if ti := r.Tasks["load_check"]; ti.State != "success" || ti.XCom["already_done"] == true {
					t.Errorf("delivered again: %+v: %s", ti, r.log)
				}
				s.judge(t, "check")
			})
		}
	})
}

// TestAirflowExitCodes ends the program in every way, and sees what becomes of the task.
func TestAirflowExitCodes(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		r := a.run(t, s, "codes", night, "{}")
		for name, want := range map[string]string{
			"ends_0": "success 1", "ends_99": "skipped 1", "ends_75_then_99": "success 2",
			"ends_2": "failed 1", "ends_3": "failed 1", "ends_4": "failed 1", "ends_5": "failed 1", "ends_8": "failed 1",
			"ends_1": "failed 2", "ends_6": "failed 2", "ends_7": "failed 2", "ends_75": "failed 2", "ends_130": "failed 2", "ends_143": "failed 2",
			"ends_kill": "failed 2", "ends_silent": "failed 2", "no_program": "failed 1", "no_job_file": "failed 1", "no_input": "failed 1",
		} {
			if ti := r.Tasks[name]; fmt.Sprint(ti.State, " ", ti.Try) != want {
				t.Errorf("%s: %s %d, want %s", name, ti.State, ti.Try, want)
			}
		}
		if fmt.Sprint(r.Assets) != "[hbase://hbase/t]" {
			t.Errorf("assets %v", r.Assets)
		}
		for _, want := range []string{
			`(?i)warn[^\n]*bad records set aside phase=read rows=3`, `(?i)info[^\n]*plain words`, `ended with exit code 7: reason 7`,
			`was killed by SIGKILL: plain words`, `ended with exit code 1: plain words`, `ended with exit code 5: .*/nowhere/check`,
			`ended with exit code 2: .*/nowhere/check.yaml: no such file`,
		} {
			if !regexp.MustCompile(want).MatchString(r.log) {
				t.Errorf("the log has no %q", want)
			}
		}
		if t.Failed() {
			t.Log(r.log)
		}
	})
}

// TestAirflowTimeLimit sees that a task's execution_timeout stops the program.
func TestAirflowTimeLimit(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		// Airflow 2's dag.test() itself ends with the task's time limit.
		out, _ := a.command(t, newSite(t, day), "slow", night, "{}").CombinedOutput()
		pid := regexp.MustCompile(`stopping bulkload, process (\d+)`).FindSubmatch(out)
		if pid == nil || !bytes.Contains(out, []byte("AirflowTaskTimeout")) || bytes.Contains(out, []byte("killing it")) {
			t.Fatalf("%s", out)
		}
		if _, err := os.Stat("/proc/" + string(pid[1])); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("process %s is still there: %v", pid[1], err)
		}
	})
}

// TestAirflowResume kills the program in the middle of its build; Airflow's own retry resumes from the journal.
func TestAirflowResume(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		r := a.run(t, s, "resume", "2026-11-20T00:00:00+00:00", "{}")
		ti := r.Tasks["load_check"]
		if ti.State != "success" || ti.Try != 2 || ti.XCom["attempt"] != 2.0 || !strings.Contains(r.log, "was killed by SIGKILL") {
			t.Fatalf("%+v: %s", ti, r.log)
		}
		// Ten regions, ten files: the six of the first try were not written again.
		if e := s.events(t, "check"); e["written"] != 10 || e["attempt"] != 2 || e["done"] != 1 {
			t.Errorf("journal %v", e)
		}
		s.judge(t, "check")
	})
}

// TestAirflowOtherWorker kills the program while it sends files; the retry is on a worker that has nothing of the first one's, and resumes by the
// table of states.
func TestAirflowOtherWorker(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		states := testcheck.Name(t) + "_states"
		s.state = "hbase:" + states
		t.Cleanup(func() {
			_, err := s.cluster.AdminT(t).Run(context.WithoutCancel(t.Context()), "drop", states)
			testcheck.Must(t, err)
		})
		r := a.run(t, s, "other_worker", "2026-11-20T00:00:00+00:00", "{}")
		ti := r.Tasks["load_check"]
		if ti.State != "success" || ti.Try != 2 || ti.XCom["attempt"] != 2.0 || !strings.Contains(r.log, "was killed by SIGKILL") {
			t.Fatalf("%+v: %s", ti, r.log)
		}
		for _, worker := range []string{"1", "2"} {
			names, err := filepath.Glob(filepath.Join(a.home, "worker-"+worker, "bulkload", "state", "*", "*", journal.FileName))
			if err != nil || len(names) != 1 {
				t.Errorf("worker %s has journals %q: %v", worker, names, err)
			}
		}
		s.judge(t, "check")
	})
}

// TestAirflowKill has Airflow end a task in the middle: the program gets a SIGTERM, ends with 143, and another run of the
// task continues.
func TestAirflowKill(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		const dag, date = "killed", "2026-11-20T00:00:00+00:00"
		cmd := a.command(t, s, dag, date, "{}")
		out := &lockedBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		testcheck.Eventually(t, 2*time.Minute, "a file that is written", func() (bool, any) {
			e := s.events(t, "check")
			return e["written"] > 0, e
		})
		pid := s.holder("check")
		// Held, so that it cannot end before it is asked to.
		if err := errors.Join(syscall.Kill(pid, syscall.SIGSTOP), cmd.Process.Signal(syscall.SIGTERM)); err != nil {
			t.Fatal(err)
		}
		testcheck.Eventually(t, time.Minute, "on_kill", func() (bool, any) {
			said := out.String()
			return strings.Contains(said, fmt.Sprintf("stopping bulkload, process %d", pid)), said
		})
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Fatalf("it does not end: %s", out.String())
		}
		for _, want := range []string{"terminated: stopping", "stopped by terminated"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the log has no %q", want)
			}
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
		e := s.events(t, "check")
		if e["done"] != 0 || t.Failed() {
			t.Fatalf("%v: %s", e, out.String())
		}
		r := a.run(t, s, dag, date, "{}")
		if ti := r.Tasks["load_check"]; ti.State != "success" || ti.XCom["attempt"] != 2.0 {
			t.Errorf("%+v: %s", ti, r.log)
		}
		if after := s.events(t, "check"); after["written"] != 10 {
			t.Errorf("journal before %v, after %v", e, after)
		}
		s.judge(t, "check")
	})
}

// lockedBuffer is a buffer that is read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
