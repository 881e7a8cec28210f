package progress

import (
	"context"
	"sync"
	"time"
)

// Gate makes work wait between two pieces of work. Wait returns nil when the work may continue, or the cause if the context ends. Many goroutines call
// it at a time, between batches, files and calls, never within one.
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

// Hold is a [Gate] that a person can close and open, and that is closed outside of a time window. The zero value is open. It is safe for concurrent use.
type Hold struct {
	// Window is the time of day when work may continue. Default: always.
	Window *Window
	// Events are called once when work begins to wait, and once when it continues, however many goroutines wait.
	Events Events
	// Rest is called from time to time by every waiting goroutine, to release resources that are not needed meanwhile, such as idle connections.
	Rest func()

	mu      sync.Mutex
	paused  bool
	changed chan struct{} // closed when paused changes; nil: nothing waits for it
	waiting int
	reason  string // last reported reason
	since   time.Time
}

const (
	// firstRest is the delay before Rest is called a second time. By then, operations that were running when the gate closed have ended.
	firstRest = 5 * time.Second
	// holdPoll is the interval at which a waiting Hold checks the clock, which may be set meanwhile.
	holdPoll = 30 * time.Second
)

// Pause closes the gate: work in progress is finished, then work waits.
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

// look returns how long to wait before the next look, 0 if the gate is open, and a channel that is closed when the gate may have changed. It counts the
// waiting goroutines and reports pauses.
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

// leave is called when a goroutine stops waiting although the gate is closed.
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

// WaitClock is a [Gate] that measures how long at least one goroutine waits at
// another gate.
type WaitClock struct {
	Gate Gate

	mu      sync.Mutex
	waiting int
	since   time.Time
	total   time.Duration
}

// Wait implements [Gate].
func (c *WaitClock) Wait(ctx context.Context) error {
	c.count(1)
	defer c.count(-1)
	return c.Gate.Wait(ctx)
}

func (c *WaitClock) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == 0 {
		c.since = time.Now()
	}
	if c.waiting += n; c.waiting == 0 {
		c.total += time.Since(c.since)
	}
}

// Waited returns the total so far; 0 for a nil clock.
func (c *WaitClock) Waited() time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}
