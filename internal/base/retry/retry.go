// Package retry determines when an operation is retried: how long to wait before
// each try, and when to give up ([Policy]). The caller decides which operations
// and which errors allow a retry. It is a small leaf of its own: from clients of
// Hadoop to commands all share it.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Policy determines the waits between tries. The zero value does not wait, and
// never gives up.
type Policy struct {
	First  time.Duration // before the second try; each further wait is twice the previous one
	Most   time.Duration // the longest wait, without jitter; 0: all waits are as long as the first
	Jitter bool          // lengthens each wait at random by up to a half, so that many clients do not retry at once
	For    time.Duration // no try begins later than this after the first; 0: no limit
}

// Next returns the wait after the given number of tries. began is the start of the first
// try. again is false if the next try would begin too late.
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

// Sleep waits as required after the given number of tries, and ignores For. If the context ends
// first, it returns the context's cause.
func (p Policy) Sleep(ctx context.Context, tries int) error {
	wait, _ := p.Next(time.Time{}, tries)
	return Sleep(ctx, wait)
}

// Sleep waits for d. If the context ends first, it returns the context's cause.
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
