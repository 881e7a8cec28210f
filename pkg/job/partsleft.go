package job

import (
	"context"
	"sync"
	"time"
)

// PartsWork is work of several parts of a job that was split.
type PartsWork struct {
	Parts int           `json:"parts"`
	Bytes int64         `json:"input_bytes"`
	Took  time.Duration `json:"took_ns,omitempty"` // without pauses; of parts that are done
}

// partSeconds is what a part costs whatever it holds: its table, checks,
// journal and verification.
const partSeconds = 0.4

// partsLeft adds to what is left of the part under way what parts after it are
// going to take: in proportion to their input, by what those took that this run
// did, and by what this one takes as it looks. One that goes on where an
// earlier run was tells nothing of others.
func (p Progress) partsLeft(l Left) Left {
	if p.Start.Parts <= 1 {
		return l
	}
	elapsed := p.At.Sub(p.Began)
	seen := p.Start.Behind
	if !l.JobKnown && seen.Bytes > 0 {
		l.Job, l.JobKnown = max(seen.of(1, p.Start.Bytes)-elapsed, l.Phase), true
	} else if l.JobKnown && p.Start.Attempt <= 1 {
		seen.add(p.Start.Bytes, elapsed+l.Job)
	}
	if p.Start.Ahead.Parts > 0 {
		l.JobKnown = l.JobKnown && seen.Bytes > 0
		l.Job += seen.of(p.Start.Ahead.Parts, p.Start.Ahead.Bytes)
	}
	return l
}

// of is what other parts take, by what these have taken.
func (w PartsWork) of(parts int, bytes int64) time.Duration {
	if w.Parts == 0 || w.Bytes == 0 {
		return 0
	}
	fixed := min(partSeconds, w.Took.Seconds()/float64(w.Parts))
	perByte := (w.Took.Seconds() - fixed*float64(w.Parts)) / float64(w.Bytes)
	return seconds(fixed*float64(parts) + perByte*float64(bytes))
}

// add counts a part more.
func (w *PartsWork) add(bytes int64, took time.Duration) {
	w.Parts++
	w.Bytes += bytes
	w.Took += max(took, 0)
}

// waitClock is a [Gate] that sums up how long anything waits at another.
type waitClock struct {
	gate Gate

	mu      sync.Mutex
	waiting int
	since   time.Time
	total   time.Duration
}

// Wait implements [Gate].
func (c *waitClock) Wait(ctx context.Context) error {
	c.count(1)
	defer c.count(-1)
	return c.gate.Wait(ctx)
}

func (c *waitClock) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == 0 {
		c.since = time.Now()
	}
	if c.waiting += n; c.waiting == 0 {
		c.total += time.Since(c.since)
	}
}

// waited is the sum so far; a nil clock has none.
func (c *waitClock) waited() time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}
