package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

func severalTables(change func(*spec.TableSpec)) spec.Spec {
	x := spec.TableSpec{Table: "x", Key: "v", Columns: []string{"id"}}
	if change != nil {
		change(&x)
	}
	return spec.Spec{Table: "t", Key: "id + v", Inputs: []string{"/in"}, Timestamp: 5, Tables: []spec.TableSpec{{Index: "i", Table: "by_v", Key: "v + id"}, x}}
}

// TestTablesAreInThePlan compares a job's settings of its further tables with its plan, by table, and rebuilds their plans.
func TestTablesAreInThePlan(t *testing.T) {
	plan := func(s spec.Spec) PlanRecord {
		p := Asked(jobtest.Resolve(t, s), nil)
		p.Columns = []string{"id", "v"}
		p.Tables = AskedTables(jobtest.Resolve(t, s), nil)
		for i := range p.Tables {
			p.Tables[i].Family = jobtest.Family
			if p.Tables[i].Mapping != nil {
				p.Tables[i].Families = []spec.Family{jobtest.Family}
			}
		}
		return p
	}
	was := plan(severalTables(nil))
	for says, change := range map[string]func(*spec.TableSpec){
		"":                             nil,
		"table x: the mapping was":     func(s *spec.TableSpec) { s.Columns = []string{"v"} },
		"table x: duplicates was fail": func(s *spec.TableSpec) { s.Duplicates = "last" },
		"table x: the filter was the job's, it is id != ''": func(s *spec.TableSpec) { s.Filter = "id != ''" },
		"table x: empty was skip":                           func(s *spec.TableSpec) { s.Empty = "store" },
		"the list of further tables was [x by":              func(s *spec.TableSpec) { s.Table = "y" },
	} {
		err := was.Same(plan(severalTables(change)))
		if (err == nil) != (says == "") || err != nil && (fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
	}
	for i, want := range []string{"x [{f id}]", "by_v [{f _row}]"} {
		p, err := was.Of(1+i).BuildPlan(jobtest.Family, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&build.Resume{Done: &build.Done{Built: &manifest.Manifest{}}}).Manifests([]build.Table{{Plan: p}})
		if err != nil || fmt.Sprint(p.Table, " ", m[0].Cells) != want || p.Timestamp != 5 {
			t.Errorf("%v: %s %v at %d, want %s", err, p.Table, m[0].Cells, p.Timestamp, want)
		}
	}
	one := severalTables(nil)
	one.Tables = nil
	if err := was.Same(plan(one)); err == nil {
		t.Error("a job without its further tables is the same")
	}
}

// journalOf returns the records in a job's directory.
func journalOf(t *testing.T, dir string) []journal.Record {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := journal.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestTablesOfAJournal checks that a history keeps the loads of several tables apart.
func TestTablesOfAJournal(t *testing.T) {
	s := severalTables(nil)
	id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, s), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	open := func() *Job {
		st, err := Open(t.Context(), nil, id.On("test"), Options{Dir: dir}, progress.Events{})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	st := open()
	file := func(path string) []loader.HFile {
		return []loader.HFile{{Family: "f", Path: path, First: rowkey.Key("a"), Last: rowkey.Key("b")}}
	}
	record := func(e Event, data any) {
		t.Helper()
		if err := st.Record(e, data); err != nil {
			t.Fatal(err)
		}
	}
	turn := func(n int) {
		t.Helper()
		if err := st.Turn(n, "x"); err != nil {
			t.Fatal(err)
		}
	}
	record(EventPlan, PlanRecord{Table: "t", Splits: []rowkey.Key{rowkey.Key("m")}, Tables: []PlanRecord{{Table: "x"}}})
	record(EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/1", Region: 1, Rows: 2, Bytes: 10}})
	record(EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/2", Region: 0, Rows: 3, Bytes: 20}, Ordinal: 2})
	turn(0)
	record(EventLoading, FilesRecord{Files: file("1")})
	record(EventPrepared, TokenRecord{"first"})
	record(EventSending, SendingRecord{Groups: []FilesRecord{{Region: "r", Files: file("1")}}})
	record(EventLoaded, FilesRecord{Region: "r", Files: file("1")})
	turn(1)
	record(EventLoading, FilesRecord{Files: file("2")})
	record(EventSending, SendingRecord{Groups: []FilesRecord{{Region: "r", Files: file("2")}}})
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open()
	defer st.Close()
	if st.Written[1].Name != "f/1" || st.Written[2].Name != "f/2" || len(st.Written) != 2 {
		t.Errorf("written: %+v", st.Written)
	}
	if got := fmt.Sprint(st.unresolved(), st.AnyLoading(), st.table, st.Token); got != "[2] true 1" {
		t.Errorf("behind the second table's request: %s", got)
	}
	turn(0)
	if st.Files["1"] != FileLoaded || len(st.Files) != 1 || st.Token != "first" || !st.Loading {
		t.Errorf("the first table: %+v", st.tableLoad)
	}
	turn(2)
	if len(st.Files) != 0 || st.Loading || !st.AnyLoading() || fmt.Sprint(st.unresolved()) != "[2]" {
		t.Errorf("a table whose load has not begun: %+v", st.tableLoad)
	}
	state := &State{}
	state.restore(&st.History)
	if state.HFiles != 2 || state.Rows != 5 || state.Bytes != 30 || len(state.Files) != 1 || state.Loaded != 1 || state.Sent != 1 {
		t.Errorf("the state: %+v", state)
	}
	if got, want := fmt.Sprint(state.Regions, state.Tables), "3 [{t  loading 2 1 10 2 1 0 } {x  loading 3 1 20 1 0 1 }]"; got != want {
		t.Errorf("by table: %s, want %s", got, want)
	}
	turn(0)
	record(EventVerified, &result.Verification{Mode: "full"})
	record(EventBuilt, BuiltRecord{Manifest: &manifest.Manifest{Digest: manifest.Digest{Rows: 7}, HFiles: 3, Bytes: 70}, Tables: []*manifest.Manifest{{Digest: manifest.Digest{Rows: 8}, HFiles: 4, Bytes: 80}}})
	h, err := HistoryOf(journalOf(t, st.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(h.tableStates()), "[{t  verified 7 3 70 2 1 0 } {x  loading 8 4 80 1 0 1 }]"; got != want {
		t.Errorf("by table when all are built: %s, want %s", got, want)
	}
	if one := (&History{Plan: &PlanRecord{Table: "t"}}).tableStates(); one != nil {
		t.Errorf("a job of one table: %v", one)
	}
	trace, err := ReadTrace(st.Dir)
	if err != nil || trace.Status() != JobUnresolved {
		t.Errorf("%v, %v", trace.Status(), err)
	}
}
