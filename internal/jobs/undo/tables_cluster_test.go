package undo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/loader"
)

// tablesNights are nights of three tables: the job's own, a further one with the same keys, and an index by v, half of whose entries change every
// night.
type tablesNights struct {
	*nights
	tables []string // in loading order
}

func newTablesNights(t *testing.T, versions ...int) *tablesNights {
	t.Helper()
	c := testcluster.Shared(t)
	n := &tablesNights{nights: &nights{t: t, cluster: c, env: jobtest.ClusterEnv(t, c), state: t.TempDir()}}
	for i, splits := range [][][]byte{{[]byte("k0150")}, {[]byte("k0120"), []byte("k0260")}, {[]byte("2")}} {
		n.tables = append(n.tables, jobtest.FreshTableAt(t, n.env, splits, func(f *loader.Family) { f.Versions = versions[i] }))
	}
	n.table = n.tables[0]
	return n
}

// load loads a night and returns the directory of its job.
func (n *tablesNights) load(night, from, to int) (dir string, s spec.Spec) {
	n.t.Helper()
	s = n.spec(night, from, to)
	s.Tables = []spec.TableSpec{{Index: "by_v", Table: n.tables[2], Key: `v + "|" + id`, Covers: []string{"w"}}, {Table: n.tables[1], Key: "id", Columns: []string{"w"}}}
	r, err := n.run(s, checkpoint.Options{})
	if err != nil {
		n.t.Fatal(err)
	}
	return r.Job, s
}

// digests returns the digest of each table, read by the Java client.
func (n *tablesNights) digests() (all []string) {
	n.t.Helper()
	for _, table := range n.tables {
		all = append(all, (&nights{t: n.t, cluster: n.cluster, table: table}).digest())
	}
	return all
}

// leftNothing checks that no snapshot or file of any table is left.
func (n *tablesNights) leftNothing() {
	n.t.Helper()
	for _, table := range n.tables {
		(&nights{t: n.t, env: n.env, table: table}).leftNothing()
	}
}

// undos returns the state of each table's undo, as shown by status.
func (n *tablesNights) undos(dir string) (all []string) {
	n.t.Helper()
	s, err := status.Read(dir)
	if err != nil || len(s.Tables) != len(n.tables) {
		n.t.Fatalf("status says %+v, %v", s, err)
	}
	for i, table := range s.Tables {
		if table.State != history.TableVerified || table.Table != n.tables[i] || table.Loaded != table.HFiles || table.HFiles == 0 {
			n.t.Errorf("the load of table %d is %+v", i, table)
		}
		all = append(all, table.Undo)
	}
	return all
}

// loseMarkers removes the files with markers of a table, which the next undo writes again.
func (n *tablesNights) loseMarkers(dir string, table int) {
	n.t.Helper()
	trace, err := status.ReadTrace(dir)
	if err != nil {
		n.t.Fatal(err)
	}
	fsys, name, err := n.env.Resolve(trace.Undo.Of(table).Staging)
	if err == nil {
		err = fsys.RemoveAll(n.t.Context(), name+"/f")
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// TestUndoTables undoes one night of three in three tables, and checks that each is like one that never had it. The undo is killed at its steps and
// between tables: a row whose index entry is removed is still in its table.
func TestUndoTables(t *testing.T) {
	t.Parallel()
	n := newTablesNights(t, 2, 2, 2)
	bin := jobtest.Program(t)
	n.load(1, 0, 200)
	second, secondSpec := n.load(2, 100, 300)
	n.load(3, 250, 350)
	other := newTablesNights(t, 2, 2, 2)
	other.load(1, 0, 200)
	other.load(3, 250, 350)
	want, before := other.digests(), n.digests()
	for i := range want {
		if want[i] == before[i] {
			t.Fatalf("table %d had nothing of the night", i)
		}
	}

	diff, err := undo.Diff(t.Context(), n.env, second, undo.DiffOptions{Keys: 1})
	if err != nil || len(diff.Tables) != 2 {
		t.Fatalf("diff says %+v, %v", diff, err)
	}
	for i, s := range append([]*result.Survey{diff}, diff.Tables...) {
		overwritten := []int64{100, 100, 50}[i]
		if s.Table != n.tables[i] || s.RowsOverwritten != overwritten || s.RowsAdded != 200-overwritten || s.Regions[0].Rows > 0 && len(s.Regions[0].Keys) != 1 {
			t.Errorf("diff of table %d says %+v", i, s)
		}
	}
	dry, err := undo.Run(t.Context(), n.env, second, undo.Options{DryRun: true})
	if err != nil || len(dry.Tables) != 2 || dry.Tables[1].Index != "by_v" || dry.Tables[1].Survey.Load.Rows != 200 || !slices.Equal(n.digests(), before) {
		t.Fatalf("predicted is %+v, %v", dry, err)
	}
	if got := fmt.Sprint(n.undos(second)); got != "[  ]" {
		t.Errorf("after a dry run status says %q", got)
	}

	for _, kill := range []struct {
		after  string
		undos  string
		undone int // number of tables, from the last
	}{
		{"undoing", "[pending pending pending]", 0}, {"markers", "[pending pending pending]", 0}, {"sending", "[pending pending under way]", 0},
		{"table_undone", "[pending pending undone]", 1}, {"table", "[pending pending undone]", 1}, {"loading", "[pending under way undone]", 1},
		{"table_undone", "[pending undone undone]", 2}, {"sending", "[under way undone undone]", 2},
	} {
		n.killed(bin, second, kill.after)
		if got := fmt.Sprint(n.undos(second)); got != kill.undos {
			t.Errorf("after %s status says %s, want %s", kill.after, got, kill.undos)
		}
		for i, got := range n.digests() {
			out := i >= len(want)-kill.undone
			if out && got != want[i] {
				t.Errorf("after %s table %d is %s, without the night %s", kill.after, i, got, want[i])
			}
			// A sent call may have succeeded, but no table is begun before the one after it is done.
			if i < len(want)-kill.undone-1 && got != before[i] {
				t.Errorf("after %s table %d is %s, and was %s", kill.after, i, got, before[i])
			}
		}
		if _, err := n.run(secondSpec, checkpoint.Options{Restart: true}); fail.KindOf(err) != fail.Check {
			t.Errorf("after %s a job whose undo is under way runs: %v", kill.after, err)
		}
		if kill.after == "table" {
			n.loseMarkers(second, 1)
		}
	}
	r, err := undo.Run(t.Context(), n.env, second, undo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range append([]*result.Undo{r}, r.Tables...) {
		if x.Markers != 200 || x.Files != []int{2, 3, 2}[i] || x.Verify != "full" && i == 0 || x.Snapshot != "" || x.Table != n.tables[i] {
			t.Errorf("of table %d undone is %+v", i, x)
		}
	}
	if got := n.digests(); !slices.Equal(got, want) {
		t.Errorf("the tables are %s, without the night %s", got, want)
	}
	n.leftNothing()
	if got := fmt.Sprint(n.undos(second)); got != "[undone undone undone]" {
		t.Errorf("status says %s", got)
	}
	again, err := undo.Run(t.Context(), n.env, second, undo.Options{})
	if err != nil || !again.Already || len(again.Tables) != 2 {
		t.Errorf("once more: %+v, %v", again, err)
	}

	// The night is loaded again, with another timestamp.
	if _, err := n.run(secondSpec, checkpoint.Options{Restart: true}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(n.undos(second)); got != "[  ]" {
		t.Errorf("loaded again, status says %s", got)
	}
}

// TestUndoTablesRefuses checks that no table is changed if one of them would lose data.
func TestUndoTablesRefuses(t *testing.T) {
	t.Parallel()
	n := newTablesNights(t, 2, 1, 1)
	n.load(1, 0, 200)
	second, _ := n.load(2, 100, 300)
	for _, table := range n.tables[1:] {
		(&nights{t: t, cluster: n.cluster, table: table}).compact()
	}
	before := n.digests()
	for _, dry := range []bool{true, false} {
		r, err := undo.Run(t.Context(), n.env, second, undo.Options{DryRun: dry})
		if fail.KindOf(err) != fail.Check || len(r.Refused) != 2 || !strings.Contains(err.Error(), "nothing was changed") {
			t.Fatalf("an undo that loses rows is not refused: %+v, %v", r, err)
		}
		for i, why := range r.Refused {
			if !strings.Contains(why, "table "+n.tables[i+1]+": family f keeps one version") {
				t.Errorf("refused is %q", why)
			}
		}
	}
	if got := n.digests(); !slices.Equal(got, before) {
		t.Errorf("a refused undo has changed the tables from %s to %s", before, got)
	}
	if got := fmt.Sprint(n.undos(second)); got != "[  ]" {
		t.Errorf("after a refusal status says %s", got)
	}
	n.leftNothing()
}
