package callers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/jobtest"
)

// airflowVersions are the release lines of Airflow that the examples support; requirements-VERSION.txt pins all
// packages.
var airflowVersions = []string{"2.11.2", "3.3.2"}

// airflow is an installation of Airflow with its own metadata database and provider.
type airflow struct {
	python   string
	home     string
	provider string // a directory for PYTHONPATH
}

// openAirflow uses the virtual environment of a version in the user's cache, or builds it, which takes minutes.
func openAirflow(t *testing.T, version string) *airflow {
	t.Helper()
	requirements := jobtest.Absolute(t, "testdata/airflow/requirements-"+version+".txt")
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
		cmd.Dir = root + "/python/airflow-provider-bulkload"
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
		// uv takes ten seconds where pip takes minutes.
		run(5*time.Minute, venv+"/bin/python", "-m", "pip", "install", "--quiet", "--constraint", requirements, "uv")
		run(20*time.Minute, venv+"/bin/uv", "pip", "install", "--quiet", "--python", venv+"/bin/python", "--requirement", requirements)
		// An empty database is created once, since that takes as long as a load.
		run(5*time.Minute, venv+"/bin/airflow", "db", "migrate")
		t.Logf("Airflow %s was installed in %s", version, time.Since(start).Round(time.Second))
	}
	a := &airflow{python: venv + "/bin/python", home: t.TempDir(), provider: t.TempDir()}
	// A wheel, as users install it, in addition to the environment that all tests share.
	wheel := t.TempDir()
	run(time.Minute, a.python, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheel)
	run(time.Minute, venv+"/bin/uv", "pip", "install", "--quiet", "--offline", "--python", a.python, "--no-deps", "--target", a.provider,
		wheel+"/airflow_provider_bulkload-0.1.0-py3-none-any.whl")
	for _, name := range []string{"airflow.db", "empty.db"} { // the one in use, and a copy to restore
		copyFile(t, complete, filepath.Join(a.home, name))
	}
	for _, from := range []string{root + "/examples/airflow", "testdata/airflow/dags"} {
		if err := os.CopyFS(filepath.Join(a.home, "dags"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// airflowEnv returns the settings of an Airflow whose files are in home and that reports nothing about itself.
func airflowEnv(home string) []string {
	return []string{"AIRFLOW_HOME=" + home, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=sqlite:///" + home + "/airflow.db",
		"AIRFLOW__CORE__LOAD_EXAMPLES=False", "AIRFLOW__CORE__DAGS_FOLDER=" + home + "/dags", "AIRFLOW__LOGGING__BASE_LOG_FOLDER=" + home + "/logs",
		"AIRFLOW__USAGE_DATA_COLLECTION__ENABLED=False", "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1"}
}

// env returns the settings of this Airflow with its provider. Killed programs leave their sorted rows in the
// temporary directory, which is removed after the test.
func (a *airflow) env() []string {
	return append(airflowEnv(a.home), "PYTHONPATH="+a.provider, "TMPDIR="+a.home)
}

// dagRun is the output of run_dag.py about a run.
type dagRun struct {
	State string
	Tasks map[string]struct {
		State string
		Try   int
		XCom  map[string]any
		Link  string // to the report
	}
	Assets []string
	log    string
}

// command returns dag.test() of a DAG's file, with the site's tables and exports.
func (a *airflow) command(t *testing.T, s *site, dag, date, conf string, more ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, a.python, jobtest.Absolute(t, "testdata/airflow/run_dag.py"), filepath.Join(a.home, "dags", dag+".py"), date, conf)
	cmd.Dir = a.home
	cmd.Env = append(s.environ(t, a.env()...), "ENDS_PROGRAM="+jobtest.Absolute(t, "testdata/airflow/ends"))
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
	for line := range strings.Lines(out) { // the last one; Airflow may log after it
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

// deferring are the settings with which operators release their slots.
const deferring = "AIRFLOW__OPERATORS__DEFAULT_DEFERRABLE=True"

// eachWay runs a test with every version, with operators that keep their slots and with operators that release them.
func eachWay(t *testing.T, test func(t *testing.T, a *airflow, way string)) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		for name, way := range map[string]string{"slot": "BULKLOAD_LOG_LEVEL=info", "deferred": deferring} {
			t.Run(name, func(t *testing.T) { test(t, a, way) })
		}
	})
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

// lockedBuffer is a buffer that can be read while a process writes to it.
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
