package hfile

import (
	"fmt"
	"slices"
)

// tagDict takes compressed tags apart: a tag that came before in its block is
// two bytes, a place in a dictionary (TagCompressionContext and LRUDictionary,
// 2.6.4). Servers write such blocks in files with tags of families that are
// encoded as PREFIX, DIFF or FAST_DIFF, unless COMPRESS_TAGS is false.
//
// A dictionary has 127 places. When they are full, the tag that was not used
// for the longest time gives way. Places are in the order of their use, the
// last used first; a use moves few of them, since tags of cells are few.
type tagDict struct {
	tags  [tagDictSize][]byte // by place; reused
	size  int
	used  [tagDictSize]uint8 // places by their last use
	plain []byte             // the current cell's tags
}

const (
	tagDictSize = 127
	tagIsNew    = 0xff // stands before a tag that is not in the dictionary
)

// clear begins a block.
func (t *tagDict) clear() { t.size = 0 }

// read gives the n bytes that a cell's tags have, valid until the next call.
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

// add puts a tag into the next place, or into that of the tag unused the longest.
func (t *tagDict) add(tag []byte) {
	if t.size < tagDictSize {
		t.used[t.size] = uint8(t.size)
		t.size++
	}
	place := t.used[t.size-1]
	t.tags[place] = append(t.tags[place][:0], tag...)
	t.use(t.size - 1)
}

// use makes the place at i the one used last.
func (t *tagDict) use(i int) {
	place := t.used[i]
	copy(t.used[1:i+1], t.used[:i])
	t.used[0] = place
}
