package encode

import (
	"sync/atomic"
)

// Idle are the workers of pass 2 that have no region left to take: they
// encode rows for those that have. It is an [hfile.Helpers].
type Idle struct {
	work   chan func()
	busy   atomic.Int64 // workers that have regions
	count  atomic.Int64
	queued atomic.Int64 // in work
}

// queuedEach is how many things each helper may have to do besides the one that it does: with one, it waits for more while its
// caller appends what is done. The waiting caller takes them back.
const queuedEach = 4

// NewIdle is for n workers. All of them have regions at the beginning.
func NewIdle(n int) *Idle {
	h := &Idle{work: make(chan func(), queuedEach*n)}
	h.busy.Store(int64(n))
	return h
}

// Count implements [hfile.Helpers].
func (h *Idle) Count() int { return int(h.count.Load()) }

// Do implements [hfile.Helpers]: beyond [queuedEach] for each helper the caller does it.
func (h *Idle) Do(work func()) bool {
	if h.queued.Add(1) > queuedEach*h.count.Load() {
		h.queued.Add(-1)
		return false
	}
	h.work <- work // there is room: queued is at most queuedEach*n
	return true
}

// Wait implements [hfile.Helpers]: it does queued work itself until done is closed.
func (h *Idle) Wait(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		select {
		case <-done:
			return
		case work := <-h.work: // the waiting caller has a region, so it is open
			h.queued.Add(-1)
			work()
		}
	}
}

// Help is the rest of a worker's time: it ends when no worker has a region.
func (h *Idle) Help() {
	h.count.Add(1)
	h.Leave()
	for work := range h.work {
		h.queued.Add(-1)
		work()
	}
}

// Leave says that a worker has no region any more.
func (h *Idle) Leave() {
	if h.busy.Add(-1) == 0 {
		close(h.work)
	}
}
