package serve

import (
	"sync"
	"sync/atomic"
)

// budget is memory that requests share. Requests do not wait for it: a request that gets no memory ends a page early,
// or is refused.
type budget struct {
	free      atomic.Int64
	perClient int64

	mu      sync.Mutex
	clients map[string]int64 // bytes in use
}

func newBudget(l Limits) *budget {
	b := &budget{perClient: l.clientAnswers(), clients: map[string]int64{}}
	b.free.Store(l.answers())
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

// force reserves n bytes that are already in use, or with n below 0 releases them.
func (b *budget) force(n int64) { b.free.Add(-n) }

// of returns a client's part of the budget.
func (b *budget) of(c *caller) share { return share{b, c.key()} }

// share is the part of a budget that one client may use, so that a client that receives its responses or sends its bodies slowly does not
// take the memory of others.
type share struct {
	*budget
	client string
}

// take reserves n bytes, or nothing.
func (s share) take(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[s.client]+n > s.perClient || !s.budget.take(n) {
		return false
	}
	s.count(n)
	return true
}

// force reserves n bytes that are already in use.
func (s share) force(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.force(n)
	s.count(n)
}

func (s share) give(n int64) { s.force(-n) }

// count adds to the bytes of the client. The caller holds the lock.
func (s share) count(n int64) {
	if s.clients[s.client] += n; s.clients[s.client] == 0 {
		delete(s.clients, s.client)
	}
}
