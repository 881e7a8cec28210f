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

// TestAmountsOfFiles checks that a run without a manifest has the rows of its own table, those of several families once, in each part.
func TestAmountsOfFiles(t *testing.T) {
	var tracker progress.Tracker
	e := tracker.Events()
	for part := range 2 {
		e.Start(progress.Start{Part: part + 1, Parts: 2, Regions: 2})
		for _, f := range []progress.HFile{{Region: 0, Rows: 5, Cells: 9, Bytes: 10}, {Region: 1, Rows: 6, Cells: 8, Bytes: 10}, {Region: 1, Rows: 7, Cells: 7, Bytes: 10}, {Region: 2, Rows: 100, Cells: 100, Bytes: 10}} {
			e.Hfile(f)
		}
	}
	var r *Result
	if m := r.Amounts(tracker.Progress()); m.Digest.Rows != 24 || m.Digest.Cells != 48 || m.HFiles != 6 || m.Bytes != 60 {
		t.Errorf("%d rows, %d cells, %d HFiles, %d bytes", m.Digest.Rows, m.Digest.Cells, m.HFiles, m.Bytes)
	}
	if all := tracker.Progress().HFiles; all != (progress.Amount{Rows: 236, Files: 8, Bytes: 80}) {
		t.Errorf("all files: %+v", all)
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
