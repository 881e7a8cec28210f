package replace

import (
	"sync"

	"github.com/cespare/xxhash/v2"
)

// keyBytes is about what a key takes in a set that has just grown.
const keyBytes = 48

// keySet is the keys of an export, by their hashes of 64 bits: two keys of one hash
// are one, of a billion rows and a billion others about one in twenty sets has
// such a pair. What does not fit is sampled: of all hashes those are kept whose
// lowest bits are 0, which is as many of the keys on either side.
type keySet struct {
	mu   sync.Mutex
	most int
	bits uint // that are 0
	keys map[uint64]struct{}
}

// newKeySet has room for the keys that fit in so much memory.
func newKeySet(memory int64) *keySet {
	return &keySet{most: int(max(memory/keyBytes, 1)), keys: map[uint64]struct{}{}}
}

func hashOf(key []byte) uint64 { return xxhash.Sum64(key) }

// sampled reports whether the set is to know a key.
func (s *keySet) sampled(hash uint64) bool { return hash&(1<<s.bits-1) == 0 }

// of returns how many keys one key in the set represents.
func (s *keySet) of() int64 { return 1 << s.bits }

// add takes some hashes.
func (s *keySet) add(hashes []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hashes {
		if s.sampled(h) {
			s.keys[h] = struct{}{}
		}
		for len(s.keys) > s.most {
			s.halve()
		}
	}
}

// halve keeps about one half of the keys, in a map of their size.
func (s *keySet) halve() {
	s.bits++
	kept := make(map[uint64]struct{}, len(s.keys)/2)
	for h := range s.keys {
		if s.sampled(h) {
			kept[h] = struct{}{}
		}
	}
	s.keys = kept
}

// has reports whether a key that is sampled is in the set.
func (s *keySet) has(hash uint64) bool {
	_, ok := s.keys[hash]
	return ok
}
