package build

import (
	"io"
	"testing"

	"bulkload/internal/pipeline/encode"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestSinksOfTables checks that a build of several tables keeps no more sets of sinks than its workers have used at a time, whichever tables
// they have written, and that a table reuses its own.
func TestSinksOfTables(t *testing.T) {
	const workers = 3
	s := tablesSpec("x", "fail")
	s.Tables = s.Tables[:3] // without the table that is written cell by cell
	j := jobtest.Resolve(t, s)
	plans, err := NewPlans(j, s.Columns, tablesShapes(t, j, nil), 0)
	testcheck.Must(t, err)
	all := newWriters(Output{FS: hdfsio.Local{}, Dir: t.TempDir()}.Tables(j, plans), nil, Options{})
	discard := func(int) io.Writer { return io.Discard }
	used := map[*encode.Sink]*writers{}
	for range 2 {
		for _, w := range all {
			for range 2 { // the second time with sinks of the first
				var sets [workers][]*encode.Sink
				for i := range sets {
					sets[i], err = w.sinks.take(w, discard)
					testcheck.Must(t, err)
				}
				for _, sinks := range sets {
					for _, s := range sinks {
						if of := used[s]; of != nil && of != w {
							t.Fatalf("table %s has a sink of table %s", w.plan.Table, of.plan.Table)
						}
						used[s] = w
					}
					w.sinks.give(w, sinks)
				}
				if n := len(w.sinks.idle); n != workers {
					t.Errorf("after table %s %d sets are kept, want %d", w.plan.Table, n, workers)
				}
			}
		}
	}
	if got, want := len(used), 2*workers*len(all); got != want { // each time that the table changes
		t.Errorf("%d sinks were made, want %d", got, want)
	}
	if len(all) < 2 {
		t.Error("the job has one table")
	}
}
