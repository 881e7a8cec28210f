package callers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestProviderParses checks that the provider's files are valid Python, if there is a Python.
func TestProviderParses(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	files, err := filepath.Glob(root + "/python/*/src/*/*.py")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q: %v", files, err)
	}
	const parse = "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name)"
	if out, err := exec.CommandContext(t.Context(), python, append([]string{"-c", parse}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestProviderTries runs the provider's own tests, which need no Airflow.
func TestProviderTries(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, jobtest.Absolute(t, root+"/python/airflow-provider-bulkload/tests/test_operators.py"))
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// connection returns the site as a connection of Airflow; the environment of the worker has no settings of it.
func (s *site) connection(t *testing.T) []string {
	t.Helper()
	uri, err := json.Marshal(map[string]any{"conn_type": "bulkload", "extra": map[string]any{"program": program(t) + "/bulkload",
		"hadoop_conf_dir": s.cluster.ConfDir(), "hbase_conf_dir": s.cluster.ConfDir(), "state": s.state, "env": `{"HADOOP_USER_NAME": "tina"}`,
		"report_url": "https://reports.example.com/{job}/report.html"}})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"AIRFLOW_CONN_SITE=" + string(uri), "HADOOP_CONF_DIR=", "HBASE_CONF_DIR=", "HADOOP_USER_NAME="}
}

// cli runs Airflow's own command.
func (a *airflow) cli(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), a.python, append([]string{"-m", "airflow"}, args...)...)
	cmd.Dir, cmd.Env = a.home, append(append(os.Environ(), a.env()...), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("airflow %q: %v: %s", args, err, out)
	}
	return string(out)
}

// TestAirflowProvider checks that Airflow knows the wheel's provider, its operators' link, and connections of its
// type.
func TestAirflowProvider(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		env := append(s.connection(t), "AIRFLOW__CORE__TEST_CONNECTION=Enabled")
		for want, args := range map[string][]string{
			`airflow-provider-bulkload`:                     {"providers", "list", "--output=plain"},
			`BulkloadReportLink`:                            {"providers", "links", "--output=plain"},
			`(?m)^bulkload +airflow_provider_bulkload.hook`: {"providers", "hooks", "--output=plain"},
			`keytab`:             {"providers", "widgets", "--output=plain"},
			`Connection success`: {"connections", "test", "site"},
		} {
			if out := a.cli(t, env, args...); !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%q lacks %s: %s", args, want, out)
			}
		}
	})
}

// TestAirflowOperators runs each operator and the sensor on a table, and checks the outcome in the XCom and the
// report behind the link.
func TestAirflowOperators(t *testing.T) {
	eachWay(t, func(t *testing.T, a *airflow, way string) {
		s := newSite(t, day)
		s.drops(t, s.tables+"check2")
		r := a.run(t, s, "tables", "2026-11-20T00:00:00+00:00", "{}", append(s.connection(t), way)...)
		for name, ti := range r.Tasks {
			if want := map[bool]string{true: "skipped", false: "success"}[name == "undone"]; ti.State != want || ti.Try != 1 {
				t.Fatalf("%s: %s %d: %s", name, ti.State, ti.Try, r.log)
			}
		}
		x := func(task string, fields ...string) (v any) {
			v = r.Tasks[task].XCom
			for _, f := range fields {
				m, _ := v.(map[string]any)
				v = m[f]
			}
			return v
		}
		rows := x("load", "manifest", "digest", "rows")
		for _, f := range []struct{ got, want any }{
			{x("load", "status"), "done"}, {x("wait", "state"), "done"}, {x("wait", "dir"), x("load", "job")},
			{x("export", "digest", "rows"), rows}, {x("replace", "replace", "rows"), rows}, {x("replace", "replace", "deleted"), 0.0},
			{x("rekey", "rekey", "from"), s.tables + "check"}, {x("rekey", "manifest", "digest", "rows"), rows},
			{x("compare", "equal"), true}, {x("look", "dry_run"), true}, {x("undo", "table"), s.tables + "opinion"}, {x("look", "timestamp"), x("undo", "timestamp")},
			{r.Tasks["load"].Link, "https://reports.example.com/" + filepath.Base(fmt.Sprint(x("load", "job"))) + "/report.html"},
			{r.Tasks["export"].Link, ""},
		} {
			if f.got != f.want || f.want == nil {
				t.Errorf("%v, want %v", f.got, f.want)
			}
		}
		s.judge(t, "check")
		if got := s.adm(t, "digest", s.tables+"opinion"); !strings.HasPrefix(got, "rows=0 ") {
			t.Errorf("undone: %s", got)
		}
		if want := fmt.Sprintf("[hbase://hbase/%[1]scheck hbase://hbase/%[1]scheck hbase://hbase/%[1]sopinion hbase://main/%[1]scheck2]", s.tables); fmt.Sprint(r.Assets) != want {
			t.Errorf("assets %v", r.Assets)
		}
		if deferred := strings.Count(r.log, "continues without a slot"); (deferred > 0) != (way == deferring) {
			t.Errorf("%d tasks were deferred", deferred)
		}
		if left, _ := filepath.Glob(a.home + "/bulkload/*"); len(left) > 0 || t.Failed() {
			t.Errorf("left %q: %s", left, r.log)
		}
	})
}

// TestAirflowLineage checks that Airflow's event of a task has the datasets of the program's own event, whose parent
// is the task's run.
func TestAirflowLineage(t *testing.T) {
	eachAirflow(t, func(t *testing.T, a *airflow) {
		s := newSite(t, day)
		for _, mode := range []string{"task", "program"} {
			events, own := filepath.Join(t.TempDir(), "events.jsonl"), filepath.Join(t.TempDir(), "own.jsonl")
			r := a.run(t, s, "lineage", night, "{}", "LINEAGE="+mode, "BULKLOAD_OPENLINEAGE="+own, "AIRFLOW__OPENLINEAGE__NAMESPACE=site",
				`AIRFLOW__OPENLINEAGE__TRANSPORT={"type": "file", "append": true, "log_file_path": "`+events+`"}`)
			if ti := r.Tasks["load_check"]; ti.State != "success" {
				t.Fatalf("%+v: %s", ti, r.log)
			}
			task := lastEvent(t, events, "lineage.load_check")
			if mode == "program" {
				if e := lastEvent(t, own, ""); e.Run.Facets.Parent.Run.RunID != task.Run.RunID || e.Run.Facets.Parent.Job.Name != "lineage.load_check" {
					t.Errorf("the program's event has the parent %+v, the task's run is %s", e.Run.Facets.Parent, task.Run.RunID)
				}
				continue
			}
			if len(task.Inputs) != 1 || len(task.Outputs) != 1 || task.Outputs[0].Name != s.tables+"check" || !strings.HasPrefix(task.Outputs[0].Namespace, "hbase://") ||
				task.Outputs[0].OutputFacets.OutputStatistics.RowCount == 0 || task.Inputs[0].Name != s.exports+"/check/"+day {
				t.Errorf("event %+v: %s", task, r.log)
			}
		}
	})
}

// lineageEvent has the fields of an OpenLineage event that the test reads.
type lineageEvent struct {
	EventType string
	Run       struct {
		RunID  string
		Facets struct {
			Parent struct {
				Run struct{ RunID string }
				Job struct{ Name string }
			}
		}
	}
	Job             struct{ Name string }
	Inputs, Outputs []struct {
		Namespace, Name string
		OutputFacets    struct{ OutputStatistics struct{ RowCount int64 } }
	}
}

// lastEvent returns a file's last event of success, of the given job if there is one.
func lastEvent(t *testing.T, file, job string) (e lineageEvent) {
	t.Helper()
	b, err := os.ReadFile(file)
	testcheck.Must(t, err)
	for line := range strings.Lines(string(b)) {
		var found lineageEvent
		testcheck.Must(t, json.Unmarshal([]byte(line), &found))
		if found.EventType == "COMPLETE" && (job == "" || found.Job.Name == job) {
			e = found
		}
	}
	if e.EventType == "" {
		t.Fatalf("%s has no event: %s", file, b)
	}
	return e
}
