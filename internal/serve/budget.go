package serve

import "sync/atomic"

// budget is memory that requests share. No request waits for it: one that gets none
// ends a page early or refuses.
type budget struct {
	free atomic.Int64
}

func newBudget(bytes int64) *budget {
	b := &budget{}
	b.free.Store(bytes)
	return b
}

// take reserves bytes, or nothing.
func (b *budget) take(n int64) bool {
	if b.free.Add(-n) >= 0 {
		return true
	}
	b.free.Add(n)
	return false
}

// force reserves bytes that are in use already.
func (b *budget) force(n int64) { b.free.Add(-n) }

func (b *budget) give(n int64) { b.free.Add(n) }
