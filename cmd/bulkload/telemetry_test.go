package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"

	"github.com/google/uuid"
)

const exports = "../../testdata/exports/check.csv"

// quiet returns a build's command in an environment without settings, with more flags.
func quiet(t *testing.T, more ...string) []string {
	t.Helper()
	for _, name := range []string{"BULKLOAD_METRICS_PUSH", "OPENLINEAGE_URL", "OPENLINEAGE_PARENT_ID", "OPENLINEAGE_NAMESPACE", "OPENLINEAGE_API_KEY", "HADOOP_CONF_DIR", "HBASE_CONF_DIR"} {
		t.Setenv(name, "")
	}
	return append([]string{"build", "--quiet", "--job", "../../examples/check.yaml", "--salt-buckets", "1", "--out", filepath.Join(t.TempDir(), "hfiles")}, more...)
}

// received is the data that a server received.
type received struct {
	mu   sync.Mutex
	list []string
}

func (r *received) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	b, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, q.Method+" "+q.URL.Path+"\n"+string(b))
	w.WriteHeader(http.StatusOK)
}

func (r *received) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

func events(t *testing.T, name string) []lineage.Event {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []lineage.Event
	for line := range bytes.Lines(b) {
		var e lineage.Event
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// TestTold runs a build with all kinds of telemetry.
func TestTold(t *testing.T) {
	gateway, marquez := &received{}, &received{}
	gatewayServer, marquezServer := httptest.NewServer(gateway), httptest.NewServer(marquez)
	defer gatewayServer.Close()
	defer marquezServer.Close()
	file := filepath.Join(t.TempDir(), "check.prom")
	args := quiet(t, "--input", exports, "--metrics-file", file, "--metrics-label", "team=risk", "--listen", "127.0.0.1:0")
	t.Setenv("BULKLOAD_METRICS_PUSH", gatewayServer.URL)
	t.Setenv("OPENLINEAGE_URL", marquezServer.URL)
	if _, err := execute(t.Context(), &globals{}, args); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), `bulkload_last_run_rows_written{table="check",team="risk"} 3000`) ||
		!strings.Contains(string(b), `bulkload_last_run_input_files{table="check",team="risk"} 1`) {
		t.Errorf("%v: %s", err, b)
	}
	if got := gateway.all(); len(got) != 1 || !strings.HasPrefix(got[0], "POST /metrics/job/bulkload/") {
		t.Errorf("the gateway got %q", got)
	}
	got := marquez.all()
	if len(got) != 2 {
		t.Fatalf("the lineage server got %q", got)
	}
	for i, want := range []string{"START", "COMPLETE"} {
		if !strings.HasPrefix(got[i], "POST /api/v1/lineage\n{\"eventType\":\""+want+`"`) {
			t.Errorf("event %d is %s", i+1, got[i])
		}
	}
}

// TestLineageOfBuild checks the events of a build that succeeds and of one that fails.
func TestLineageOfBuild(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.jsonl")
	args := quiet(t, "--openlineage", file, "--input", exports, "--date", "2026-03-01", "--time-zone", "Asia/Shanghai")
	t.Setenv("OPENLINEAGE_PARENT_ID", "prod/load.check/01941f29-7c00-7087-8940-40e508b213bb")
	t.Setenv("OPENLINEAGE_NAMESPACE", "prod")
	if _, err := execute(t.Context(), &globals{}, args); err != nil {
		t.Fatal(err)
	}
	if _, err := execute(t.Context(), &globals{}, args); err == nil {
		t.Fatal("the second build went into the first one's directory")
	}
	stopped, cancel := context.WithCancelCause(t.Context())
	cancel(ending.Signal(syscall.SIGTERM))
	metrics := filepath.Join(t.TempDir(), "x.prom")
	if _, err := execute(stopped, &globals{}, append(quiet(t), "--openlineage", file, "--input", exports, "--metrics-file", metrics)); err == nil {
		t.Fatal("a build that was stopped ended well")
	}
	if b, err := os.ReadFile(metrics); err != nil || !strings.Contains(string(b), `bulkload_last_run_exit_code{table="check"} 143`) {
		t.Errorf("%v: %s", err, b)
	}
	list := events(t, file)
	var types []string
	for _, e := range list {
		types = append(types, e.Type)
		if e.Job.Name != list[0].Job.Name || !strings.HasPrefix(e.Job.Name, "bulkload.build.check.") {
			t.Errorf("job %+v", e.Job)
		}
		if id, err := uuid.Parse(e.Run.ID); err != nil || id.Version() != 7 {
			t.Errorf("run id %q", e.Run.ID)
		}
	}
	if got := strings.Join(types, " "); got != "START COMPLETE START FAIL START ABORT" {
		t.Fatalf("events %s", got)
	}
	if list[0].Run.ID != list[1].Run.ID || list[2].Run.ID == list[0].Run.ID {
		t.Error("the run ids do not distinguish runs")
	}
	input := jobtest.Absolute(t, exports)
	end := list[1]
	if len(end.Inputs) != 1 || end.Inputs[0].Namespace != "file" || end.Inputs[0].Name != input || len(end.Inputs[0].Facets.Schema.Fields) != 18 {
		t.Errorf("inputs %+v", end.Inputs)
	}
	if s := end.Inputs[0].InputFacets.Statistics; s.Rows != 3000 || s.Files != 1 || s.Bytes < 1000 {
		t.Errorf("input statistics %+v", s)
	}
	if s := end.Outputs[0].OutputFacets.Statistics; s.Rows != 3000 || s.Files != 1 || s.Bytes < 1000 {
		t.Errorf("output statistics %+v", s)
	}
	if f := end.Outputs[0].Facets.Schema.Fields; len(f) != 18 || f[0].Name != "f:artificial_ver_result" {
		t.Errorf("output schema %+v", f)
	}
	if p := end.Run.Facets.Parent; p == nil || p.Job.Name != "load.check" || p.Run.ID != "01941f29-7c00-7087-8940-40e508b213bb" || end.Job.Namespace != "prod" {
		t.Errorf("parent %+v of %+v", p, end.Job)
	}
	if n := end.Run.Facets.NominalTime; n == nil || n.Start != "2026-02-28T16:00:00.000Z" || n.End != "2026-03-01T16:00:00.000Z" {
		t.Errorf("nominal time %+v", n)
	}
	if n := list[5].Run.Facets.NominalTime; n != nil {
		t.Errorf("nominal time %+v of a run for which no day was named", n)
	}
	if e := list[3].Run.Facets.Error; e == nil || !strings.Contains(e.Message, "is not empty") {
		t.Errorf("error %+v", e)
	}
}

// TestTelemetryUsage checks that invalid flags are refused before any work.
func TestTelemetryUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tc := range []struct{ flag, value, want string }{
		{"listen", taken.Addr().String(), "address already in use"},
		{"listen", "9400", "not a host:port"},
		{"stalled-after", "-1s", "below 0"},
		{"metrics-file", t.TempDir(), "is a directory"},
		{"metrics-label", "job=x", "another meaning"},
		{"metrics-push", "tina:s3cret@host", "not an address"},
		{"metrics-push", "http://host/?s3cret", "has no query"},
		{"openlineage", "kafka://host", "not to kafka://"},
	} {
		args := quiet(t, "--input", exports, "--"+tc.flag, tc.value)
		_, err := execute(t.Context(), &globals{}, args)
		if err == nil || ending.CodeOf(t.Context(), err) != fail.Config.ExitCode() || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "--"+tc.flag) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("--%s %s: error %v", tc.flag, tc.value, err)
		}
		if _, err := os.Stat(args[5]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("--%s %s: the output directory is there", tc.flag, tc.value)
		}
	}
}
