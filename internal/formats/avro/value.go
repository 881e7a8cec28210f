package avro

import (
	"encoding/binary"
	"math"
	"strconv"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/span"
)

const (
	reasonBranch = "a union has no branch of that number"
	reasonSymbol = "an enum has no symbol of that number"
)

// value takes a value and returns the span of its text: in the data if the text is stored as it is, else at the end of buf.
func (c *cursor) value(n *node) (span.Span, bool) {
	for n.kind == kindUnion {
		i, ok := c.index(len(n.branches), reasonBranch)
		if !ok {
			return span.Null(), false
		}
		n = n.branches[i]
	}
	switch n.kind {
	case kindNull:
		return span.Null(), true
	case kindString, kindBytes:
		if n.logical == logicalDecimal {
			break
		}
		size, ok := c.length()
		at := c.at
		c.at += size
		return span.Span{Off: uint32(at), Len: uint32(size)}, ok
	case kindFixed:
		if n.logical != logicalNone {
			break
		}
		at, ok := c.take(n.size)
		return span.Span{Off: uint32(at), Len: uint32(n.size)}, ok
	}
	start := len(c.buf)
	ok := c.written(n)
	return span.Span{Off: uint32(start), Len: uint32(len(c.buf) - start)}, ok
}

// written takes a value and appends its text.
func (c *cursor) written(n *node) (ok bool) {
	switch n.kind {
	case kindArray, kindMap, kindRecord:
		ok = c.json(n)
	default:
		ok = c.scalar(n)
	}
	return ok && c.fits(0)
}

// fits reports whether n more bytes may be appended.
func (c *cursor) fits(n int) bool {
	if n > c.limit-len(c.buf) {
		c.full = true
		return c.fail("the text of a record exceeds its limit")
	}
	return true
}

// scalar takes a value that is not an array, map, record, union or null, and appends its text.
func (c *cursor) scalar(n *node) bool {
	switch n.kind {
	case kindBoolean:
		at, ok := c.take(1)
		if !ok {
			return false
		}
		switch c.buf[at] {
		case 0:
			c.buf = append(c.buf, "false"...)
		case 1:
			c.buf = append(c.buf, "true"...)
		default:
			return c.fail("a boolean is neither 0 nor 1")
		}
	case kindInt:
		v, ok := c.int()
		return ok && c.number(n, v)
	case kindLong:
		v, ok := c.long()
		return ok && c.number(n, v)
	case kindFloat:
		at, ok := c.take(4)
		if ok {
			c.buf = valuetext.AppendFloat(c.buf, float64(math.Float32frombits(binary.LittleEndian.Uint32(c.buf[at:]))), 32)
		}
		return ok
	case kindDouble:
		at, ok := c.take(8)
		if ok {
			c.buf = valuetext.AppendFloat(c.buf, math.Float64frombits(binary.LittleEndian.Uint64(c.buf[at:])), 64)
		}
		return ok
	case kindEnum:
		i, ok := c.index(len(n.symbols), reasonSymbol)
		if ok {
			c.buf = append(c.buf, n.symbols[i]...)
		}
		return ok
	case kindString, kindBytes:
		size, ok := c.length()
		if !ok {
			return false
		}
		c.at += size
		return c.octets(n, c.at-size, size)
	case kindFixed:
		at, ok := c.take(n.size)
		return ok && c.octets(n, at, n.size)
	}
	return true
}

func (c *cursor) number(n *node, v int64) bool {
	switch n.logical {
	case logicalDate:
		return c.dated(n.calendar.AppendDate(c.buf, v))
	case logicalTime:
		c.buf = appendTime(c.buf, v, n.unit)
	case logicalInstant:
		return c.dated(n.calendar.AppendInstant(c.buf, valuetext.FloorDiv(v, n.unit), valuetext.FloorMod(v, n.unit), n.unit, c.zone))
	case logicalLocal:
		c.buf = valuetext.AppendInstant(c.buf, valuetext.FloorDiv(v, n.unit), valuetext.FloorMod(v, n.unit), n.unit, nil)
	default:
		c.buf = strconv.AppendInt(c.buf, v, 10)
	}
	return true
}

// dated takes over the buffer with a date appended, or fails if the calendar has no date for the value.
func (c *cursor) dated(buf []byte, err error) bool {
	if err != nil {
		return c.fail(err.Error())
	}
	c.buf = buf
	return true
}

// octets appends bytes of the data; those of a decimal or a uuid in their text form.
func (c *cursor) octets(n *node, at, size int) bool {
	v := c.buf[at : at+size]
	switch {
	case n.logical == logicalDecimal:
		if err := valuetext.CheckDecimal(v); err != nil {
			return c.fail(err.Error())
		}
		c.buf = valuetext.AppendDecimal(c.buf, v, n.scale)
	case n.logical == logicalUUID && n.kind == kindFixed:
		c.buf = valuetext.AppendUUID(c.buf, v)
	default:
		if !c.fits(size) {
			return false
		}
		c.buf = append(c.buf, v...)
	}
	return true
}

func appendTime(dst []byte, v, unit int64) []byte {
	second, fraction := v/unit, v%unit
	if v < 0 {
		dst, second, fraction = append(dst, '-'), -second, -fraction
	}
	return valuetext.AppendClock(dst, second, fraction, unit)
}
