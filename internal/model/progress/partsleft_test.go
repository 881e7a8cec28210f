package progress

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// migration plays a run of several parts at a constant speed, with the given
// seconds of reading per input, and returns its progress every tenth of a second.
// The part where it begins was half done before.
func migration(parts []float64, from int, resumed bool) (trace []Progress) {
	const perSecond = 1 << 20
	now := time.Date(2017, 10, 12, 3, 0, 0, 0, time.UTC)
	tracker := Tracker{Now: func() time.Time { return now }}
	e := tracker.Events()
	var behind, ahead PartsWork
	for _, read := range parts[from:] {
		ahead.Add(int64(read*perSecond), 0)
	}
	play := func(took float64, do func(part float64)) {
		const step = 0.1
		for t := 0.0; t < took; t += step {
			more := min(step, took-t)
			now = now.Add(Seconds(more))
			do(more / took)
			trace = append(trace, tracker.Progress())
		}
	}
	for i := from; i < len(parts); i++ {
		read, begun := parts[i], now
		bytes := int64(read * perSecond)
		ahead.Parts--
		ahead.Bytes -= bytes
		s := Start{Part: i + 1, Parts: len(parts), Attempt: 1, Bytes: bytes, Regions: 10, Columns: 18, Phases: []string{"read", "write", "load"}, Behind: behind, Ahead: ahead}
		now = now.Add(Seconds(partSeconds / 2))
		half := resumed && i == from
		if half {
			s.Attempt, s.Phases = 2, s.Phases[1:]
		}
		e.OnStart(s)
		rows := float64(bytes) / 200
		if !half {
			e.OnTotal("read", Amount{Bytes: bytes})
			e.OnPhase("read")
			play(read, func(part float64) { e.OnRows(int64(part*rows), int64(part*float64(bytes))) })
		}
		e.OnTotal("write", Amount{Rows: int64(rows)})
		e.OnPhase("write")
		play(1.9*read, func(part float64) { e.OnMerged(int64(part * rows)) })
		e.OnPhase("load")
		now = now.Add(Seconds(partSeconds / 2))
		if !half {
			behind.Add(bytes, now.Sub(begun))
		}
	}
	return trace
}

// TestLeftOfParts compares the estimated time left of all parts with the true one,
// from a third on and while at least two seconds are left.
func TestLeftOfParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	sizes := func(n int, least, most float64) (all []float64) {
		for range n {
			all = append(all, least+rng.Float64()*(most-least))
		}
		return all
	}
	for name, c := range map[string]struct {
		parts   []float64
		from    int
		resumed bool
	}{
		"equal days":          {sizes(30, 5, 5), 0, false},
		"days of a growing":   {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 0, false},
		"days of any size":    {sizes(60, 0.1, 20), 0, false},
		"thousands of hours":  {sizes(500, 0.1, 0.3), 0, false},
		"two years":           {[]float64{300, 60}, 0, false},
		"resumed in a middle": {sizes(40, 2, 12), 17, true},
	} {
		t.Run(name, func(t *testing.T) {
			trace := migration(c.parts, c.from, c.resumed)
			first, last := trace[0].Began, trace[len(trace)-1].At
			whole := last.Sub(first)
			worst, at := 0.0, time.Duration(0)
			for _, p := range trace {
				left := last.Sub(p.At)
				if !p.Left.JobKnown {
					if p.At.Sub(first) > whole/3 {
						t.Fatalf("after %s of %s nothing is known", p.At.Sub(first), whole)
					}
					continue
				}
				off := (p.Left.Job - left).Abs().Seconds() / left.Seconds()
				if p.At.Sub(first) > whole/3 && left > 2*time.Second && off > worst {
					worst, at = off, p.At.Sub(first)
				}
			}
			t.Logf("worst %.2f", worst)
			if worst > 0.3 {
				t.Errorf("after %s of %s the time left is %.0f %% off", at, whole, 100*worst)
			}
		})
	}
}

// TestWaitClock checks that concurrent waits count once.
func TestWaitClock(t *testing.T) {
	var none *WaitClock
	if none.Waited() != 0 {
		t.Error("no clock has waited")
	}
	synctest.Test(t, func(t *testing.T) {
		h := &Hold{}
		c := &WaitClock{Gate: h}
		if err := c.Wait(t.Context()); err != nil || c.Waited() != 0 {
			t.Fatalf("an open gate: %v, %s", err, c.Waited())
		}
		h.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan error)
		for range 3 {
			go func() { ended <- c.Wait(ctx) }()
		}
		for range 3 {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the end of waiting: %v", err)
			}
		}
		if got := c.Waited(); got != time.Hour {
			t.Errorf("%s of an hour waited", got)
		}
	})
}
