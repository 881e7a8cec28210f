package lineage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"

	"golang.org/x/sys/unix"
)

// TestLineageOfTables checks that events name each table that a job fills, a new one where it replaces another, and
// its rows.
func TestLineageOfTables(t *testing.T) {
	conf := &hdfsio.Conf{}
	conf.Set("hbase.zookeeper.quorum", "zk1", "test")
	one := func(rows int64) *manifest.Manifest {
		return &manifest.Manifest{Family: "f", Columns: []string{"id"}, Digest: manifest.Digest{Rows: rows}}
	}
	for _, c := range []struct {
		into string
		want []string
	}{{"", []string{"ns:t", "default:u", "ns:v"}}, {"new", []string{"default:new", "default:u", "ns:v"}}} {
		w := Subject{Command: "run", Env: &cluster.Env{Conf: conf}, Into: c.into, Spec: spec.Spec{Table: "ns:t", Key: "id", Inputs: []string{"hdfs:///x"},
			Tables: []spec.TableSpec{{Table: "u", Key: "id"}, {Table: "ns:v", Key: "id", Index: "i"}}}}
		e := describeRun(slog.New(slog.DiscardHandler), "dev", w, "", time.Time{}, time.Time{}, func(string) string { return "" })
		e = withAmounts(e, "dev", "run", progress.Amount{}, ending.Outcome{Result: &result.Result{Manifest: one(5), Tables: []result.Table{{Manifest: one(4)}, {Manifest: one(3)}}}})
		var names []string
		for i, d := range e.Outputs {
			names = append(names, d.Name)
			if d.OutputFacets == nil || *d.OutputFacets.Statistics != (statisticsFacet{Facet: producer("dev").Facet(outputDef), Rows: int64(5 - i)}) {
				t.Errorf("output %s has %+v", d.Name, d.OutputFacets)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("outputs %q, want %q", names, c.want)
		}
	}
	// The directory of a build has the files of all tables.
	other := one(3)
	other.Family = "g"
	tables := []result.Table{{Manifest: one(4)}, {Manifest: other}, {}}
	e := withAmounts(Event{Outputs: []dataset{{Name: "/out"}}}, "dev", "build", progress.Amount{}, ending.Outcome{Result: &result.Result{Manifest: one(5), Tables: tables}})
	if d := e.Outputs[0]; d.OutputFacets.Statistics.Rows != 12 || !slices.Equal(d.Facets.Schema.Fields, []field{{"f:id"}, {"g:id"}}) {
		t.Errorf("%+v of %+v", d.OutputFacets.Statistics, d.Facets.Schema)
	}
}

// TestInputDatasets checks that streams are no datasets, that a file whose name looks like a pattern is one, and that amounts that are not known are left
// out.
func TestInputDatasets(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "g[1].csv"), filepath.Join(dir, "pipe")
	testcheck.Must(t, os.WriteFile(file, nil, 0o600))
	testcheck.Must(t, unix.Mkfifo(pipe, 0o600))
	w := Subject{Command: "build", Env: &cluster.Env{Conf: &hdfsio.Conf{}}, Spec: spec.Spec{Key: "id", Inputs: []string{"-", file, pipe}}}
	if got := inputDatasets(w); !slices.Equal(got, []dataset{{Namespace: "file", Name: file}}) || !hasStreams(w) {
		t.Errorf("%+v", got)
	}
	w.Spec.Inputs = []string{filepath.Join(dir, "*.csv")}
	if got := inputDatasets(w); !slices.Equal(got, []dataset{{Namespace: "file", Name: dir}}) || hasStreams(w) {
		t.Errorf("%+v", got)
	}
	if b, err := json.Marshal(statisticsFacet{Rows: 3}); err != nil || bytes.Contains(b, []byte("size")) || bytes.Contains(b, []byte("fileCount")) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestLineageOfRun checks the reported names of a table and of HDFS, without a cluster.
func TestLineageOfRun(t *testing.T) {
	conf := &hdfsio.Conf{}
	conf.Set("hbase.zookeeper.quorum", "zk2,zk1", "test")
	conf.Set("zookeeper.znode.parent", "/hbase-secure", "test")
	conf.Set("fs.defaultFS", "hdfs://nn:8020", "test")
	quiet := slog.New(slog.DiscardHandler)
	w := Subject{Command: "run", Env: &cluster.Env{Conf: conf}, Spec: spec.Spec{Table: "check",
		Key: "salt(id)+id", Inputs: []string{"hdfs:///exports/2026-03-01/*.dump", "hdfs:///exports/2026-03-01/part-[12]", "hdfs://other:9000/x"}}}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	e := describeRun(quiet, "dev", w, "", day, day.AddDate(0, 0, 1), func(string) string { return "" })
	var got []string
	for _, d := range append(e.Inputs, e.Outputs...) {
		got = append(got, d.Namespace+" "+d.Name)
	}
	want := "hdfs://nn:8020 /exports/2026-03-01, hdfs://other:9000 /x, hbase://zk1:2181,zk2:2181/hbase-secure default:check"
	if strings.Join(got, ", ") != want {
		t.Errorf("datasets %q", got)
	}
	registry := &hdfsio.Conf{}
	registry.Set("hbase.client.bootstrap.servers", "rs2:16020,rs1:16020", "test")
	if got := hbaseNamespace(registry); got != "hbase://rs1:16020,rs2:16020" {
		t.Errorf("the namespace of a cluster without ZooKeeper is %s", got)
	}
	if n := e.Run.Facets.NominalTime; n.Start != "2026-03-01T00:00:00.000Z" || n.End != "2026-03-02T00:00:00.000Z" {
		t.Errorf("nominal time %+v", n)
	}
	name := e.Job.Name
	w.Spec.Inputs, w.Spec.Key = nil, "salt( id ) + id"
	if again := describeRun(quiet, "dev", w, "", time.Time{}, time.Time{}, func(string) string { return "" }); again.Job.Name != name {
		t.Errorf("the name %s became %s", name, again.Job.Name)
	}
	for _, tc := range []struct {
		o    ending.Outcome
		want string
	}{
		{ending.Outcome{Err: errors.New("x"), Code: fail.HDFS.ExitCode()}, "START FAIL"},
		{ending.Outcome{Err: errors.New("x"), Code: fail.Busy.ExitCode()}, ""},
		{ending.Outcome{Result: &result.Result{Already: true}}, ""},
		{ending.Outcome{Err: errors.New("rows are gone"), Code: fail.Verify.ExitCode(), Result: &result.Result{Already: true}}, "START FAIL"},
		{ending.Outcome{Err: context.Canceled, Code: 143}, "START ABORT"},
		{ending.Outcome{Result: &result.Result{}}, "START COMPLETE"},
	} {
		file := filepath.Join(t.TempDir(), "events.jsonl")
		l := newObserver(File(file), "dev", "run", func() progress.Amount { return progress.Amount{} }, e)
		if err := l.End(t.Context(), tc.o); err != nil {
			t.Fatal(err)
		}
		var types []string
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			b, err := os.ReadFile(file)
			testcheck.Must(t, err)
			for line := range bytes.Lines(b) {
				var e Event
				testcheck.Must(t, json.Unmarshal(line, &e))
				types = append(types, e.Type)
			}
		}
		if got := strings.Join(types, " "); got != tc.want {
			t.Errorf("%+v: events %q, want %q", tc.o, got, tc.want)
		}
	}
}
