package history

import (
	"fmt"
	"testing"

	"bulkload/internal/engine/journal"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestTablesKeepTheirLoads checks after each record of a job of two tables what is known of the files of both. The state of a
// table must survive the turn to the other, and come back with the turn to it.
func TestTablesKeepTheirLoads(t *testing.T) {
	files := func(name string) FilesRecord {
		return FilesRecord{Region: "r", Files: []loader.HFile{{Family: "f", Path: "/d/f/" + name}}}
	}
	h := New()
	h.Plan = &PlanRecord{Table: "t", Tables: []PlanRecord{{Table: "x"}}}
	for i, step := range []struct {
		event  Event
		data   any
		tables string // step, loaded files and unresolved files of each
		now    string // files of the current table
	}{
		{EventLoading, files("a"), "[loading 0 0] [pending 0 0]", "map[/d/f/a:0]"},
		{EventLoaded, files("a"), "[loading 1 0] [pending 0 0]", "map[/d/f/a:2]"},
		{EventTable, TurnRecord{Number: 1}, "[loading 1 0] [pending 0 0]", "map[]"},
		{EventLoading, files("b"), "[loading 1 0] [loading 0 0]", "map[/d/f/b:0]"},
		{EventSending, SendingRecord{Groups: []FilesRecord{files("b")}}, "[loading 1 0] [loading 0 1]", "map[/d/f/b:1]"},
		{EventTable, TurnRecord{Number: 0}, "[loading 1 0] [loading 0 1]", "map[/d/f/a:2]"},
		{EventTable, TurnRecord{Number: 0}, "[loading 1 0] [loading 0 1]", "map[/d/f/a:2]"},
		{EventTable, TurnRecord{Number: 1}, "[loading 1 0] [loading 0 1]", "map[/d/f/b:1]"},
		{EventReturned, files("b"), "[loading 1 0] [loading 0 0]", "map[/d/f/b:0]"},
	} {
		r, err := journal.NewRecord(int64(i+1), string(step.event), step.data)
		testcheck.Must(t, err)
		testcheck.Must(t, h.Apply(r))
		states := h.TableStates()
		got := fmt.Sprint([]any{states[0].State, states[0].Loaded, states[0].Sent}, " ", []any{states[1].State, states[1].Loaded, states[1].Sent})
		if got != step.tables || fmt.Sprint(h.Files) != step.now {
			t.Errorf("after record %d, %s: %s and %v, want %s and %s", i+1, step.event, got, h.Files, step.tables, step.now)
		}
	}
}
