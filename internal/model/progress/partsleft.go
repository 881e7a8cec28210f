package progress

import (
	"context"
	"sync"
	"time"
)

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
