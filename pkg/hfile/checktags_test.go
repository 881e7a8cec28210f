package hfile

import (
	"errors"
	"testing"
)

// TestLifetimesOfCells checks that a cell's first time-to-live tag must have eight bytes, at which HBase's scans fail otherwise, and that further ones,
// which HBase does not read, may have any length.
func TestLifetimesOfCells(t *testing.T) {
	first, short := []byte{0, 9, tagTTL, 0, 0, 0, 0, 0, 0, 0, 1}, []byte{0, 2, tagTTL, 1}
	for _, c := range []struct {
		tags []byte
		want error
	}{
		{first, nil}, {append(first[:len(first):len(first)], short...), nil}, {append([]byte{0, 2, 77, 1}, first...), nil},
		{short, ErrCorrupt}, {append(short[:len(short):len(short)], first...), ErrCorrupt}, {[]byte{0, 13, tagTTL, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, ErrCorrupt},
		{[]byte{0, 1, tagTTL}, ErrCorrupt}, {[]byte{0, 0}, ErrCorrupt}, {append(first[:len(first):len(first)], 0, 0), ErrCorrupt},
	} {
		if err := proveTags(c.tags); !errors.Is(err, c.want) {
			t.Errorf("%x: %v", c.tags, err)
		}
	}
}
