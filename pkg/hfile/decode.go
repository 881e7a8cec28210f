package hfile

import (
	"encoding/binary"
	"fmt"
)

// cellDecoder reads the cells of one data block after another.
type cellDecoder struct {
	encoding Encoding
	tags     bool // cells have a tags length
	mvcc     bool // cells end in a sequence id
	d        decbuf
	cur      flat
	spare    []byte
	first    bool
	seqID    int64  // of the current cell
	sameRow  bool   // whether the current cell is known to share its row's bytes with the previous cell
	declared int    // unencoded size of the block according to its header
	rowIndex []byte // positions of the rows of a ROW_INDEX_V1 block
	tagDict  *tagDict
}

func (c *cellDecoder) start(blk *block) error {
	c.d = decbuf{b: blk.payload}
	c.first = true
	c.cur.value = nil
	if c.tagDict != nil {
		c.tagDict.clear()
	}
	if blk.kind == kindData {
		if c.encoding != EncodingNone {
			return fmt.Errorf("%w: a plain data block in a file of encoding %s", ErrCorrupt, c.encoding)
		}
		return nil
	}
	id := c.d.u16()
	if c.d.err == nil && (c.encoding == EncodingNone || id != int(encodingIDs[c.encoding])) {
		return fmt.Errorf("%w: a data block of encoding %d in a file of encoding %s", ErrCorrupt, id, c.encoding)
	}
	if c.encoding == EncodingRowIndexV1 {
		c.trimRowIndex()
	} else {
		c.declared = c.d.i32()
	}
	return c.d.err
}

// trimRowIndex removes the row positions from the end of a ROW_INDEX_V1 block.
func (c *cellDecoder) trimRowIndex() {
	b := c.d.b
	if len(b) < rowIndexPrefix+8 {
		c.d.fail("a row index is cut off")
		return
	}
	cells := int(int32(binary.BigEndian.Uint32(b[len(b)-4:])))
	rest := len(b) - rowIndexPrefix - 8
	if cells < 0 || cells > rest || (rest-cells)%4 != 0 {
		c.d.fail(fmt.Sprintf("a row index after %d bytes of cells", cells))
		return
	}
	at := rowIndexPrefix + cells
	if n := int(int32(binary.BigEndian.Uint32(b[at:]))); n != (rest-cells)/4 {
		c.d.fail(fmt.Sprintf("a row index of %d rows", n))
		return
	}
	c.d.b = b[:at]
	c.rowIndex = b[at+4 : len(b)-4]
}

// next reads a cell into c.cur. The cell's key is in a buffer of the decoder, its value and tags are in the block, and
// compressed tags are in a buffer of the tag dictionary. next returns false at the block's end and on an error.
func (c *cellDecoder) next() bool {
	if c.d.err != nil || c.d.rest() == 0 {
		return false
	}
	c.cur.tags, c.sameRow = nil, false
	switch c.encoding {
	case EncodingNone, EncodingRowIndexV1:
		c.plain()
	case EncodingFastDiff:
		c.fastDiff()
	case EncodingDiff:
		c.diff()
	case EncodingPrefix:
		c.prefix()
	}
	c.first = false
	if c.tags {
		n := 0
		if c.encoding == EncodingNone || c.encoding == EncodingRowIndexV1 {
			n = c.d.u16()
		} else {
			n = c.d.length()
		}
		switch {
		case n == 0:
		case c.tagDict != nil:
			c.cur.tags = c.tagDict.read(&c.d, n)
		default:
			c.cur.tags = c.d.bytes(n)
		}
	}
	if c.mvcc {
		c.seqID = c.d.vlong()
	}
	return c.d.err == nil
}

// setKey parses a whole key into c.cur.
func (c *cellDecoder) setKey(key []byte) {
	if c.d.err != nil {
		return
	}
	f, err := parseKey(key)
	if err != nil {
		c.d.fail(err.Error())
		return
	}
	c.cur.key, c.cur.rowLen, c.cur.famLen = f.key, f.rowLen, f.famLen
}

func (c *cellDecoder) plain() {
	keyLen, valueLen := c.d.i32(), c.d.i32()
	key := c.d.bytes(keyLen)
	c.cur.value = c.d.bytes(valueLen)
	c.setKey(key)
}

// buffer returns a buffer for a key of n bytes that does not overlap the current key.
func (c *cellDecoder) buffer(n int) []byte {
	b := c.spare
	if cap(b) < n {
		b = make([]byte, n, n+n/2+64)
	}
	c.spare = c.cur.key[:0]
	return b[:n]
}

// rebuild builds a cell's key from the prefix shared with the previous key and
// the bytes that follow it up to the timestamp, as DIFF and FAST_DIFF store
// them. The last nine bytes are copied from the previous key.
func (c *cellDecoder) rebuild(keyLen, shared int) {
	prev := c.cur
	if c.d.err != nil {
		return
	}
	if shared > len(prev.key) {
		c.d.fail(fmt.Sprintf("%d bytes shared with a key of %d", shared, len(prev.key)))
		return
	}
	rowLen := prev.rowLen
	if shared < 2 {
		var two [2]byte
		copy(two[:], prev.key[:shared])
		copy(two[shared:], c.d.bytes(2-shared))
		rowLen = int(binary.BigEndian.Uint16(two[:]))
	}
	rest := keyLen - keyOverhead - rowLen - prev.famLen // the qualifier
	if rest < 0 || rest > c.d.rest()+len(prev.key) {
		c.d.fail(fmt.Sprintf("a key of %d bytes with a row of %d", keyLen, rowLen))
		return
	}
	key := c.buffer(keyLen)
	head := 2 + rowLen
	var at int
	if shared < head {
		binary.BigEndian.PutUint16(key, uint16(rowLen))
		from := max(shared, 2)
		copy(key[2:from], prev.key[2:from])
		copy(key[from:head], c.d.bytes(head-from))
		at = head + 1 + prev.famLen
	} else {
		// A prefix that contains the row must contain the family: HBase would read the rest of the family here.
		at = shared
		if at < head+1+prev.famLen || at > keyLen-9 || at > len(prev.key)-9 {
			c.d.fail(fmt.Sprintf("%d bytes shared by keys of %d and %d", shared, len(prev.key), keyLen))
			return
		}
		copy(key[:at], prev.key[:at])
		c.sameRow = true
	}
	// The family is copied to its place after the row.
	copy(key[head:], prev.key[2+prev.rowLen:3+prev.rowLen+prev.famLen])
	copy(key[at:keyLen-9], c.d.bytes(keyLen-9-at))
	copy(key[keyLen-9:], prev.key[len(prev.key)-9:])
	c.cur.key, c.cur.rowLen = key, rowLen
}

func (c *cellDecoder) fastDiff() {
	if c.first {
		if flag := c.d.u8(); flag != 0 {
			c.d.fail(fmt.Sprintf("flags %#02x in a block's first cell", flag))
		}
		keyLen, valueLen := c.d.length(), c.d.length()
		if c.d.length() != 0 {
			c.d.fail("a block's first cell shares bytes with a cell before")
		}
		stored := c.d.bytes(keyLen)
		c.cur.value = c.d.bytes(valueLen)
		if c.d.err == nil {
			key := c.buffer(keyLen)
			copy(key, stored)
			c.setKey(key)
		}
		return
	}
	flag := c.d.u8()
	if flag&fastUnused != 0 {
		c.d.fail(fmt.Sprintf("flags %#02x", flag))
	}
	keyLen, valueLen := len(c.cur.key), len(c.cur.value)
	if flag&fastSameKeyLen == 0 {
		keyLen = c.d.length()
	}
	if flag&fastSameValueLen == 0 {
		valueLen = c.d.length()
	}
	c.rebuild(keyLen, c.d.length())
	n := 8 - int(flag&fastTimestampMask)
	stamp := c.d.bytes(n)
	if c.d.err != nil {
		return
	}
	key := c.cur.key
	copy(key[len(key)-1-n:], stamp)
	if flag&fastSameType == 0 {
		key[len(key)-1] = c.d.u8()
	}
	if flag&fastSameValue == 0 {
		c.cur.value = c.d.bytes(valueLen)
	} else if valueLen != len(c.cur.value) {
		c.d.fail("a value that is the same as one of another length")
	}
}

func (c *cellDecoder) diff() {
	prevTime := int64(0)
	if c.first {
		family := c.d.bytes(int(c.d.u8()))
		if c.d.err != nil {
			return
		}
		key := appendKey(c.cur.key[:0], nil, family, nil, 0, 0)
		c.cur.key, c.cur.rowLen, c.cur.famLen = key, 0, len(family)
	} else {
		prevTime = c.cur.timestamp()
	}
	flag := c.d.u8()
	if c.first && flag&(diffSameKeyLen|diffSameValueLen|diffSameType|diffTimestamp) != 0 {
		c.d.fail(fmt.Sprintf("flags %#02x in a block's first cell", flag))
	}
	keyLen, valueLen := len(c.cur.key), len(c.cur.value)
	if flag&diffSameKeyLen == 0 {
		keyLen = c.d.length()
	}
	if flag&diffSameValueLen == 0 {
		valueLen = c.d.length()
	}
	shared := c.d.length()
	if c.first && shared != 0 {
		c.d.fail("a block's first cell shares bytes with a cell before")
	}
	c.rebuild(keyLen, shared)
	ts := int64(0)
	for i, x := range c.d.bytes(int((flag>>4)&7) + 1) {
		ts |= int64(x) << (8 * i)
	}
	if flag&diffNegative != 0 {
		ts = -ts
	}
	if flag&diffTimestamp != 0 {
		ts = prevTime - ts
	}
	if c.d.err != nil {
		return
	}
	key := c.cur.key
	binary.BigEndian.PutUint64(key[len(key)-9:], uint64(ts))
	if flag&diffSameType == 0 {
		key[len(key)-1] = c.d.u8()
	}
	c.cur.value = c.d.bytes(valueLen)
}

func (c *cellDecoder) prefix() {
	rest, valueLen, shared := c.d.length(), c.d.length(), c.d.length()
	if c.first && shared != 0 || shared > len(c.cur.key) {
		c.d.fail(fmt.Sprintf("%d bytes shared with a key of %d", shared, len(c.cur.key)))
	}
	stored := c.d.bytes(rest)
	c.cur.value = c.d.bytes(valueLen)
	if c.d.err != nil {
		return
	}
	prev := c.cur.key
	key := c.buffer(shared + rest)
	copy(key, prev[:shared])
	copy(key[shared:], stored)
	c.setKey(key)
}
