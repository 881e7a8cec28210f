package testrun

import (
	"cmp"
	"slices"
	"sync"
)

// A run is one run of go test, for the tests of one package.
type run struct {
	pkg  pkg
	args []string
}

// A queue holds the waiting runs. Those of packages that take long are first, independent of when they were added.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	waiting []run // by rank
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *queue) add(x run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, x)
	slices.SortStableFunc(q.waiting, func(a, b run) int { return cmp.Compare(a.pkg.rank, b.pkg.rank) })
	q.changed.Signal()
}

// close ends the adding of runs.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// next removes the first run from the queue, and waits for one if the queue is empty and not closed. It returns false
// when the queue is closed and empty.
func (q *queue) next() (run, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		if q.closed {
			return run{}, false
		}
		q.changed.Wait()
	}
	x := q.waiting[0]
	q.waiting = q.waiting[1:]
	return x, true
}
