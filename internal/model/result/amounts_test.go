package result

import (
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
)

// TestAmounts checks that the records of a directory that failed count with those of the ones that are done, that a share has its own, and that
// a run without either has those that it has read so far.
func TestAmounts(t *testing.T) {
	so := progress.Progress{Phases: []progress.PhaseProgress{{Name: "read", Done: progress.Amount{Rows: 40}}, {Name: "read", Done: progress.Amount{Rows: 9}}}}
	ended := so
	ended.Records = progress.Records{Read: 55, Rejected: 5, Filtered: 2}
	built := &manifest.Manifest{Records: 100, Rejected: 3, Filtered: 1}
	for name, c := range map[string]struct {
		r                        *Result
		p                        progress.Progress
		records, rejected, other int64
	}{
		"nothing":     {nil, progress.Progress{}, 0, 0, 0},
		"reading":     {nil, so, 49, 0, 0},
		"read":        {&Result{}, ended, 55, 5, 2},
		"built":       {&Result{Manifest: built}, ended, 100, 3, 1},
		"directories": {&Result{Manifest: built, Parts: Parts{{Status: PartDone, Records: 100, Rejected: 3}, {Status: PartFailed, Records: 30, Rejected: 4, Filtered: 6}}}, ended, 130, 7, 7},
		"share":       {&Result{Share: &Share{Records: 60, Rejected: 6}}, progress.Progress{}, 60, 6, 0},
		"merge":       {&Result{Share: &Share{Pending: 1}}, ended, 55, 5, 2},
	} {
		if m := c.r.Amounts(c.p); m.Records != c.records || m.Rejected != c.rejected || m.Filtered != c.other {
			t.Errorf("%s: %d records, %d rejected, %d filtered", name, m.Records, m.Rejected, m.Filtered)
		}
	}
	if built.Records != 100 {
		t.Error("the manifest was changed")
	}
}

// TestRecordsOfParts checks that progress adds the records of directories, and that those of one are replaced as it is read again.
func TestRecordsOfParts(t *testing.T) {
	var tracker progress.Tracker
	e := tracker.Events()
	for part, all := range [][]progress.Records{{{Read: 10, Rejected: 1}}, {{Read: 20}, {Read: 30, Rejected: 2, Filtered: 3}}} {
		e.Start(progress.Start{Part: part + 1, Parts: 2})
		for _, r := range all {
			e.Records(r)
		}
	}
	if got, want := tracker.Progress().Records, (progress.Records{Read: 40, Rejected: 3, Filtered: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
