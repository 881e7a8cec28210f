package undo

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// TestLoadWithoutOneTimestampIsComparedInFull checks that mode range, which looks for cells of the load's timestamp, does not pass a table of a load
// without one: it is compared in full, and only when that has found a difference the undo ends without a comparison, and says so.
func TestLoadWithoutOneTimestampIsComparedInFull(t *testing.T) {
	for _, c := range []struct {
		mode    string
		stamp   int64
		differs bool
		want    string
	}{
		{"full", 7, false, "full"},
		{"full", 0, true, "full"},
		{"range", 7, false, "range"},
		{"range", 7, true, "range"},
		{"range", 0, false, "full"},
		{"range", 0, true, "off"},
	} {
		u := &undo{options: Options{Verify: c.mode}, job: &checkpoint.Job{History: history.New()}}
		u.job.Undo = &history.Undoing{Differs: c.differs}
		r := &restore{target: &target{load: &load{stamp: c.stamp}, undo: u}}
		if got := r.verification(); got != c.want {
			t.Errorf("mode %s, timestamp %d, differs %t: %s, want %s", c.mode, c.stamp, c.differs, got, c.want)
		}
	}
}

// TestWhyTheSnapshotIsKept checks that others have lost something is said only where they have.
func TestWhyTheSnapshotIsKept(t *testing.T) {
	for why, restored := range map[string]*result.Restore{
		"since others have lost something":        {Written: 1},
		"since the table was not as the snapshot": {},
	} {
		said := ""
		u := &undo{options: Options{Events: progress.Events{OnWarn: func(msg string, _ ...any) { said = msg }}}}
		r := &restore{target: &target{load: &load{}, undo: u, result: &result.Undo{Restore: restored}}}
		if r.warnKept(); !strings.Contains(said, why) {
			t.Errorf("%s: %s", why, said)
		}
	}
}
