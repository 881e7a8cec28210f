package serve

import "sync/atomic"

// budget is memory that requests share. Requests do not wait for it: a request that gets no memory ends a page early,
// or is refused.
type budget struct {
	free atomic.Int64
}

func newBudget(bytes int64) *budget {
	b := &budget{}
	b.free.Store(bytes)
	return b
}

// take reserves n bytes, or nothing.
func (b *budget) take(n int64) bool {
	if b.free.Add(-n) >= 0 {
		return true
	}
	b.free.Add(n)
	return false
}

// force reserves n bytes that are already in use.
func (b *budget) force(n int64) { b.free.Add(-n) }

func (b *budget) give(n int64) { b.free.Add(n) }
