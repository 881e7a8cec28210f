package job

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// sampleRow is a row that was written, remembered by its key and its form's hash.
type sampleRow struct {
	key     []byte
	sum     uint64
	stamp   int64 // of its cells, if not the job's
	expires int64 // when they are gone, 0 for never
}

// sampler keeps a few rows of a region, spread over all of it: every n-th,
// with n doubling whenever there are too many.
type sampler struct {
	most int
	step int64
	seen int64
	rows []sampleRow
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
			for i := range len(s.rows) / 2 {
				s.rows[i] = s.rows[2*i]
			}
			s.rows = s.rows[:len(s.rows)/2]
			s.step *= 2
		}
		if s.seen%s.step == 0 {
			s.rows = append(s.rows, sampleRow{key: bytes.Clone(key), sum: xxhash.Sum64(row), stamp: at.stamp, expires: at.expires})
		}
	}
	s.seen++
}
