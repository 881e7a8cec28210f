package avro

import (
	"io"
	"math"
	"time"

	"bulkload/pkg/source/span"
)

// DefaultText is the default of [Options.MaxText], 64 MiB.
const DefaultText = 64 << 20

// Options are the settings for the text of values.
type Options struct {
	// Location is the time zone in which instants (timestamp-millis, -micros, -nanos) are written. The default is UTC.
	Location *time.Location
	// MaxText is the largest size in bytes of the texts of one record that are not stored in the block as they are. The default is [DefaultText].
	MaxText int
}

// Plan decodes the selected columns of records. It is immutable, and may be used by several goroutines at once.
type Plan struct {
	parts []part // of the top record
	zone  *time.Location
	text  int // the most bytes that a record may append
}

// A part describes how a field is decoded.
type part struct {
	name  string
	node  *node // for a union of null and one other type, the other type
	null  int   // index of the null branch of the union, -1 if there is none
	pass  bool  // the field is skipped
	out   int   // the first span to fill with the value, -1 if there is none
	also  []int // further spans for the same value
	parts []part
	all   []int // all spans to fill with the value or with values inside it
}

// Record takes the next record of a block, at block.At, and fills fields, one for each selected column, in their order. Values are in buf, the block's
// buffer. Texts that differ from the stored bytes are appended to it, and grown is the extended buffer; the caller may truncate it to block.End when it
// no longer needs the values. At the end of the block err is io.EOF. Any other error is an [Error] or a [SizeError], and ends the block, because the
// start of the next record is unknown.
func (p *Plan) Record(buf []byte, block *Block, fields []span.Span) (grown []byte, err error) {
	if block.Next == block.Records {
		if block.At != block.End {
			return buf, &Error{Offset: block.Offset, Reason: "data follow the last record of the block"}
		}
		return buf, io.EOF
	}
	c := cursor{buf: buf, at: block.At, end: block.End, limit: min(len(buf), math.MaxUint32-1-p.text) + p.text, zone: p.zone}
	if !c.record(p.parts, fields) {
		return c.buf, c.error(block, len(buf), p.text)
	}
	block.At = c.at
	block.Next++
	return c.buf, nil
}

// error returns the fault at which a record ended; size is the length of buf before it.
func (c *cursor) error(block *Block, size, limit int) error {
	if c.full {
		return &SizeError{What: "text of record", Offset: block.Offset, Record: block.Next + 1, Field: c.field(), Need: int64(len(c.buf)-size) + 1, AtLeast: true, Limit: int64(limit)}
	}
	return &Error{Offset: block.Offset, Record: block.Next + 1, Field: c.field(), Reason: c.reason}
}

func (c *cursor) record(parts []part, fields []span.Span) bool {
	for i := range parts {
		p := &parts[i]
		n := p.node
		if p.null >= 0 {
			branch, ok := c.index(2, reasonBranch)
			if !ok {
				return c.faultIn(p.name)
			}
			if branch == p.null {
				for _, to := range p.all {
					fields[to] = span.Null()
				}
				continue
			}
		}
		switch {
		case p.pass:
			if !c.skip(n) {
				return c.faultIn(p.name)
			}
		case p.parts == nil:
			if !c.fill(p, n, fields) {
				return c.faultIn(p.name)
			}
		default:
			if p.out >= 0 { // also selected as a whole, so it is decoded twice
				at := c.at
				if !c.fill(p, n, fields) {
					return c.faultIn(p.name)
				}
				c.at = at
			}
			if !c.record(p.parts, fields) {
				return c.faultIn(p.name)
			}
		}
	}
	return true
}

// fill takes a value that is selected as a whole.
func (c *cursor) fill(p *part, n *node, fields []span.Span) bool {
	v, ok := c.value(n)
	fields[p.out] = v
	for _, to := range p.also {
		fields[to] = v
	}
	return ok
}
