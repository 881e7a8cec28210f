package hfile

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
)

// sample is a uniform random sample of cells with distinct keys.
type sample struct {
	cells    []sampled
	distinct int
	bytes    int
}

// Limits of a sample: cells, and bytes of their keys.
const (
	checkSample      = 1000
	checkSampleBytes = 64 << 20
)

// sampled is a cell to find again. Values may be large, so only a hash is kept.
type sampled struct {
	key   Cell // without value and tags
	value [sha256.Size]byte
}

// offer offers one more cell to the sample.
func (s *sample) offer(f *flat, rnd *rand.Rand) {
	s.distinct++
	at := len(s.cells)
	if at == checkSample {
		if at = rnd.IntN(s.distinct); at >= checkSample {
			return
		}
	}
	if s.bytes += len(f.key); s.bytes > checkSampleBytes {
		s.bytes -= len(f.key)
		return
	}
	k := bytes.Clone(f.key)
	kept := flat{key: k, rowLen: f.rowLen, famLen: f.famLen}
	x := sampled{
		key:   Cell{Row: kept.row(), Family: kept.family(), Qualifier: kept.qualifier(), Timestamp: kept.timestamp(), Type: kept.typ()},
		value: sha256.Sum256(f.value),
	}
	if at < len(s.cells) {
		s.cells[at] = x
	} else {
		s.cells = append(s.cells, x)
	}
}

// seeks looks up the sampled cells through the filter and the index.
func (c *checker) seeks() error {
	for i := range c.sample.cells {
		want := &c.sample.cells[i]
		ok, err := c.reader.MayContain(want.key.Row, want.key.Qualifier)
		if err != nil {
			return err
		}
		if !ok {
			c.failf("the bloom filter hides a row of %d bytes", len(want.key.Row))
		}
		if err := c.seek(want); err != nil {
			return err
		}
		c.res.Seeks++
	}
	return nil
}

// seek looks up a sampled cell from the start of its row.
func (c *checker) seek(want *sampled) error {
	s := c.reader.SeekRow(want.key.Row)
	for s.Next() {
		order := Compare(s.Cell(), &want.key)
		if order == 0 && sha256.Sum256(s.Cell().Value) == want.value {
			return nil
		}
		if order > 0 {
			break
		}
	}
	if s.Err() == nil {
		c.failf("a seek to a row of %d bytes does not find its cell", len(want.key.Row))
	}
	return s.Err()
}
