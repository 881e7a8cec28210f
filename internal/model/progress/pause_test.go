package progress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// told collects what a Hold reports.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (n *told) tell(msg string, kv ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, strings.TrimSpace(fmt.Sprintln(append([]any{msg}, kv...)...)))
}

// TestHoldPause closes and opens a gate for many workers, by the clock of the
// bubble.
func TestHoldPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &told{}
		var rests atomic.Int64
		h := &Hold{Events: Events{OnNote: log.tell}, Rest: func() { rests.Add(1) }}
		if err := h.Wait(t.Context()); err != nil || len(log.lines) > 0 {
			t.Fatalf("an open gate: %v, %q", err, log.lines)
		}
		h.Pause()
		h.Pause()
		var passed sync.WaitGroup
		for i := range 5 {
			passed.Go(func() {
				<-time.After(time.Duration(i) * time.Minute)
				if err := h.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		<-time.After(time.Hour)
		synctest.Wait()
		if len(log.lines) != 2 || !strings.HasPrefix(log.lines[1], "paused reason an operator requested it") {
			t.Errorf("reported was %q", log.lines)
		}
		if rests.Load() == 0 {
			t.Error("nothing was given back")
		}
		h.Resume()
		passed.Wait()
		if want := "resumed paused 1h0m0s"; len(log.lines) != 4 || log.lines[3] != want {
			t.Errorf("reported was %q, want %q last", log.lines, want)
		}
	})
}

// TestHoldWindow starts at midnight, as bubbles do: the work runs for an hour,
// waits for 23 and runs again; the one note names the time.
func TestHoldWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := ParseWindow("23:30-01:00", time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		log := &told{}
		h := &Hold{Window: w, Events: Events{OnNote: log.tell}}
		var at []time.Duration
		start := time.Now()
		for len(at) < 6 {
			if err := h.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start).Round(time.Minute))
			<-time.After(30 * time.Minute)
		}
		hours := func(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
		if want := []time.Duration{0, hours(0.5), hours(23.5), hours(24), hours(24.5), hours(47.5)}; !slices.Equal(at, want) {
			t.Errorf("work passed at %v, want %v", at, want)
		}
		if len(log.lines) != 4 || log.lines[0] != "paused reason outside of the window 23:30-01:00 UTC until 2000-01-01T23:30:00Z" {
			t.Errorf("reported was %q", log.lines)
		}
	})
}

// TestHoldStops checks that the end of the context ends a wait, with its cause.
func TestHoldStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &told{}
		h := &Hold{Events: Events{OnNote: log.tell}}
		h.Pause()
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("stopped")
		go func() {
			<-time.After(time.Minute)
			cancel(cause)
		}()
		start := time.Now()
		if err := h.Wait(ctx); err != cause || time.Since(start) != time.Minute {
			t.Errorf("error is %v after %s", err, time.Since(start))
		}
		if last := log.lines[len(log.lines)-1]; !strings.HasPrefix(last, "paused") {
			t.Errorf("reported last was %q", last)
		}
	})
}
