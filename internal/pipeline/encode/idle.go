package encode

import (
	"sync/atomic"
)

// Idle is the set of workers of pass 2 that have no region left. They encode
// rows for workers that have one. It is an [hfile.Helpers].
type Idle struct {
	work   chan func()
	busy   atomic.Int64 // workers that have regions
	count  atomic.Int64
	queued atomic.Int64 // in work
}

// queuedEach is the number of work items that may be queued for each helper besides its current one. With only one, a helper
// would wait for more while its caller appends finished work. A waiting caller takes queued items back.
const queuedEach = 4

// NewIdle returns an Idle for n workers. All of them have regions at the beginning.
func NewIdle(n int) *Idle {
	h := &Idle{work: make(chan func(), queuedEach*n)}
	h.busy.Store(int64(n))
	return h
}

// Count implements [hfile.Helpers].
func (h *Idle) Count() int { return int(h.count.Load()) }

// Do implements [hfile.Helpers]. If more than [queuedEach] items per helper are queued, it refuses, and the caller does the work.
func (h *Idle) Do(work func()) bool {
	if h.queued.Add(1) > queuedEach*h.count.Load() {
		h.queued.Add(-1)
		return false
	}
	h.work <- work // there is space: queued is at most queuedEach*n
	return true
}

// Wait implements [hfile.Helpers]. It executes queued work until done is closed.
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
		case work := <-h.work: // the waiting caller has a region, so the channel is open
			h.queued.Add(-1)
			work()
		}
	}
}

// Help executes queued work until no worker has a region. A worker calls it after its last region.
func (h *Idle) Help() {
	h.count.Add(1)
	h.Leave()
	for work := range h.work {
		h.queued.Add(-1)
		work()
	}
}

// Leave records that a worker has no more regions.
func (h *Idle) Leave() {
	if h.busy.Add(-1) == 0 {
		close(h.work)
	}
}
