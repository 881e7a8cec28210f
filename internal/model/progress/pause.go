package progress

import (
	"context"
	"sync"
	"time"
)

// Gate holds work up between two pieces of it. Wait returns when the work may
// continue, or with the cause of the context's end. It is called between batches,
// files and calls, never within one, by many goroutines at a time.
type Gate interface {
	Wait(ctx context.Context) error
}

// Pass waits at a gate, if there is one.
func Pass(ctx context.Context, g Gate) error {
	if g == nil {
		return nil
	}
	return g.Wait(ctx)
}

// Hold is a [Gate] that a user closes and opens, and that is closed outside
// of a window. The zero value is open. Safe for concurrent use.
type Hold struct {
	// Window is when work may continue. Default: always.
	Window *Window
	// Events are called once when work begins to wait, and once when it continues.
	Events Events
	// Rest is called now and then while work waits, by all that wait: to give back what is not needed meanwhile, such as
	// idle connections.
	Rest func()

	mu      sync.Mutex
	paused  bool
	changed chan struct{} // closed when paused changes; nil: nothing waits for that
	waiting int
	reason  string // that was reported
	since   time.Time
}

const (
	// firstRest is when what waiting work holds is looked at again: what was under way has ended by then.
	firstRest = 5 * time.Second
	// holdPoll is how often a waiting Hold looks at the clock, which may be set meanwhile.
	holdPoll = 30 * time.Second
)

// Pause closes the gate: what is in hand is finished, and then work waits.
func (h *Hold) Pause() { h.set(true, "pause requested: work in progress finishes first") }

// Resume opens the gate again, if the window is open.
func (h *Hold) Resume() { h.set(false, "resume requested") }

func (h *Hold) set(paused bool, msg string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.paused == paused {
		return
	}
	h.paused = paused
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
	h.Events.Note(msg)
}

// Wait implements [Gate].
func (h *Hold) Wait(ctx context.Context) error {
	entered := false
	for rest := firstRest; ; rest = holdPoll {
		wait, changed := h.look(&entered)
		if wait == 0 {
			return nil
		}
		if h.Rest != nil {
			h.Rest()
		}
		t := time.NewTimer(min(wait, rest))
		select {
		case <-ctx.Done():
			t.Stop()
			h.leave()
			return context.Cause(ctx)
		case <-changed:
			t.Stop()
		case <-t.C:
		}
	}
}

// look says for how long to wait at most, 0 when the gate is open, and what is
// closed when that changes. It measures the waiting, and returns the text to report.
func (h *Hold) look(entered *bool) (time.Duration, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait, why, until := time.Duration(0), Pause{}, "SIGUSR2"
	if h.paused {
		wait, why.Reason = holdPoll, "an operator requested it"
	} else if h.Window != nil {
		now := time.Now()
		if next := h.Window.Next(now); next.After(now) {
			wait, why = next.Sub(now), Pause{"outside of the window " + h.Window.String(), next}
			until = next.Format(time.RFC3339)
		}
	}
	if wait == 0 {
		if *entered {
			h.left(true)
		}
		return 0, nil
	}
	if !*entered {
		*entered = true
		if h.waiting++; h.waiting == 1 {
			h.since = time.Now()
		}
	}
	if why.Reason != h.reason {
		h.Events.Note("paused", "reason", why.Reason, "until", until)
		h.Events.pause(why)
	}
	h.reason = why.Reason
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return wait, h.changed
}

// leave is for one that does not wait any more though the gate is closed.
func (h *Hold) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left(false)
}

func (h *Hold) left(open bool) {
	if h.waiting--; h.waiting > 0 {
		return
	}
	h.reason = ""
	if open {
		h.Events.Note("resumed", "paused", time.Since(h.since).Round(time.Second))
		h.Events.pause(Pause{})
	}
}
