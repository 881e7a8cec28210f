package encode

import (
	"bytes"

	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"

	"github.com/cespare/xxhash/v2"
)

// sampleKeyBytes limits the total size of the sampled keys of a region.
const sampleKeyBytes = 64 << 10

// sampler keeps a few rows, spread over the whole region: every n-th, where n
// doubles whenever there are too many rows or their keys are too long.
type sampler struct {
	most  int
	step  int64
	seen  int64
	rows  []manifest.Sample
	bytes int // of their keys
}

func (s *sampler) add(key, row []byte, at *cells.RowTime) {
	if s.most == 0 {
		return
	}
	if s.due() == 0 {
		s.keep(key, xxhash.Sum64(row), at)
	}
	s.seen++
}

// addAll adds rows with the job's time and known sums.
func (s *sampler) addAll(keys [][]byte, sums []uint64) {
	for i := 0; s.most > 0 && i < len(keys); {
		n := int64(1)
		if due := s.due(); due > 0 {
			n = min(due, int64(len(keys)-i))
		} else {
			s.keep(keys[i], sums[i], &cells.RowTime{})
		}
		s.seen += n
		i += int(n)
	}
}

// due returns the number of rows before the next one that may be kept.
func (s *sampler) due() int64 {
	s.step = max(s.step, 1)
	if past := s.seen % s.step; past > 0 {
		return s.step - past
	}
	return 0
}

// keep keeps a row. If there are too many rows, it drops some, possibly this one.
func (s *sampler) keep(key []byte, sum uint64, at *cells.RowTime) {
	if len(s.rows) >= s.most {
		s.halve()
	}
	for s.bytes+len(key) > sampleKeyBytes && len(s.rows) > 1 {
		s.halve()
	}
	if s.seen%s.step == 0 {
		s.bytes += len(key)
		s.rows = append(s.rows, manifest.Sample{Key: bytes.Clone(key), Sum: sum, Stamp: at.Stamp, Expires: at.Expires})
	}
}

// halve drops every other row.
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
