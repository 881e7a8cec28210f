package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"

	"bulkload/pkg/setting"
	"bulkload/pkg/source/span"
)

// columnReader reads one column of a row group, page by page. Offsets are relative to the column's regions of the arena,
// which may move.
type columnReader struct {
	ordinal int // in the schema
	typ     columnType
	codec   codec
	at, end int64 // byte range of the remaining pages
	hint    int   // likely length of the next page
	most    int64 // largest possible page, in bytes
	values  int64 // values after the current page, nulls and empty lists included

	left      int    // values left in the page, nulls and empty lists included
	levels    hybrid // definition levels, if the column may be null
	repeats   hybrid // repetition levels, if the column is within lists or maps
	indexed   bool   // values are indexes of dictionary entries
	index     hybrid
	next, max int         // byte range of the remaining plain values
	dict      []span.Span // the dictionary's entries as text
	hasDict   bool
	sum       uint32 // CRC32C of the pages that were read
}

func (c *columnReader) begin(ordinal int, typ columnType, chunk columnChunk) {
	*c = columnReader{ordinal: ordinal, typ: typ, codec: chunk.codec, at: chunk.start, end: chunk.end, values: chunk.values, dict: c.dict[:0]}
	// The footer has the size of all pages together. Some writers did not count page headers.
	c.most = 2*max(chunk.unpacked, 0) + 1<<20
}

func (c *columnReader) pageRegion() int { return 2 * c.ordinal }
func (c *columnReader) dictRegion() int { return 2*c.ordinal + 1 }

// region returns a region's bytes with slack after them.
func (p *pageReader) region(i int) []byte {
	r := p.arena.regions[i]
	return p.arena.buf[r.off : r.off+r.size+slack]
}

// load reads pages until the current one has values left.
func (c *columnReader) load(p *pageReader) error {
	for c.left == 0 {
		if c.at >= c.end {
			return errors.New("its pages have fewer values than the row group")
		}
		start := c.at
		h, packed, next, err := p.pages.read(c.at, c.end, c.hint, func(h pageHeader) error { return c.claim(p, h) })
		if err == nil {
			c.at, c.hint = next, int(next-start)+64
			c.sum = crc32.Update(c.sum, castagnoli(), p.pages.packed[:next-start])
			err = c.page(p, h, packed)
		}
		if err != nil {
			return fmt.Errorf("page at byte %d: %w", start, err)
		}
	}
	return nil
}

// claim rejects a page whose header states sizes that are impossible or too large, before memory is allocated for them.
func (c *columnReader) claim(p *pageReader, h pageHeader) error {
	if int64(h.unpacked) > c.most {
		return fmt.Errorf("it has %s, more than all pages together", setting.Count(h.unpacked, "byte"))
	}
	if h.kind != pageDictionary && int64(h.values) > c.values {
		return fmt.Errorf("it has %s, and the column has %d left", setting.Count(h.values, "value"), c.values)
	}
	if h.kind == pageData || h.kind == pageDataV2 {
		c.values -= int64(h.values)
	}
	return p.fits(max(h.unpacked, h.packed))
}

// fits returns an error for a number of bytes above the reader's memory limit.
func (p *pageReader) fits(n int) error {
	if int64(n) > p.limit.Bytes {
		return p.limit.Exceeded("the page", int64(n), p.limit.Bytes)
	}
	return nil
}

// page unpacks a page and prepares its values.
func (c *columnReader) page(p *pageReader, h pageHeader, packed []byte) error {
	switch h.kind {
	case pageDictionary:
		return c.dictionary(p, h, packed)
	case pageData, pageDataV2:
	default:
		return nil // an index page
	}
	region := c.pageRegion()
	if err := p.reserve(region, h.unpacked); err != nil {
		return err
	}
	data := p.region(region)
	levels := h.repLen + h.defLen
	switch {
	case h.kind == pageData:
		if err := p.pages.unpack(c.codec, data[:h.unpacked], packed); err != nil {
			return err
		}
		var err error
		if levels, err = c.levelsV1(data[:h.unpacked], h); err != nil {
			return err
		}
	default:
		copy(data, packed[:levels])
		codec := c.codec
		if h.plainV2 {
			codec = codecNone
		}
		if levels < h.unpacked || len(packed) > levels {
			if err := p.pages.unpack(codec, data[levels:h.unpacked], packed[levels:]); err != nil && levels < h.unpacked {
				return err
			}
		}
		c.repeats = hybrid{at: 0, end: h.repLen, width: bits.Len(uint(c.typ.rep))}
		c.levels = hybrid{at: h.repLen, end: levels, width: bits.Len(uint(c.typ.def))}
	}
	c.left = h.values
	return c.plain(p, h, levels)
}

// levelsV1 locates the levels of a data page V1, and returns the offset after them.
func (c *columnReader) levelsV1(data []byte, h pageHeader) (at int, err error) {
	if c.repeats, at, err = levelsAt(data, 0, c.typ.rep, h.repEncoding, h.values); err == nil {
		c.levels, at, err = levelsAt(data, at, c.typ.def, h.defEncoding, h.values)
	}
	return at, err
}

// levelsAt locates n levels, which are at most most, at an offset of a page, and returns the offset after them.
func levelsAt(data []byte, at, most int, enc encoding, n int) (hybrid, int, error) {
	if most == 0 {
		return hybrid{}, at, nil
	}
	width := bits.Len(uint(most))
	size := 0
	switch enc {
	case encRLE:
		if len(data)-at < 4 {
			return hybrid{}, at, errShortPage
		}
		size = int(min(int64(binary.LittleEndian.Uint32(data[at:])), math.MaxInt32))
		at += 4
	case encBitPacked:
		if size = (n*width + 7) / 8; size <= len(data)-at {
			return hybrid{at: at + size, end: at + size, width: width, run: n, packed: true, highFirst: true, bit: at * 8}, at + size, nil
		}
	default:
		return hybrid{}, at, fmt.Errorf("its levels have the encoding %d, which cannot be read", enc)
	}
	if size > len(data)-at {
		return hybrid{}, at, errShortPage
	}
	return hybrid{at: at, end: at + size, width: width}, at + size, nil
}

var errShortPage = errors.New("the page is too short for its contents")

// plain prepares the values of a page, at data[from:h.unpacked] of its region, for take.
func (c *columnReader) plain(p *pageReader, h pageHeader, from int) (err error) {
	c.indexed, c.next, c.max = false, from, h.unpacked
	data := p.region(c.pageRegion())
	p.scratch = p.scratch[:0]
	switch enc, t := h.encoding, &c.typ; {
	case enc == encPlain && t.kind != kindBool:
		return nil
	case enc == encRLEDict || enc == encPlainDict:
		if !c.hasDict {
			return errors.New("its values refer to a dictionary that is missing")
		}
		c.indexed = true
		if from < h.unpacked {
			if c.index = (hybrid{at: from + 1, end: h.unpacked, width: int(data[from])}); c.index.width > 32 {
				return fmt.Errorf("its indexes are %d bits wide", c.index.width)
			}
		} else {
			c.index = hybrid{}
		}
		return nil
	case enc == encPlain:
		if err = p.fits(min(h.values, 8*(h.unpacked-from))); err == nil {
			p.scratch = appendBits(p.scratch, data[from:h.unpacked], h.values)
		}
	case enc == encRLE && t.kind == kindBool:
		if err = p.fits(h.values); err == nil {
			p.scratch, err = appendRLEBools(p.scratch, data, from, h.unpacked, h.values)
		}
	case enc == encDeltaBinary && t.number():
		p.scratch, err = appendDeltas(p.scratch, data, from, h.unpacked, h.values, t.width, p.fits)
	case enc == encDeltaLength && t.width == 0:
		p.scratch, err = appendDeltaLength(p.scratch, data, from, h.unpacked, h.values, p.fits)
	case enc == encDeltaBytes && t.bytes:
		p.scratch, err = appendDeltaBytes(p.scratch, data, from, h.unpacked, h.values, t.width, p.fits)
	case enc == encByteStreamSplit && t.width > 0 && t.kind != kindBool:
		p.scratch = appendStreams(p.scratch, data[from:h.unpacked], t.width)
	default:
		return fmt.Errorf("its values have the encoding %d, which cannot be read", enc)
	}
	if err != nil {
		return err
	}
	if err := p.reserve(c.pageRegion(), from+len(p.scratch)); err != nil {
		return err
	}
	c.max = from + copy(p.region(c.pageRegion())[from:], p.scratch)
	return nil
}

// dictionary reads a dictionary page. It converts each entry to text, so that values need no conversion.
func (c *columnReader) dictionary(p *pageReader, h pageHeader, packed []byte) error {
	if c.hasDict {
		return errors.New("it is a second dictionary")
	}
	if h.encoding != encPlain && h.encoding != encPlainDict {
		return fmt.Errorf("the dictionary has the encoding %d, which cannot be read", h.encoding)
	}
	c.hasDict = true
	if c.typ.kind == kindText {
		if err := p.reserve(c.dictRegion(), h.unpacked); err != nil {
			return err
		}
		data := p.region(c.dictRegion())[:h.unpacked]
		if err := p.pages.unpack(c.codec, data, packed); err != nil {
			return err
		}
		return c.entries(data, h.values, func(off, n int) error {
			c.dict = append(c.dict, span.Span{Off: uint32(off), Len: uint32(n)})
			return p.fits(spanSize * len(c.dict))
		})
	}
	if cap(p.scratch) < h.unpacked {
		p.scratch = make([]byte, h.unpacked)
	}
	data := p.scratch[:h.unpacked]
	if err := p.pages.unpack(c.codec, data, packed); err != nil {
		return err
	}
	var text []byte
	if err := c.entries(data, h.values, func(off, n int) error {
		start := len(text)
		text = c.typ.append(text, data[off:off+n])
		c.dict = append(c.dict, span.Span{Off: uint32(start), Len: uint32(len(text) - start)})
		return p.fits(len(text) + spanSize*len(c.dict))
	}); err != nil {
		return err
	}
	if c.typ.fault != nil {
		return c.typ.fault
	}
	if err := p.reserve(c.dictRegion(), len(text)); err != nil {
		return err
	}
	copy(p.region(c.dictRegion()), text)
	return nil
}

// spanSize is the memory of a dictionary's entry, in addition to its text.
const spanSize = 8

// entries calls each with the offset and length of each of n plain values.
func (c *columnReader) entries(data []byte, n int, each func(off, n int) error) error {
	for at := 0; n > 0; n-- {
		size := c.typ.width
		if size == 0 {
			if len(data)-at < 4 {
				return errShortPage
			}
			size = int(binary.LittleEndian.Uint32(data[at:]))
			at += 4
		}
		if size > len(data)-at {
			return errShortPage
		}
		if err := each(at, size); err != nil {
			return err
		}
		at += size
	}
	return nil
}
