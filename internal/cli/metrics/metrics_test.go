package metrics

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

var update = flag.Bool("update", false, "write the expected files again")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// done returns a run that loaded 990 rows.
func done() Run {
	return Run{
		Success: noon, Loads: true, Build: Build{"1.2.3", "abc", "go1.26"}, Input: progress.Amount{Files: 3, Bytes: 1 << 21},
		Outcome: ending.Outcome{Began: noon.Add(-time.Minute), Ended: noon, Progress: progressNow(),
			Result: &result.Result{Attempt: 2, Regions: 4, Verify: &result.Verification{Mode: "full"}, Manifest: &manifest.Manifest{
				Records: 1000, Rejected: 7, Duplicates: 3, Digest: manifest.Digest{Rows: 990, Cells: 9900}, Bytes: 1 << 20, SpillBytes: 1 << 19, HFiles: 5}}},
	}
}

// progressNow returns a run in its phase write.
func progressNow() progress.Progress {
	at := func(s int) time.Time { return noon.Add(time.Duration(s-60) * time.Second) }
	return progress.Progress{
		Start: progress.Start{Table: "test:check", Attempt: 2, Files: 3, Bytes: 1 << 21}, At: noon,
		Phases: []progress.PhaseProgress{
			{Name: "read", Began: at(0), Ended: at(20), Done: progress.Amount{Rows: 900, Bytes: 1 << 22}, Total: progress.Amount{Bytes: 1 << 22}},
			{Name: "write", Began: at(25), Done: progress.Amount{Rows: 450}, Total: progress.Amount{Rows: 900}},
		},
		Spilled: progress.Amount{Rows: 80, Bytes: 4096}, Written: 12345, HFiles: progress.Amount{Rows: 400, Bytes: 10000, Files: 2}, Own: progress.Amount{Rows: 400, Bytes: 10000, Files: 2}, Warnings: 1,
	}
}

func labels(t *testing.T) Labels {
	t.Helper()
	l, err := ParseLabels("test:check", []string{"team=risk"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func write(t *testing.T, r Run, l Labels, name string) string {
	t.Helper()
	if err := WriteFile(name, r, l); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFurtherTables checks that each further table of a job has its own figures, and that a run is verified only if
// all of its tables are.
func TestFurtherTables(t *testing.T) {
	r := done()
	r.Result.Tables = []result.Table{
		{Table: "test:by_rule", Regions: 2, Verify: &result.Verification{Mode: "full"}, Manifest: &manifest.Manifest{Digest: manifest.Digest{Rows: 985}, Bytes: 77}},
		{Table: "test:by_date", Index: "by_date"},
	}
	text := write(t, r, labels(t), filepath.Join(t.TempDir(), "check.prom"))
	for _, want := range []string{
		`bulkload_last_run_further_rows_written{further="test:by_rule",table="test:check",team="risk"} 985`,
		`bulkload_last_run_further_hfiles_bytes{further="test:by_rule",table="test:check",team="risk"} 77`,
		`bulkload_last_run_further_regions_loaded{further="test:by_rule",table="test:check",team="risk"} 2`,
		`bulkload_last_run_further_rows_written{further="test:by_date",table="test:check",team="risk"} 0`,
		`bulkload_last_run_rows_written{table="test:check",team="risk"} 990`,
		`bulkload_last_run_verified{table="test:check",team="risk"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// TestFurtherTablesOfAFailure checks that further tables that a failed run did not reach have 0, and not what the Pushgateway keeps of an earlier run.
func TestFurtherTablesOfAFailure(t *testing.T) {
	r := done()
	r.Further = []string{"default:by_rule", "test:by_date"}
	if text := write(t, r, labels(t), filepath.Join(t.TempDir(), "check.prom")); strings.Contains(text, "by_rule") {
		t.Errorf("a run without results of tables has them: %s", text)
	}
	r.Code, r.Result = 7, &result.Result{Tables: []result.Table{{Table: "test:by_date", Regions: 3}}}
	text := write(t, r, labels(t), filepath.Join(t.TempDir(), "check.prom"))
	for _, want := range []string{
		`bulkload_last_run_further_rows_written{further="by_rule",table="test:check",team="risk"} 0`,
		`bulkload_last_run_further_regions_loaded{further="test:by_date",table="test:check",team="risk"} 3`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
}

// TestAmountsThatAreNotKnown checks that a load of HFiles without a manifest says that it does not know what is in them: 0 rows of a success would be an
// alert, and a metric that is left out keeps the 0 of an earlier failure at the Pushgateway. An input that may be empty and is has 0 rows.
func TestAmountsThatAreNotKnown(t *testing.T) {
	r := done()
	r.Result.Manifest, r.Progress = nil, progress.Progress{}
	for _, c := range []struct {
		given bool
		code  int
		want  string
	}{{true, 0, "NaN"}, {true, 7, "0"}, {false, 0, "0"}} {
		r.Given, r.Code = c.given, c.code
		text := write(t, r, labels(t), filepath.Join(t.TempDir(), "check.prom"))
		for _, name := range []string{"records_read", "rows_written", "cells_written", "hfiles_written", "hfiles_bytes"} {
			if !strings.Contains(text, "bulkload_last_run_"+name+`{table="test:check",team="risk"} `+c.want+"\n") {
				t.Errorf("%+v: %s in %s", c, name, text)
			}
		}
	}
}

// TestRunOverDirectories checks that the metrics are of the directories that this run has loaded.
func TestRunOverDirectories(t *testing.T) {
	r := done()
	own := *r.Result
	own.Manifest = &manifest.Manifest{Records: 5, Digest: manifest.Digest{Rows: 5}}
	r.Result.Now = &own
	text := write(t, r, labels(t), filepath.Join(t.TempDir(), "check.prom"))
	for _, want := range []string{"rows_written", "records_read"} {
		if !strings.Contains(text, "bulkload_last_run_"+want+`{table="test:check",team="risk"} 5`+"\n") {
			t.Errorf("%s in %s", want, text)
		}
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "check.prom")
	failed := Run{Outcome: ending.Outcome{Code: 6, Began: noon.Add(-time.Minute), Ended: noon.Add(time.Hour), Progress: progressNow()}, Loads: true, Input: progress.Amount{Files: 3, Bytes: 1 << 21}, Build: Build{"1.2.3", "abc", "go1.26"}}
	built := done()
	built.Loads, built.Result.Verify, built.Result.Regions = false, nil, 0
	already := done()
	already.Ended, already.Success, already.Result.Already = noon.Add(time.Hour), noon.Add(-time.Hour), true
	for _, tc := range []struct {
		golden string
		run    Run
	}{{"done", done()}, {"failed", failed}, {"already", already}, {"built", built}} { // in this order: the earlier file is that of the previous case
		t.Run(tc.golden, func(t *testing.T) {
			got := write(t, tc.run, labels(t), name)
			golden := filepath.Join("testdata", tc.golden+".prom")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
			lint(t, got)
			if !strings.Contains(got, `bulkload_last_success_timestamp_seconds{table="test:check",team="risk"} 1.7723664e+09`) {
				t.Error("the time of the success at noon is not kept")
			}
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v (%v), want one file", entries, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v (%v), want 0644", info.Mode(), err)
	}
}

func lint(t *testing.T, text string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestFormerFile checks which success time a failed run keeps, and that a broken file does not prevent the new one.
func TestFormerFile(t *testing.T) {
	failed := Run{Outcome: ending.Outcome{Code: 7, Began: noon, Ended: noon}}
	success := func(table, more string) string {
		return fmt.Sprintf("# TYPE bulkload_last_success_timestamp_seconds gauge\nbulkload_last_success_timestamp_seconds{table=%q%s} 1e9\n", table, more)
	}
	for name, tc := range map[string]struct {
		former string
		keeps  bool
		err    string
	}{
		"the same":      {former: success("test:check", `,team="risk"`), keeps: true},
		"another table": {former: success("test:other", `,team="risk"`)},
		"other labels":  {former: success("test:check", "")},
		"empty":         {former: ""},
		"cut off":       {former: success("test:check", `,team="risk"`)[:90], err: "time of the last success is lost"},
		"not text":      {former: "\x00\x01{", err: "time of the last success is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.prom")
			if err := os.WriteFile(file, []byte(tc.former), 0o600); err != nil {
				t.Fatal(err)
			}
			err := WriteFile(file, failed, labels(t))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			b, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(b), `bulkload_last_run_exit_code{table="test:check",team="risk"} 7`) {
				t.Fatalf("not written again: %v\n%s", err, b)
			}
			if has := strings.Contains(string(b), "\nbulkload_last_success_timestamp_seconds{"); has != tc.keeps {
				t.Errorf("has a last success: %v, want %v", has, tc.keeps)
			}
		})
	}
}

func TestFileInNoDirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "x.prom")
	if err := WriteFile(name, done(), labels(t)); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v, want one that names %s", err, name)
	}
}

func TestLive(t *testing.T) {
	l := Live{Progress: progressNow, Moved: func() time.Time { return noon }, Build: Build{"1.2.3", "abc", "go1.26"}}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(l.Collector())
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	want := `# HELP bulkload_phase_active 1 for the phase that is under way, 0 for the others.
# TYPE bulkload_phase_active gauge
bulkload_phase_active{phase="check"} 0
bulkload_phase_active{phase="load"} 0
bulkload_phase_active{phase="read"} 0
bulkload_phase_active{phase="replace"} 0
bulkload_phase_active{phase="snapshot"} 0
bulkload_phase_active{phase="sort"} 0
bulkload_phase_active{phase="upload"} 0
bulkload_phase_active{phase="verify"} 0
bulkload_phase_active{phase="write"} 1
# HELP bulkload_phase_done_ratio How much of a phase is done, from 0 to 1; left out where it is not known.
# TYPE bulkload_phase_done_ratio gauge
bulkload_phase_done_ratio{phase="read"} 1
bulkload_phase_done_ratio{phase="write"} 0.5
# HELP bulkload_phase_duration_seconds How long each phase has taken up to now.
# TYPE bulkload_phase_duration_seconds gauge
bulkload_phase_duration_seconds{phase="read"} 20
bulkload_phase_duration_seconds{phase="write"} 35
# HELP bulkload_read_rows_total Rows read and added to the sort.
# TYPE bulkload_read_rows_total counter
bulkload_read_rows_total 900
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "bulkload_phase_active", "bulkload_phase_done_ratio",
		"bulkload_phase_duration_seconds", "bulkload_read_rows_total"); err != nil {
		t.Error(err)
	}
}

func TestParseLabels(t *testing.T) {
	for _, tc := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"team"}, "not a name=value"},
		{[]string{"team="}, "not a name=value"},
		{[]string{"1st=x"}, "letters, digits"},
		{[]string{"__a=x"}, "not with __"},
		{[]string{"a-b=x"}, "letters, digits"},
		{[]string{"table=x"}, "another meaning"},
		{[]string{"job=x"}, "another meaning"},
		{[]string{"a=x", "a=y"}, "twice"},
		{[]string{"a=\xff"}, "not UTF-8"},
	} {
		if _, err := ParseLabels("t", tc.pairs); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.pairs, err, tc.want)
		}
	}
	l, err := ParseLabels("t", []string{"a=x=y"})
	if err != nil || l["a"] != "x=y" || l["table"] != "t" {
		t.Errorf("%v, %v", l, err)
	}
}

// TestDocs compares the tables of docs/observability.md with the metrics.
func TestDocs(t *testing.T) {
	const name = "../../../docs/observability.md"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for mark, list := range map[string][]doc{"metrics of the last run": docs(lastRun), "metrics of a run under way": docs(live)} {
		begin, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->"
		i, j := strings.Index(text, begin), strings.Index(text, end)
		if i < 0 || j < i {
			t.Fatalf("%s has no table of %s", name, mark)
		}
		i += len(begin)
		var table strings.Builder
		table.WriteString("| metric | type | labels in addition to those of the job | what it is |\n|---|---|---|---|\n")
		for _, d := range list {
			fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help)
		}
		if text[i:j] != table.String() {
			if !*update {
				t.Errorf("the table of %s is not that of the code: go test ./internal/cli/metrics -run TestDocs -update", mark)
			}
			text = text[:i] + table.String() + text[j:]
		}
	}
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// doc is the row of a metric in the documentation.
type doc struct {
	Name   string
	Type   string // gauge or counter
	Labels []string
	Help   string
}

func docs[S any](all []metric[S]) []doc {
	list := make([]doc, len(all))
	for i, m := range all {
		list[i] = doc{Name: m.name, Type: "gauge", Labels: slices.Clone(m.labels), Help: m.help}
		if m.kind == prometheus.CounterValue {
			list[i].Type = "counter"
		}
	}
	return list
}
