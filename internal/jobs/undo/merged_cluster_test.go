package undo_test

import (
	"strings"
	"testing"

	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
)

// TestUndoBySnapshotMerged undoes a load by a snapshot after regions were merged. HBase 2.4 keeps the merged region then, so that the undo is refused
// before anything is changed, and a new table is made.
func TestUndoBySnapshotMerged(t *testing.T) {
	t.Parallel()
	n := newNightsOf(t, map[string]string{compactUnasked: "100"})
	n.load(1, 0, 200)
	want := n.digest()
	second, _ := n.loadAfter(2, 100, 300)
	with := n.digest()
	n.admin("merge", n.table, "k0074", "k0075")
	_, err := undo.Run(t.Context(), n.env, second, undo.Options{By: undo.BySnapshot})
	if !strings.HasPrefix(n.cluster.Version(), "2.4.") {
		if err != nil || n.digest() != want {
			t.Errorf("got %s, want %s: %v", n.digest(), want, err)
		}
		return
	}
	if fail.KindOf(err) != fail.Check || n.digest() != with {
		t.Errorf("in place: got %s, want %s: %v", n.digest(), with, err)
	}
	into := n.table + "_before"
	if _, err := undo.Run(t.Context(), n.env, second, undo.Options{By: undo.BySnapshot, Into: into}); err != nil || n.digestOf(into) != want {
		t.Errorf("into a new table: %v", err)
	}
	n.admin("drop", into)
}
