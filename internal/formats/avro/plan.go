package avro

import (
	"io"
	"math"
	"time"

	"bulkload/pkg/source/span"
)

// DefaultText is the default of [Options.MaxText], 64 MiB.
const DefaultText = 64 << 20

// Options say how values become text.
type Options struct {
	// Location is the zone that instants (timestamp-millis, -micros, -nanos) are written in. The default is UTC.
	Location *time.Location
	// MaxText is how many bytes the texts of one record may take besides its block, where they are not as they are. The
	// default is [DefaultText].
	MaxText int
}

// Plan decodes the records of one schema into chosen columns. It does not change, and may be used by several goroutines
// at once.
type Plan struct {
	parts []part // of the top record
	zone  *time.Location
	text  int // bytes that a record may append
}

// A part is the wanted part of a field.
type part struct {
	name  string
	node  *node // of what is not null, for a union of null and one other
	null  int   // which branch of the union is null, -1 without one
	pass  bool  // nothing of it is wanted
	out   int   // the first span to fill with the value, -1 for none
	also  []int // further spans for the same
	parts []part
	all   []int // all spans to fill with the value or with what is in it
}

// Record takes the next record of a block, block.At on, and fills fields, one for each chosen column, in their order.
// Values are in buf, the block's buffer; those that must be written are appended to it, and grown is the longer buffer.
// The caller may cut it back to block.End when it is done with the values. At the end of the block err is io.EOF; any
// other error is an [Error] or a [SizeError], and ends the block: where the next record begins is then unknown.
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

// error returns the fault at which a record ended; buf was size bytes long before it.
func (c *cursor) error(block *Block, size, limit int) error {
	if c.full {
		return &SizeError{What: "text of record", Offset: block.Offset, Record: block.Next + 1, Field: c.field(), Need: int64(len(c.buf)-size) + 1, AtLeast: true, Limit: int64(limit)}
	}
	return &Error{Offset: block.Offset, Record: block.Next + 1, Field: c.field(), Reason: c.reason}
}

// record takes the fields of a record.
func (c *cursor) record(parts []part, fields []span.Span) bool {
	for i := range parts {
		p := &parts[i]
		n := p.node
		if p.null >= 0 {
			branch, ok := c.index(2, reasonBranch)
			if !ok {
				return c.within(p.name)
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
				return c.within(p.name)
			}
		case p.parts == nil:
			if !c.fill(p, n, fields) {
				return c.within(p.name)
			}
		default:
			if p.out >= 0 { // wanted as a whole too: taken twice
				at := c.at
				if !c.fill(p, n, fields) {
					return c.within(p.name)
				}
				c.at = at
			}
			if !c.record(p.parts, fields) {
				return c.within(p.name)
			}
		}
	}
	return true
}

// fill takes a value that is wanted as a whole.
func (c *cursor) fill(p *part, n *node, fields []span.Span) bool {
	v, ok := c.value(n)
	fields[p.out] = v
	for _, to := range p.also {
		fields[to] = v
	}
	return ok
}
