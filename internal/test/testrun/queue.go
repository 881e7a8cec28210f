package testrun

import (
	"cmp"
	"slices"
	"sync"
)

// A run is one of go test, for the tests of one package.
type run struct {
	pkg  pkg
	args []string
}

// A queue has the runs that wait. Those of packages that take long come first, whenever they were added.
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

// close says that no more runs will be added.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// next takes the first run from the queue, and waits for one while there may be more. It is false when there will be none.
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
