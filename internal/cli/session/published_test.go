package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/ui"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"

	"github.com/spf13/cobra"
)

// aboutRow is an error about data.
type aboutRow string

func (aboutRow) Error() string  { return "a row is bad" }
func (e aboutRow) Data() []byte { return []byte(e) }

// TestPublished checks what a run leaves in each file that its flags name, and on its output: of a run that is done, and of one that fails and shows data.
func TestPublished(t *testing.T) {
	t.Setenv("OPENLINEAGE_URL", "")
	for _, failed := range []bool{false, true} {
		dir := t.TempDir()
		file := func(name string) string { return filepath.Join(dir, name) }
		testcheck.Must(t, os.WriteFile(file("result.json"), []byte(`{"schema":1,"status":"done","exit_code":0}`), 0o600))
		text, err := os.Create(file("log"))
		testcheck.Must(t, err)
		defer text.Close()
		args := []string{"run", "--output=json", "--show-data", "--table=t:x", "--result-file=" + file("result.json"), "--report=" + file("report.html"), "--metrics-file=" + file("run.prom"), "--metrics-label=team=a",
			"--openlineage=" + file("events.jsonl"), "--progress=lines"}
		p := &Program{Args: args, Console: &ui.Console{File: text}, Build: metrics.Build{Version: "v1"}}
		var s *Session
		root := testCommand(p, func(cmd *cobra.Command) {
			w := &Watch{report: file("report.html"), progress: "lines", telemetryFlags: telemetryFlags{metricsFile: file("run.prom"), metricLabels: []string{"team=a"}, lineage: file("events.jsonl")}}
			s, err = p.Begin(cmd, p.Logger(), lineage.Subject{Command: "run", Spec: spec.Spec{Table: "t:x", Inputs: []string{"in"}}, Env: &cluster.Env{Conf: &hdfsio.Conf{}}}, w)
		})
		root.SetArgs(args)
		testcheck.Must(t, errors.Join(root.ExecuteContext(t.Context()), err))
		if _, err := os.Stat(file("result.json")); !os.IsNotExist(err) {
			t.Errorf("the result of an earlier run is there while a run works: %v", err)
		}
		e := s.Events()
		e.OnStart(progress.Start{Table: "t:x", Attempt: 1, Files: 2, Bytes: 100, Regions: 2, Key: "id"})
		e.OnPhase("read")
		e.OnRows(20, 100)
		e.OnPhase("write")
		e.OnHFile(progress.HFile{Region: 1, Rows: 20, Bytes: 50})
		e.OnWarn("the disk is slow", "seconds", 7)
		var r *result.Result
		if failed {
			err = fail.With(fail.BadRows, fmt.Errorf("read: %w", aboutRow("x\x00"+strings.Repeat("y", 300))))
		} else {
			r = &result.Result{Schema: 1, Table: "t:x", Regions: 2, Verify: &result.Verification{Mode: "off"}, Manifest: &manifest.Manifest{Schema: 1, Records: 21, Rejected: 1, HFiles: 1, Bytes: 50, Digest: manifest.Digest{Rows: 20, Cells: 40}}}
		}
		var out bytes.Buffer
		err = s.End(r, err)
		code := p.End(t.Context(), &out, s.cmd, err)
		read := func(name string) string {
			b, err := os.ReadFile(file(name))
			testcheck.Must(t, err)
			return string(b)
		}
		wants := map[string][]string{
			"result.json":  {`"status":"done","exit_code":0`, `"rejected":1`, `"warnings":1`, `"report":"` + file("report.html") + `"`},
			"report.html":  {"t:x", "the disk is slow seconds=7", "<b>20</b>", "no (--verify off)"},
			"run.prom":     {`team="a"`, `table="t:x"`},
			"events.jsonl": {`"eventType":"START"`, `"eventType":"COMPLETE"`},
			"log":          {"msg=\"phase ended\" table=t:x attempt=1 phase=read", "rows=20 bytes=100", "msg=\"the disk is slow\"", "seconds=7"},
		}
		if failed {
			const shown = `a row is bad [data: \"x\\x00yyyy`
			wants["result.json"], wants["events.jsonl"] = []string{`"status":"failed","exit_code":4,"error":"read: ` + shown, `"error_kind":"bad_rows"`}, []string{`"eventType":"FAIL"`}
			wants["report.html"], wants["log"] = []string{"read: a row is bad [data: ", "the disk is slow seconds=7"}, []string{`bulkload: read: a row is bad [data: "x\x00yyy`}
		}
		for name, list := range wants {
			for _, want := range list {
				if !strings.Contains(read(name), want) {
					t.Errorf("failed %v: %s lacks %s:\n%.3000s", failed, name, want, read(name))
				}
			}
		}
		if failed == strings.Contains(read("run.prom"), "bulkload_last_success_timestamp_seconds{") {
			t.Errorf("failed %v: the time of the last success: %s", failed, read("run.prom"))
		}
		if failed != (code == 4) || !json.Valid(out.Bytes()) || out.String() != read("result.json") || failed && strings.Contains(out.String(), strings.Repeat("y", maxShown)) {
			t.Errorf("failed %v: code %d, %s", failed, code, out.String())
		}
	}
}

// TestShownData checks that data are shown on request alone, once, and cut to a bound.
func TestShownData(t *testing.T) {
	var many []error
	for i := range 30 {
		many = append(many, aboutRow(fmt.Sprint("v", i)))
	}
	err := fmt.Errorf("x: %w", errors.Join(many...))
	p := &Program{ShowData: true}
	shown := p.showing(err)
	if text := shown.Error(); !strings.HasSuffix(text, ` [data: "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9"]`) || !errors.Is(shown, many[29]) || p.showing(shown) != shown {
		t.Error(text)
	}
	for _, same := range []error{nil, errors.New("no data")} {
		if p.showing(same) != same || (&Program{}).showing(err) != err {
			t.Errorf("%v has data", same)
		}
	}
	got := []string{bounded("abc", 3), bounded("abcd", 3), bounded("a日本", 3)}
	if want := []string{"abc", "abc … (1 byte more)", "a … (6 bytes more)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
