package rekey_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// TestPlan plans a table that does not exist yet, creates it with the suggested split points, and checks with HBase's own client that its regions
// have the predicted rows. A plan leaves no table, no state, and no snapshot of its own.
func TestPlan(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program on a cluster, which -short leaves out")
	}
	const key = "reverse(check_id) + id"
	w := newWorld(t)
	flags := []string{"--to=" + w.new, "--key=" + key, "--plan"}
	w.onlyDeleted(flags)
	printed := w.rekey("", 0, append(flags, "--suggest=7", "--output=text")...)
	points := strings.TrimSpace(printed.stdout)
	if printed.code != 0 || len(strings.Split(points, "\n")) != 6 || !strings.Contains(printed.stderr, "into 7 of 7 regions") {
		t.Fatalf("exit code %d, split points %q\n%s", printed.code, points, printed.stderr)
	}
	file := filepath.Join(t.TempDir(), "splits")
	testcheck.Must(t, os.WriteFile(file, []byte(points+"\n"), 0o644))
	flags = append(flags, "--splits=@"+file)
	e := w.planned(flags...)
	w.nothingPlanned()

	o := w.rekey("", 0, "--to="+w.new, "--key="+key, "--splits=@"+file)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	if got := w.rowsByRegion(e); !slices.Equal(got, rowsPlanned(e)) {
		t.Errorf("regions have %d rows, the plan says %d", got, rowsPlanned(e))
	}
	if o := w.rekey("", 0, flags...); o.code != 3 || !strings.Contains(o.stderr, "is not empty: rows with new keys") {
		t.Errorf("into a table with rows: exit code %d\n%s", o.code, o.stderr)
	}
	w.namedSnapshot(flags, e)
}

// onlyDeleted plans for a table whose rows are all deleted: a compaction makes it empty.
func (w *world) onlyDeleted(flags []string) {
	w.t.Helper()
	if o := w.program("", 0, "table", "create", w.new, "--like="+w.old); o.code != 0 {
		w.t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	w.java("put", w.new, "row", "f:q", "v")
	w.java("delete", w.new, "row")
	if o := w.rekey("", 0, flags...); o.code != 3 || !strings.Contains(o.stderr, "has deleted rows, whose markers would hide new ones: flush and major_compact") {
		w.t.Errorf("into a table with deleted rows: exit code %d\n%s", o.code, o.stderr)
	}
	w.java("flush", w.new)
	w.java("major-compact", w.new)
	if o := w.rekey("", 0, flags...); o.code != 0 {
		w.t.Errorf("after the compaction: exit code %d\n%s", o.code, o.stderr)
	}
	w.java("drop", w.new)
}

// namedSnapshot plans by a snapshot that is there already, which stays.
func (w *world) namedSnapshot(flags []string, e *estimate.Estimate) {
	w.t.Helper()
	c, err := w.env.Dial(w.t.Context())
	testcheck.Must(w.t, err)
	defer c.Close()
	table, err := loader.ParseTableName(w.old)
	testcheck.Must(w.t, err)
	name := testcheck.Name(w.t)
	testcheck.Must(w.t, c.Snapshot(w.t.Context(), table, name, time.Now().UnixMilli()))
	defer func() { testcheck.Must(w.t, c.DeleteSnapshot(w.t.Context(), table, name)) }()
	w.java("delete", w.old, w.firstRow()) // later changes are not counted
	now := w.planned(append(flags, "--to="+w.new+"other", "--snapshot="+name)...)
	if !slices.Equal(rowsPlanned(now), rowsPlanned(e)) {
		w.t.Errorf("by the snapshot there are %d rows, not %d", rowsPlanned(now), rowsPlanned(e))
	}
	if _, there, err := c.SnapshotTime(w.t.Context(), table, name); err != nil || !there {
		w.t.Errorf("the snapshot that was named is gone: %v", err)
	}
}

func (w *world) firstRow() string {
	row, _, _ := strings.Cut(w.java("scan", w.old), "\t")
	return row
}

// planned returns the estimate of a plan.
func (w *world) planned(flags ...string) *estimate.Estimate {
	w.t.Helper()
	o := w.rekey("", 0, flags...)
	e := &estimate.Estimate{}
	if err := json.Unmarshal([]byte(o.stdout), e); err != nil || o.code != 0 {
		w.t.Fatalf("exit code %d, %v\n%s\n%s", o.code, err, o.stdout, o.stderr)
	}
	return e
}

func rowsPlanned(e *estimate.Estimate) (rows []int64) {
	for _, r := range e.Regions {
		rows = append(rows, r.Rows)
	}
	return rows
}

// rowsByRegion returns the rows that HBase's client sees in the new table, by the plan's regions.
func (w *world) rowsByRegion(e *estimate.Estimate) []int64 {
	w.t.Helper()
	var points [][]byte
	for _, p := range e.Splits {
		points = append(points, p)
	}
	ranges, err := partition.New(points)
	testcheck.Must(w.t, err)
	rows, last := make([]int64, ranges.Len()), ""
	for line := range strings.SplitSeq(w.java("versions", w.new), "\n") {
		text, _, _ := strings.Cut(line, "\t")
		if text == last {
			continue
		}
		last = text
		key, err := rowkey.Parse(text)
		testcheck.Must(w.t, err)
		rows[ranges.Find(key)]++
	}
	return rows
}

// nothingPlanned: plans have left no table, no state and no snapshot.
func (w *world) nothingPlanned() {
	w.t.Helper()
	c, err := w.env.Dial(w.t.Context())
	testcheck.Must(w.t, err)
	defer c.Close()
	name, err := loader.ParseTableName(w.new)
	testcheck.Must(w.t, err)
	if _, err := c.Describe(w.t.Context(), name); !errors.Is(err, loader.ErrTableNotFound) {
		w.t.Errorf("table %s is there: %v", w.new, err)
	}
	if left, err := filepath.Glob(filepath.Join(w.state, "*")); err != nil || len(left) > 0 {
		w.t.Errorf("state %q: %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(w.spill, "*")); err != nil || len(left) > 0 {
		w.t.Errorf("spilled %q: %v", left, err)
	}
	_, old, _ := strings.Cut(w.old, ":")
	snapshots, err := jobtest.UserFS(w.t, w.cluster, "hbase").ReadDir(w.t.Context(), "/hbase/.hbase-snapshot")
	testcheck.Must(w.t, err)
	for _, s := range snapshots {
		if strings.HasPrefix(s.Name(), "bulkload-"+old+"-") {
			w.t.Errorf("snapshot %s", s.Name())
		}
	}
}
