package serve

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// gate limits the number of concurrent requests, in total and for each client. Some requests wait in order; requests
// beyond the queue or the waiting time are refused.
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
	most   int           // limit of its client
	turn   chan struct{} // closed when the request is let in
}

func newGate(l Limits) *gate {
	return &gate{most: l.InFlight, perClient: l.PerClient, queue: l.Queue, wait: l.QueueWait, clients: map[string]int{}}
}

func (g *gate) load() (in, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.in, len(g.waiting)
}

// places takes up to most further places for an active request. It does not wait, and takes none while others wait. Each
// place is returned by a call of leave.
func (g *gate) places(c *caller, most int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for n < most && len(g.waiting) == 0 && g.admit(c.key(), g.share(c)) {
		n++
	}
	return n
}

// share returns the number of places that a caller may have at a time.
func (g *gate) share(c *caller) int {
	if c.inFlight > 0 {
		return c.inFlight
	}
	return g.perClient
}

// enter waits for a place, or returns a problem or the context's error. After success the request must call leave.
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
	var err error
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(g.wait):
		err = problem(tooManyRequests, "too many requests are under way")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return err
	}
	return nil // it was let in at the same moment
}

// admit takes a place if one is free. The caller holds the lock.
func (g *gate) admit(client string, most int) bool {
	if g.in >= g.most || g.clients[client] >= most {
		return false
	}
	g.in++
	g.clients[client]++
	return true
}

// leave returns a place, which goes to the first waiting request that may have it.
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

// maxRates is the number of callers whose rates are stored.
const maxRates = 10_000

// rates limits the requests a second of each caller. Nil means no limit.
type rates struct {
	each  rate.Limit
	burst int

	mu sync.Mutex
	by map[string]*rate.Limiter
}

func newRates(each float64) *rates {
	if each <= 0 {
		return nil
	}
	return &rates{each: rate.Limit(each), burst: max(1, int(each)), by: map[string]*rate.Limiter{}}
}

// allow counts a request, and reports whether it is within the limit.
func (r *rates) allow(caller string) bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.by[caller]
	if l == nil {
		if len(r.by) >= maxRates {
			maps.DeleteFunc(r.by, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= float64(r.burst) }) // clients without a request for a while
		}
		if len(r.by) >= maxRates {
			return false
		}
		l = rate.NewLimiter(r.each, r.burst)
		r.by[caller] = l
	}
	return l.Allow()
}
