package progress

import (
	"encoding/json"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestProgressHasNoZeroTime checks that the state of a job says nothing about a time that has not come: a reader would take it for the year 1.
func TestProgressHasNoZeroTime(t *testing.T) {
	var tracker Tracker
	for _, change := range []func(Events){
		func(Events) {},
		func(e Events) { e.Phase("snapshot") },
		func(e Events) { e.Start(Start{Table: "t"}) },
		func(e Events) { e.Phase("read") },
	} {
		change(tracker.Events())
		p := tracker.Progress()
		b, err := json.Marshal(p)
		if testcheck.Must(t, err); strings.Contains(string(b), "0001-01-01") || strings.Contains(string(b), `"began"`) == (p.Began.IsZero() && len(p.Phases) == 0) {
			t.Errorf("%s", b)
		}
	}
}
