package replace

import (
	"sync"

	"github.com/cespare/xxhash/v2"
)

// keyBytes is the approximate memory of a key in a set that has just grown.
const keyBytes = 48

// keySet is a set of the keys of an export, stored as 64-bit hashes. Keys with the
// same hash are equal in the set: with a billion rows and a billion others, about
// one set in twenty has such a pair. If the keys do not fit, the set samples them:
// it keeps only hashes whose lowest bits are 0, which selects the same fraction of
// the keys on both sides.
type keySet struct {
	mu   sync.Mutex
	most int
	bits uint // number of lowest bits that must be 0
	keys map[uint64]struct{}
}

// newKeySet returns a set for as many keys as fit in the given memory.
func newKeySet(memory int64) *keySet {
	return &keySet{most: int(max(memory/keyBytes, 1)), keys: map[uint64]struct{}{}}
}

func hashOf(key []byte) uint64 { return xxhash.Sum64(key) }

// sampled reports whether the set includes keys with this hash.
func (s *keySet) sampled(hash uint64) bool { return hash&(1<<s.bits-1) == 0 }

// of returns the number of keys that one key of the set represents.
func (s *keySet) of() int64 { return 1 << s.bits }

// add adds hashes.
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

// halve drops about half of the keys, into a map of the new size.
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

// has reports whether a sampled key is in the set.
func (s *keySet) has(hash uint64) bool {
	_, ok := s.keys[hash]
	return ok
}
