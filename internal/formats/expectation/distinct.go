package expectation

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// room is the memory that is left for sets, in bytes.
type room struct{ left atomic.Int64 }

func newRoom(memory int64) *room {
	r := &room{}
	r.left.Store(memory)
	return r
}

// take reserves the bytes. It returns false, and reserves nothing, if fewer are left.
func (r *room) take(bytes int64) bool {
	if r.left.Add(-bytes) < 0 {
		r.left.Add(bytes)
		return false
	}
	return true
}

// distinct is a set of values, stored as 128-bit hashes with a random seed, so that no input can be built to collide. The probability that two
// of 10^9 values have the same hash is below 10^-20. Several goroutines may add values at once.
type distinct struct {
	room   *room
	seed   uint64
	full   atomic.Bool
	shards [64]shard
}

// A shard is a hash table without pointers. Its free slots are zero.
type shard struct {
	mu    sync.Mutex
	slots []xxh3.Uint128
	used  int
}

const slotBytes = 16

func newDistinct(r *room) *distinct { return &distinct{room: r, seed: rand.Uint64()} }

// add adds a value and reports whether it was added before. Once the memory is insufficient, decided is false for this and all later values.
func (d *distinct) add(value []byte) (seen, decided bool) {
	if d.full.Load() {
		return false, false
	}
	h := xxh3.Hash128Seed(value, d.seed)
	if h == (xxh3.Uint128{}) {
		h.Lo = 1
	}
	s := &d.shards[h.Hi>>58]
	s.mu.Lock()
	defer s.mu.Unlock()
	if 8*(s.used+1) > 7*len(s.slots) && !s.grow(d.room) {
		d.full.Store(true)
		d.room.left.Add(slotBytes * int64(len(s.slots)))
		s.slots, s.used = nil, 0
		return false, false
	}
	return !s.insert(h), true
}

// insert adds a hash and reports whether it is new.
func (s *shard) insert(h xxh3.Uint128) bool {
	mask := uint64(len(s.slots) - 1)
	for i := h.Lo & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			return false
		case xxh3.Uint128{}:
			s.slots[i] = h
			s.used++
			return true
		}
	}
}

// grow doubles the table, if there is memory for the new table in addition to the old one.
func (s *shard) grow(r *room) bool {
	old := s.slots
	n := max(2*len(old), 64)
	if !r.take(slotBytes * int64(n)) {
		return false
	}
	s.slots, s.used = make([]xxh3.Uint128, n), 0
	for _, h := range old {
		if h != (xxh3.Uint128{}) {
			s.insert(h)
		}
	}
	r.left.Add(slotBytes * int64(len(old)))
	return true
}
