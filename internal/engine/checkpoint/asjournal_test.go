package checkpoint

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// everyEvent returns records of a job with all events: two tables whose files are cut, merged, fenced and lost, the replacement of another table, and
// an undo.
func everyEvent() []struct {
	event Event
	data  any
} {
	file := func(names ...string) (files []loader.HFile) {
		for _, name := range names {
			files = append(files, loader.HFile{Family: "f", Path: "hdfs://nn/s/f/" + name, First: rowkey.Key("a"), Last: rowkey.Key("z"), Size: 9, Cells: 3, FileID: 7})
		}
		return files
	}
	made, exporting := &TableRecord{Cluster: "c", State: 5, Regions: []RegionRecord{{Name: "ab", Made: 4}}}, ExportingRecord{Table: "t", Dir: "/out", Token: "k", Read: "s", Now: 5}
	m := &manifest.Manifest{Table: "t", HFiles: 1, Digest: manifest.Digest{Rows: 1, Cells: 3}}
	sending := func(names ...string) SendingRecord {
		return SendingRecord{Groups: []FilesRecord{{Region: "ab", Server: "rs1", Attempt: 1, Files: file(names...)}}}
	}
	undoing := UndoRecord{Timestamp: 7, Snapshot: "s0", Created: 8, Staging: "hdfs://nn/u0", Tables: []UndoTable{{"x", "s1", "hdfs://nn/u1"}}}
	markers := MarkersRecord{Undo: &result.Undo{Timestamp: 7, Tables: []*result.Undo{{}}}, Files: file("m0"), Tables: []UndoMarkers{{"x", file("m1")}}}
	plan := PlanRecord{Job: "0123456789abcdef", Table: "t", Timestamp: 7, Splits: []rowkey.Key{rowkey.Key("m")}, Staging: "hdfs://nn/s", Made: made, Inputs: []InputRecord{{Input: "/in.csv", Size: 7, Time: time.Now()}}, Tables: []PlanRecord{{Table: "x"}}}
	return []struct {
		event Event
		data  any
	}{
		{EventDiscarded, DiscardedRecord{}}, {EventDiscarded, DiscardedRecord{Prepared: map[string]string{"hdfs://nn/hbase/staging/9": "t"}, Staging: []string{"hdfs://old/s"}, Snapshot: &SnapshotRecord{Snapshot: "kept", Created: 5}, Fresh: &FreshRecord{Table: "t", From: "old", Made: made}}},
		{EventExporting, exporting}, {EventExported, ExportedRecord{Region: 1, Wrote: manifest.ExportedRegion{NoCells: 1}}},
		{EventStream, streams.Record{Input: "-", Place: "-", Copy: "/tmp/copy"}},
		{EventRekey, RekeyRecord{From: "old", Snapshot: "s", Own: true, Now: 5}},
		{EventComparing, ComparingRecord{Table: "t", A: "snapshot a", B: "export b", Now: 5, Cuts: []rowkey.Key{[]byte("m")}}},
		{EventCluster, ClusterRecord{Conf: "/etc/other", Result: result.Cluster{Conf: "/etc/other", Status: result.PartDone}}},
		{EventCompared, ComparedRecord{Range: 1, Found: result.ComparedRange{RowsA: 1, Differences: result.Differences{OnlyA: 1}}}},
		{EventReadSnapshot, ReadSnapshotRecord{Input: "table:y", Place: "y", Table: "y", Snapshot: "r"}},
		{EventFresh, FreshRecord{Table: "t", From: "old", Old: made}},
		{EventFresh, FreshRecord{Table: "t", From: "old", Old: made, Made: made}},
		{EventPlan, plan},
		{EventAttempt, AttemptRecord{Attempt: 1, PID: 2, Host: "h"}},
		{EventChecking, CheckingRecord{Table: "t", Token: "hdfs://nn/hbase/staging/0"}},
		{EventChecking, CheckingRecord{Table: "t", Token: "hdfs://nn/hbase/staging/0", Gone: true}},
		{EventQuiet, QuietRecord{Table: "t", Was: map[string]string{"SPLIT_ENABLED": ""}}},
		{EventSpill, build.SpillRecord{Dir: "/tmp/spill"}},
		{EventSorted, build.SortedRecord{Regions: []int{0, 1, 2}}},
		{EventSubmitting, build.SubmissionRecord{Tag: "tag", Dir: "hdfs://nn/y", Weights: []int64{1, 2}}},
		{EventSubmitted, build.SubmissionRecord{Tag: "tag", Dir: "hdfs://nn/y", Application: "a_1"}},
		{EventEnded, EndedRecord{Tag: "tag", How: "killed"}},
		{EventSubmitting, build.SubmissionRecord{Tag: "tag2", Dir: "hdfs://nn/y"}},
		{EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/0", Rows: 1}}},
		{EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/1", Region: 1, Rows: 1}}},
		{EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/2", Rows: 2}, Ordinal: 2}},
		{EventBuilt, BuiltRecord{Manifest: m, Tables: []*manifest.Manifest{m}}},
		{EventFailed, FailedRecord{Error: "no"}},
		{EventAttempt, AttemptRecord{Attempt: 2, PID: 3, Host: "h"}},
		{EventLost, build.LostRecord{Regions: []int{1, 2}}},
		{EventWritten, build.WrittenRecord{File: manifest.File{Name: "f/1", Region: 1, Rows: 1}}},
		{EventBuilt, BuiltRecord{Manifest: m, Tables: []*manifest.Manifest{m}}},
		{EventSpill, build.SpillRecord{}},
		{EventStream, streams.Record{Input: "-", Place: "-"}},
		{EventReadSnapshot, ReadSnapshotRecord{Input: "table:y", Place: "y", Table: "y"}},
		{EventSnapshotting, SnapshotRecord{Snapshot: "before", Created: 3}},
		{EventSnapshot, SnapshotRecord{Snapshot: "before"}},
		{EventReadSnapshot, ReadSnapshotRecord{Place: PlaceCompared, Table: "t", Snapshot: "cmp", Created: 4}},
		{EventReplaced, ReplacedRecord{Replace: &result.Replace{Rows: 2}, Files: file("d")}},
		{EventReadSnapshot, ReadSnapshotRecord{Place: PlaceCompared, Table: "t"}},
		{EventLoading, FilesRecord{Files: file("0", "1", "2", "3")}},
		{EventCut, RewrittenRecord{Parents: file("0"), Children: file("0a", "0b")}},
		{EventMerged, RewrittenRecord{Parents: file("0b", "1"), Children: file("01")}},
		{EventPrepared, TokenRecord{"hdfs://nn/hbase/staging/1"}},
		{EventSending, sending("0a", "01", "2")},
		{EventLoaded, FilesRecord{Region: "ab", Files: file("0a")}},
		{EventReturned, FilesRecord{Region: "ab", Reason: "moved", Files: file("01")}},
		{EventUnknown, FilesRecord{Region: "ab", Files: file("2")}},
		{EventFencing, FencingRecord{File: file("2")[0], To: "hdfs://nn/s/f/2_1"}},
		{EventFenced, FencingRecord{File: file("2_1")[0], From: "hdfs://nn/s/f/2"}},
		{EventSending, sending("01", "2_1", "3")},
		{EventLoaded, FilesRecord{Region: "ab", Files: file("01", "2_1", "3")}},
		{EventCleaned, TokenRecord{"hdfs://nn/hbase/staging/1"}},
		{EventVerified, &result.Verification{Mode: "full"}},
		{EventQuiet, QuietRecord{Table: "t", Over: true}},
		{EventTable, TurnRecord{1, "x"}},
		{EventLoading, FilesRecord{Files: file("x")}},
		{EventLoaded, FilesRecord{Region: "cd", Files: file("x")}},
		{EventVerified, &result.Verification{Mode: "full"}},
		{EventDone, DoneRecord{Result: &result.Result{Schema: 1}, Staging: StagingRemoved, Next: true}}, {EventCleaned, TokenRecord{"hdfs://nn/s"}},
		{EventDropping, DropRecord{Table: "old"}},
		{EventDropped, DropRecord{Table: "old"}},
		{EventAttempt, AttemptRecord{Attempt: 3, PID: 4, Host: "h"}},
		{EventUndoing, undoing},
		{EventUndoing, UndoRecord{}},
		{EventUndoing, undoing},
		{EventMarkers, markers},
		{EventTable, TurnRecord{1, "x"}},
		{EventLoading, FilesRecord{Files: file("m1")}},
		{EventSending, sending("m1")},
		{EventLoaded, FilesRecord{Region: "cd", Files: file("m1")}},
		{EventTableUndone, TurnRecord{1, "x"}},
		{EventTable, TurnRecord{0, "t"}},
		{EventUndone, UndoneRecord{&result.Undo{Timestamp: 7}}},
		{EventUndoing, UndoRecord{Timestamp: 7, Created: 9, Snapshot: "now", From: &RestoredFrom{Snapshot: "before", Created: 3, Discard: true}}},
		{EventRestoring, RestoringRecord{Undo: &result.Undo{Timestamp: 7, By: "snapshot", Restore: &result.Restore{Removed: 2}}, Nonce: 1<<63 | 1}},
		{EventRestored, TurnRecord{0, "t"}}, {EventTableUndone, TurnRecord{0, "t"}},
		{EventUndone, UndoneRecord{&result.Undo{Timestamp: 7}}},
	}
}

func openEmpty(t *testing.T, dir string) *Job {
	t.Helper()
	id, err := Identify(jobtest.Env(t), jobtest.Resolve(t, spec.Spec{Table: "t", Key: "id", Inputs: []string{"/in"}}), "")
	if err != nil {
		t.Fatal(err)
	}
	st, err := Open(t.Context(), nil, id.On("test"), Options{Dir: dir}, progress.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// TestRecordAppliesWhatAReplayWould checks that after each record a process has the same history as the next one, with a journal and without.
func TestRecordAppliesWhatAReplayWould(t *testing.T) {
	kept, alone := openEmpty(t, t.TempDir()), openEmpty(t, "")
	var had []Event
	for i, r := range everyEvent() {
		had = append(had, r.event)
		if err := errors.Join(kept.Record(r.event, r.data), alone.Record(r.event, r.data)); err != nil {
			t.Fatalf("record %d (%s): %v", i+1, r.event, err)
		}
		if err := kept.asJournal(); err != nil {
			t.Fatalf("after record %d (%s): %v", i+1, r.event, err)
		}
		a, b := kept.tableLoads(), alone.tableLoads()
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(kept.Done, alone.Done) || kept.AnyLoading() != alone.AnyLoading() || kept.Finished != alone.Finished {
			t.Fatalf("after record %d (%s) a job without a directory knows %+v, %+v, one with a directory %+v, %+v", i+1, r.event, b, alone.Done, a, kept.Done)
		}
	}
	for _, e := range eventInfos() {
		if !slices.Contains(had, e.Event) {
			t.Errorf("no record is of %s", e.Event)
		}
	}
	kept.Loading = !kept.Loading
	if err := kept.asJournal(); err == nil || !strings.Contains(err.Error(), "tableLoad is ") {
		t.Errorf("a history that was changed without a record: %v", err)
	}
}

// TestRecordsOfManyAreInOneOrder checks that of two records of one object the one later in the journal wins.
func TestRecordsOfManyAreInOneOrder(t *testing.T) {
	st := openEmpty(t, t.TempDir())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				w := build.WrittenRecord{File: manifest.File{Name: fmt.Sprintf("f/%d", i), Region: n}}
				if err := st.Record(EventWritten, w); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := st.asJournal(); err != nil || len(st.Written) != 20 {
		t.Errorf("%d regions: %v", len(st.Written), err)
	}
}

// TestNobodyElseChangesAHistory parses the program, and checks that only this package assigns a field of a history, or an element of one.
func TestNobodyElseChangesAHistory(t *testing.T) {
	fields := map[string]bool{}
	for _, v := range []any{History{}, tableLoad{}, build.Done{}, Undoing{}} {
		for i := range reflect.TypeOf(v).NumField() {
			fields[reflect.TypeOf(v).Field(i).Name] = true
		}
	}
	owners := []string{"st", "log", "History", "Journal", "undoing", "Undo"}
	seen := 0
	for _, root := range []string{"../../../pkg", "../../../cmd", "../.."} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || filepath.Dir(name) == "." {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err != nil || !slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"bulkload/internal/engine/checkpoint"` }) {
				return err
			}
			seen++
			for _, x := range assigned(f) {
				for i, part := range x.chain[1:] {
					if slices.Contains(owners, x.chain[i]) && fields[part] {
						t.Errorf("%s: %s changes a history without a record", files.Position(x.pos), strings.Join(x.chain, "."))
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 20 {
		t.Errorf("%d files import this package", seen)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { j.st.Built = nil; delete(st.Written, 1); u.st.Undo.Out[2] = true; j.dir = j.st.Dir; log.Loading = true }", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(assigned(f)), "[j.st.Built st.Written u.st.Undo.Out j.dir log.Loading]"; got != want {
		t.Errorf("assigned are %s, want %s", got, want)
	}
}

// place is the target of an assignment, as a path of names.
type place struct {
	chain []string
	pos   token.Pos
}

func (p place) String() string { return strings.Join(p.chain, ".") }

// assigned returns the places that a file assigns or deletes from.
func assigned(f *ast.File) (places []place) {
	add := func(e ast.Expr) {
		p := place{pos: e.Pos()}
		for e != nil {
			switch x := e.(type) {
			case *ast.SelectorExpr:
				p.chain, e = append(p.chain, x.Sel.Name), x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			case *ast.Ident:
				p.chain, e = append(p.chain, x.Name), nil
			default:
				e = nil
			}
		}
		if slices.Reverse(p.chain); len(p.chain) > 1 {
			places = append(places, p)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for _, e := range x.Lhs {
				add(e)
			}
		case *ast.IncDecStmt:
			add(x.X)
		case *ast.CallExpr:
			if name, ok := x.Fun.(*ast.Ident); ok && (name.Name == "delete" || name.Name == "clear") && len(x.Args) > 0 {
				add(x.Args[0])
			}
		}
		return true
	})
	return places
}
