package serve

import (
	"context"
	"slices"
	"sync"
	"time"
)

// gate lets so many requests in at a time, so many of them of one client. A
// few wait in order; who would wait longer is refused.
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
	turn   chan struct{} // closed when it is let in
}

func newGate(l Limits) *gate {
	return &gate{most: l.InFlight, perClient: l.PerClient, queue: l.Queue, wait: l.QueueWait, clients: map[string]int{}}
}

// enter lets a request in, or gives a problem or the context's error. Who was let in leaves.
func (g *gate) enter(ctx context.Context, client string) error {
	g.mu.Lock()
	if g.admit(client) {
		g.mu.Unlock()
		return nil
	}
	if len(g.waiting) >= g.queue {
		g.mu.Unlock()
		return problem(tooManyRequests, "too many requests are under way and waiting")
	}
	w := &waiter{client: client, turn: make(chan struct{})}
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
func (g *gate) admit(client string) bool {
	if g.in >= g.most || g.clients[client] >= g.perClient {
		return false
	}
	g.in++
	g.clients[client]++
	return true
}

// leave gives a place to the first that waits for one like it.
func (g *gate) leave(client string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in--
	if g.clients[client]--; g.clients[client] == 0 {
		delete(g.clients, client)
	}
	for i := 0; i < len(g.waiting) && g.in < g.most; {
		w := g.waiting[i]
		if !g.admit(w.client) {
			i++
			continue
		}
		g.waiting = slices.Delete(g.waiting, i, i+1)
		close(w.turn)
	}
}
