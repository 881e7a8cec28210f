package serve

import (
	"context"
	"slices"
	"sync"
	"time"
)

// gate lets so many requests in at a time, so many of them of one client. A
// few wait in order; a request that would wait longer is refused.
type gate struct {
	most, perClient, queue int
	wait                   time.Duration

	mu      sync.Mutex
	in      int
	clients map[string]int
	waiting []*waiter
}

type waiter struct {
	client string
	most   int           // of its client
	turn   chan struct{} // closed when it is let in
}

func newGate(l Limits) *gate {
	return &gate{most: l.InFlight, perClient: l.PerClient, queue: l.Queue, wait: l.QueueWait, clients: map[string]int{}}
}

// load returns how many requests are in, and how many wait.
func (g *gate) load() (in, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.in, len(g.waiting)
}

// places takes up to so many further places for a request that is in, without waiting and not before any that waits. They
// are given back by leave, one by one.
func (g *gate) places(c *caller, most int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for n < most && len(g.waiting) == 0 && g.admit(c.key(), g.share(c)) {
		n++
	}
	return n
}

// share returns how many places a caller may have at a time.
func (g *gate) share(c *caller) int {
	if c.inFlight > 0 {
		return c.inFlight
	}
	return g.perClient
}

// enter lets a request in, or gives a problem or the context's error. A request that was let in leaves.
func (g *gate) enter(ctx context.Context, c *caller) error {
	client, most := c.key(), g.share(c)
	g.mu.Lock()
	if g.admit(client, most) {
		g.mu.Unlock()
		return nil
	}
	if len(g.waiting) >= g.queue {
		g.mu.Unlock()
		return problem(tooManyRequests, "too many requests are under way and waiting")
	}
	w := &waiter{client: client, most: most, turn: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	timer := time.NewTimer(g.wait)
	defer timer.Stop()
	var err error
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
		err = problem(tooManyRequests, "too many requests are under way")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return err
	}
	return nil // its turn came at the same moment
}

// admit counts a request in, if there is room. The lock is held.
func (g *gate) admit(client string, most int) bool {
	if g.in >= g.most || g.clients[client] >= most {
		return false
	}
	g.in++
	g.clients[client]++
	return true
}

// leave gives a place to the first that waits for one like it.
func (g *gate) leave(c *caller) {
	client := c.key()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in--
	if g.clients[client]--; g.clients[client] == 0 {
		delete(g.clients, client)
	}
	for i := 0; i < len(g.waiting) && g.in < g.most; {
		w := g.waiting[i]
		if !g.admit(w.client, w.most) {
			i++
			continue
		}
		g.waiting = slices.Delete(g.waiting, i, i+1)
		close(w.turn)
	}
}
