package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// packTags writes tags as servers do, with a slice as dictionary.
type packTags struct {
	places [][]byte // tags by place
	order  []int    // places, the most recently used at the end
}

func (p *packTags) pack(dst []byte, tag []byte) []byte {
	at := slices.IndexFunc(p.places, func(t []byte) bool { return bytes.Equal(t, tag) })
	if at >= 0 {
		dst = append(dst, byte(at>>8), byte(at))
	} else {
		dst = append(dst, 0xff)
		dst = binary.AppendUvarint(dst, uint64(len(tag)))
		dst = append(dst, tag...)
		if at = len(p.places); at < 127 {
			p.places = append(p.places, tag)
			p.order = append(p.order, at)
		} else {
			at = p.order[0]
			p.places[at] = tag
		}
	}
	p.order = append(slices.DeleteFunc(p.order, func(i int) bool { return i == at }), at)
	return dst
}

// TestTagDictionary decompresses random tags, more of them than a dictionary holds.
func TestTagDictionary(t *testing.T) {
	var dict tagDict
	rnd := rand.New(rand.NewPCG(1, 2))
	for block := range 4 {
		dict.clear()
		var p packTags
		for range 5000 {
			var plain, packed []byte
			for range rnd.IntN(4) {
				tag := fmt.Appendf([]byte{8}, "%d", int(rnd.ExpFloat64()*float64(block*40+1)))
				tag = tag[:min(len(tag), 3+rnd.IntN(2))]
				plain = append(binary.BigEndian.AppendUint16(plain, uint16(len(tag))), tag...)
				packed = p.pack(packed, tag)
			}
			d := decbuf{b: packed}
			if got := dict.read(&d, len(plain)); d.err != nil || d.rest() != 0 || !bytes.Equal(got, plain) {
				t.Fatalf("block %d: %x, not %x: %v", block, got, plain, d.err)
			}
		}
	}
}

// TestTagDictionaryRefuses checks that tags that no server writes are refused.
func TestTagDictionaryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		packed []byte
		n      int
	}{
		"a place that is empty": {[]byte{0, 0}, 5},
		"cut off":               {[]byte{0xff, 3, 8, 1}, 5},
		"longer than said":      {[]byte{0xff, 3, 8, 1, 1}, 4},
		"an empty tag":          {[]byte{0xff, 0, 0xff, 0}, 4},
		"too many":              {[]byte{0xff, 1, 8}, MaxTagsLen + 1},
	} {
		d := decbuf{b: c.packed}
		if new(tagDict).read(&d, c.n); !errors.Is(d.err, ErrCorrupt) {
			t.Errorf("%s: %v", name, d.err)
		}
	}
}
