package orc

import (
	"errors"
	"fmt"
	"math"

	"bulkload/internal/formats/parquet"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/span"
)

// maxRows is the number of values of a column that are decoded together.
const maxRows = parquet.MaxRows

// columnMemory is the approximate memory of a column, in bytes, without its streams.
const columnMemory = 3 * 8 * maxRows

// Column encodings.
const (
	encodingDirect       = 0
	encodingDictionary   = 1
	encodingDirectV2     = 2
	encodingDictionaryV2 = 3
)

// column reads a column of a stripe. Columns inside a list, map, struct or union are read value by value, other columns in batches.
type column struct {
	*node
	present *flags // nil: there is a value in every row
	bits    flags  // booleans
	small   octets // bytes, and the branch numbers of unions
	ints    *ints  // numbers, days, seconds, lengths, positions in the dictionary
	more    *ints  // nanoseconds, scales
	data    *stream
	dict    []span.Span // the dictionary's entries, in the reader's buffer
	indexed bool
	clock   *valuetext.OrcClock
	rules   *textRules
	kids    []*column
}

var errNoClock = errors.New("its stripes do not name the time zone of their timestamps: write it again with a current version of ORC")

// open creates the column of a schema node for the current stripe.
func (p *Reader) open(n *node) (*column, error) {
	c := &column{node: n, rules: &p.rules}
	if n.id >= len(p.stripe.encodings) {
		return nil, errStripe
	}
	e := p.stripe.encodings[n.id]
	if e.kind > encodingDictionaryV2 || (e.kind&1) == encodingDictionary && !n.kind.text() {
		return nil, fmt.Errorf("it has the encoding %d, which cannot be read", e.kind)
	}
	second := e.kind >= encodingDirectV2
	stream := func(kind uint64) *stream { return p.stream(streamKey{uint64(n.id), kind}) }
	numbers := func(kind uint64, signed bool) *ints {
		return &ints{stream: stream(kind), signed: signed, second: second}
	}
	if key := (streamKey{uint64(n.id), streamPresent}); p.stripe.streams[key] != (extent{}) {
		c.present = &flags{octets: octets{stream: p.stream(key)}}
	}
	switch n.kind {
	case kindBool:
		c.bits.stream = stream(streamData)
	case kindByte, kindUnion:
		c.small.stream = stream(streamData)
	case kindShort, kindInt, kindLong, kindDate:
		c.ints = numbers(streamData, true)
	case kindFloat, kindDouble:
		c.data = stream(streamData)
	case kindDecimal:
		c.data, c.more = stream(streamData), numbers(streamSecondary, true)
	case kindTimestamp, kindInstant:
		c.ints, c.more = numbers(streamData, true), numbers(streamSecondary, false)
		return c, p.clock(c)
	case kindList, kindMap:
		c.ints = numbers(streamLength, false)
	case kindStruct:
	default:
		if c.indexed = (e.kind & 1) == encodingDictionary; c.indexed {
			c.ints = numbers(streamData, false)
			return c, p.dictionary(c, numbers(streamLength, false), e.entries)
		}
		c.data, c.ints = stream(streamData), numbers(streamLength, false)
	}
	for _, kid := range n.kids {
		k, err := p.open(kid)
		if err != nil {
			return nil, err
		}
		c.kids = append(c.kids, k)
	}
	return c, nil
}

// clock sets a timestamp column's clock to that of the writer's time zone.
func (p *Reader) clock(c *column) (err error) {
	zone := p.stripe.zone
	switch {
	case c.kind == kindInstant:
		zone = "UTC"
	case zone == "":
		return errNoClock
	}
	c.clock, err = p.file.calendar.Clock(zone)
	return err
}

// dictionary appends the entries of a column's dictionary to the reader's buffer, where they stay while the stripe is read.
func (p *Reader) dictionary(c *column, lengths *ints, entries uint64) error {
	const what = "the dictionary with those of other columns"
	data := p.stream(streamKey{uint64(c.id), streamDictionary})
	if most := uint64(math.MaxInt64 / 16); entries > most {
		return errors.New("its dictionary has too many entries")
	}
	if err := p.claim(8*int64(entries), what); err != nil {
		return err
	}
	p.borrowed += 8 * int64(entries)
	for left := int(entries); left > 0; {
		var some [maxRun]int64
		n := min(left, len(some))
		if err := lengths.read(some[:n]); err != nil {
			return errors.New("its dictionary has fewer entries than it says")
		}
		for _, size := range some[:n] {
			if size < 0 || size > maxBuffer-int64(len(p.buf)) {
				return errBuffer
			}
			if err := p.claim(size, what); err != nil {
				return err
			}
			p.borrowed += size
			at := len(p.buf)
			var err error
			if p.buf, err = data.appendTo(p.buf, int(size)); err != nil {
				return err
			}
			c.dict = append(c.dict, c.trimmed(p.buf, at))
		}
		left -= n
	}
	return nil
}

// trimmed returns the span of the text from at to the end of the buffer. If the column is a CHAR, it leaves out the blanks that pad the text.
func (c *column) trimmed(buf []byte, at int) span.Span {
	end := len(buf)
	for c.kind == kindChar && end > at && buf[end-1] == ' ' {
		end--
	}
	return span.Span{Off: uint32(at), Len: uint32(end - at)}
}

// entry returns the entry of the dictionary at a position.
func (c *column) entry(at int64) (span.Span, error) {
	if uint64(at) >= uint64(len(c.dict)) {
		return span.Span{}, errors.New("a value is not in the dictionary")
	}
	return c.dict[at], nil
}

// flat is a column whose values are read in batches.
type flat struct {
	*column
	at     int // position in the schema
	name   string
	above  []*flags // whether each enclosing struct and the value itself are present
	rows   uint64   // rows of the stripe that are not decoded yet
	has    [maxRows]byte
	first  [maxRows]int64 // for each present value: its number, its length, or its position in the dictionary
	second [maxRows]int64
	row    int // index in has of the next row
	value  int // index in first and second of the next value
	n      int // rows that are decoded
}

// load decodes the next rows if all decoded rows have been taken.
func (c *flat) load() error {
	if c.row < c.n {
		return nil
	}
	if c.rows == 0 {
		return errShort
	}
	n := int(min(c.rows, maxRows))
	has, count := c.has[:n], n
	for i := range has {
		has[i] = 1
	}
	for _, f := range c.above {
		count = 0
		for i, h := range has {
			if h == 0 {
				continue
			}
			v, err := f.next()
			if err != nil {
				return err
			}
			has[i] = v
			count += int(v)
		}
	}
	var err error
	first := c.first[:count]
	switch {
	case c.kind == kindBool:
		err = c.each(first, func() (int64, error) { v, err := c.bits.next(); return int64(v), err })
	case c.kind == kindByte:
		err = c.each(first, func() (int64, error) { v, err := c.small.next(); return int64(int8(v)), err })
	case c.ints != nil:
		err = c.ints.read(first)
	}
	if err == nil && c.more != nil {
		err = c.more.read(c.second[:count])
	}
	c.row, c.value, c.n = 0, 0, n
	c.rows -= uint64(n)
	return err
}

func (c *flat) each(dst []int64, next func() (int64, error)) (err error) {
	for i := range dst {
		if dst[i], err = next(); err != nil {
			return err
		}
	}
	return nil
}

// fits returns how many of the next n rows have less than most bytes of text in total; at least one.
func (c *flat) fits(n int, most int64) int {
	if c.indexed || !c.kind.octets() {
		return n
	}
	value := c.value
	for i, h := range c.has[c.row : c.row+n] {
		if h != 0 {
			if most -= c.first[value]; most < 0 {
				return max(i, 1)
			}
			value++
		}
	}
	return n
}

// take appends the values of the next n rows to dst, and sets every cols-th element of fields to their spans.
func (c *flat) take(dst []byte, fields []span.Span, cols, n int) ([]byte, error) {
	var err error
	at := 0
	for _, h := range c.has[c.row : c.row+n] {
		s := span.Null()
		if h != 0 {
			if s, dst, err = c.span(dst, c.first[c.value], c.second[c.value]); err != nil {
				return dst, err
			}
			c.value++
		}
		fields[at] = s
		at += cols
	}
	c.row += n
	return dst, nil
}

// span returns the span of a value's text, which is in the dictionary or is appended to dst.
func (c *column) span(dst []byte, first, second int64) (span.Span, []byte, error) {
	if c.indexed {
		s, err := c.entry(first)
		return s, dst, err
	}
	at := len(dst)
	dst, err := c.append(dst, first, second)
	if c.kind == kindChar {
		s := c.trimmed(dst, at)
		return s, dst[:at+int(s.Len)], err
	}
	return span.Span{Off: uint32(at), Len: uint32(len(dst) - at)}, dst, err
}
