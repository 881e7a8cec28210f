package encode

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestHelpersDoWhatTheyTook checks that each item is done once, also items that are queued
// when the last worker with a region leaves, and that the number of queued items is limited.
func TestHelpersDoWhatTheyTook(t *testing.T) {
	const n, writers = 5, 2
	h := NewIdle(n)
	var did, given atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if i >= writers {
				h.Help()
				return
			}
			for h.Count() < n-writers {
				if h.Count() == 0 && h.Do(func() {}) {
					given.Add(1) // a helper arrived meanwhile
					did.Add(1)
				}
			}
			for range 1000 {
				if h.Do(func() { did.Add(1) }) {
					given.Add(1)
				}
				if q := h.queued.Load(); q > queuedEach*n {
					t.Errorf("%d things are queued", q)
				}
			}
			if i == 0 {
				h.Leave() // it failed
			} else {
				h.Help()
			}
		})
	}
	wg.Wait()
	if did.Load() != given.Load() || given.Load() == 0 {
		t.Errorf("%d things were done of %d", did.Load(), given.Load())
	}
}
