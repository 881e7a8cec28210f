package build

import (
	"bytes"

	"bulkload/pkg/manifest"

	"github.com/cespare/xxhash/v2"
)

// sampleKeyBytes bounds the bytes of the keys that are remembered of a region.
const sampleKeyBytes = 64 << 10

// sampler keeps a few rows of a region, spread over all of it: every n-th,
// with n doubling whenever there are too many, or their keys too long.
type sampler struct {
	most  int
	step  int64
	seen  int64
	rows  []manifest.Sample
	bytes int // of their keys
}

func (s *sampler) add(key, row []byte, at *rowTime) {
	if s.most == 0 {
		return
	}
	if s.step == 0 {
		s.step = 1
	}
	if s.seen%s.step == 0 {
		if len(s.rows) >= s.most {
			s.halve()
		}
		for s.bytes+len(key) > sampleKeyBytes && len(s.rows) > 1 {
			s.halve()
		}
		if s.seen%s.step == 0 {
			s.bytes += len(key)
			s.rows = append(s.rows, manifest.Sample{Key: bytes.Clone(key), Sum: xxhash.Sum64(row), Stamp: at.stamp, Expires: at.expires})
		}
	}
	s.seen++
}

// halve forgets every other row.
func (s *sampler) halve() {
	kept := s.rows[:0]
	s.bytes = 0
	for i, r := range s.rows {
		if i%2 == 0 {
			kept = append(kept, r)
			s.bytes += len(r.Key)
		}
	}
	clear(s.rows[len(kept):])
	s.rows = kept
	s.step *= 2
}
