// Package retry says when an act is tried again: how long to wait before each
// try ([Policy]), and when to give up. What may be repeated, and what an
// error means, its caller knows. It is a small leaf of its own: from clients of
// Hadoop to commands all share it.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Policy is how long to wait between tries. The zero value waits for nothing
// and never ends.
type Policy struct {
	First  time.Duration // before the second try; each further wait is twice the one before
	Most   time.Duration // the longest wait; 0: waits stay as long as the first
	Jitter bool          // up to half of a wait more, at random, so that many clients do not come back at once
	For    time.Duration // no try begins later than this after the first; 0: no bound
}

// Next returns the wait after a number of tries, if the first one began at a time. It
// is false when the next try would begin too late.
func (p Policy) Next(began time.Time, tries int) (wait time.Duration, again bool) {
	wait = p.First
	for range tries - 1 {
		if wait >= p.Most {
			break
		}
		wait *= 2
	}
	wait = min(wait, max(p.First, p.Most))
	if p.Jitter && wait > 1 {
		wait += rand.N(wait / 2)
	}
	return wait, p.For == 0 || time.Since(began)+wait <= p.For
}

// Sleep waits as long as is due after a number of tries, whatever For is, or returns the
// cause of the context's end.
func (p Policy) Sleep(ctx context.Context, tries int) error {
	wait, _ := p.Next(time.Time{}, tries)
	return Sleep(ctx, wait)
}

// Sleep waits for d, or returns the cause of the context's end.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
