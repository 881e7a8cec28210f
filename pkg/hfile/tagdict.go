package hfile

import (
	"fmt"
	"slices"
)

// tagDict decompresses tags: a tag that occurred before in its block is stored
// in two bytes, as an index into a dictionary (TagCompressionContext and
// LRUDictionary, 2.6.4). Servers write such blocks in files with tags if the
// family's encoding is PREFIX, DIFF or FAST_DIFF, unless COMPRESS_TAGS is false.
//
// A dictionary has 127 places. When all are taken, a new tag replaces the least
// recently used one. Places are ordered by last use, the most recent first. Since
// cells have few distinct tags, a use moves only a few places.
type tagDict struct {
	tags  [tagDictSize][]byte // by place; reused
	size  int
	used  [tagDictSize]uint8 // places, most recently used first
	plain []byte             // the current cell's tags
}

const (
	tagDictSize = 127
	tagIsNew    = 0xff // precedes a tag that is not in the dictionary
)

// clear empties the dictionary for a new block.
func (t *tagDict) clear() { t.size = 0 }

// read returns the n bytes of a cell's tags, valid until the next call.
func (t *tagDict) read(d *decbuf, n int) []byte {
	t.plain = t.plain[:0]
	if n > MaxTagsLen {
		d.fail(fmt.Sprintf("%d bytes of tags", n))
	}
	for len(t.plain) < n && d.err == nil {
		tag := t.next(d)
		if len(tag) == 0 || len(t.plain)+2+len(tag) > n {
			d.fail(fmt.Sprintf("a tag of %d bytes in tags of %d", len(tag), n))
		}
		if d.err == nil {
			t.plain = append(t.plain, byte(len(tag)>>8), byte(len(tag)))
			t.plain = append(t.plain, tag...)
		}
	}
	return t.plain
}

// next reads one tag: its type and payload.
func (t *tagDict) next(d *decbuf) []byte {
	status := d.u8()
	if status == tagIsNew {
		tag := d.bytes(d.length())
		if d.err == nil {
			t.add(tag)
		}
		return tag
	}
	place := int(status)<<8 | int(d.u8())
	if d.err == nil && place >= t.size {
		d.fail(fmt.Sprintf("tag %d of %d", place, t.size))
	}
	if d.err != nil {
		return nil
	}
	t.use(slices.Index(t.used[:t.size], uint8(place)))
	return t.tags[place]
}

// add stores a tag in the next free place, or in place of the least recently used tag.
func (t *tagDict) add(tag []byte) {
	if t.size < tagDictSize {
		t.used[t.size] = uint8(t.size)
		t.size++
	}
	place := t.used[t.size-1]
	t.tags[place] = append(t.tags[place][:0], tag...)
	t.use(t.size - 1)
}

// use makes the place at i the most recently used one.
func (t *tagDict) use(i int) {
	place := t.used[i]
	copy(t.used[1:i+1], t.used[:i])
	t.used[0] = place
}
