package progress

import (
	"testing"
	"time"
)

// TestTrackerFoldsParts checks that a tracker keeps the sums of all parts of a run,
// and only the phases of the current part separately.
func TestTrackerFoldsParts(t *testing.T) {
	now := time.Unix(0, 0)
	tracker := &Tracker{Now: func() time.Time { return now }}
	e := tracker.Events()
	const parts = 1000
	for part := range parts {
		e.OnStart(Start{Part: part + 1, Parts: parts})
		e.OnTotal("read", Amount{Bytes: 10})
		e.OnPhase("read")
		now = now.Add(2 * time.Second)
		e.OnRows(5, 10)
		e.OnPhase("write")
		now = now.Add(3 * time.Second)
		e.OnMerged(5)
	}
	tracker.End()
	p := tracker.Progress()
	if len(p.Phases) != 4 {
		t.Fatalf("%d phases", len(p.Phases))
	}
	for i, want := range []struct {
		name  string
		took  time.Duration
		done  Amount
		total int64
	}{
		{"read", (parts - 1) * 2 * time.Second, Amount{Rows: (parts - 1) * 5, Bytes: (parts - 1) * 10}, (parts - 1) * 10},
		{"write", (parts - 1) * 3 * time.Second, Amount{Rows: (parts - 1) * 5}, 0},
		{"read", 2 * time.Second, Amount{Rows: 5, Bytes: 10}, 10},
		{"write", 3 * time.Second, Amount{Rows: 5}, 0},
	} {
		got := p.Phases[i]
		if got.Name != want.name || got.Ended.Sub(got.Began) != want.took || got.Done != want.done || got.Total.Bytes != want.total {
			t.Errorf("phase %d: %+v, want %+v", i, got, want)
		}
	}
}

// TestSumsOfParts checks that the sums have each phase once, the current one last.
func TestSumsOfParts(t *testing.T) {
	at := time.Unix(0, 0)
	phase := func(name string, rows int64) PhaseProgress {
		return PhaseProgress{Name: name, Began: at, Ended: at.Add(time.Second), Done: Amount{Rows: rows}}
	}
	p := Progress{Phases: []PhaseProgress{phase("read", 5), phase("write", 5), phase("load", 0), phase("read", 6), phase("write", 3)}}
	sums := p.Sums()
	if len(sums) != 3 || sums[0].Name != "load" || sums[1].Done.Rows != 11 || sums[2].Name != "write" || sums[2].Done.Rows != 8 || sums[2].Ended.Sub(at) != 2*time.Second {
		t.Errorf("%+v", sums)
	}
	if len(p.Phases) != 5 || p.Phases[0].Done.Rows != 5 {
		t.Errorf("the phases themselves have changed: %+v", p.Phases)
	}
}
