package orc

import (
	"errors"
	"slices"

	"bulkload/pkg/source/span"
)

// batchText is the number of bytes of text at which a batch ends.
const batchText = 1 << 20

var errLongJSON = errors.New("a value is longer as JSON than a record may be")

// nestedColumn is a column of lists, maps, structs or unions.
type nestedColumn struct {
	*column
	at    int // position in the schema
	name  string
	above []*flags
}

// isPresent reports whether the enclosing structs of the next value, and the value itself, are present.
func (c *nestedColumn) isPresent() (bool, error) {
	for _, f := range c.above {
		if v, err := f.next(); err != nil || v == 0 {
			return false, err
		}
	}
	return true, nil
}

// A nestedWriter writes values as JSON.
type nestedWriter struct {
	most    int    // the offset where the JSON has to end
	scratch []byte // the text of a value
}

// top appends the next value of a column that is not within another, which is present, and returns its span. A union is the text of its branch, and NULL
// if that is.
func (w *nestedWriter) top(dst []byte, c *column) (_ span.Span, _ []byte, err error) {
	for c.kind == kindUnion {
		if c, err = c.branch(); err != nil {
			return span.Null(), dst, err
		}
		if c.present != nil {
			if v, err := c.present.next(); err != nil || v == 0 {
				return span.Null(), dst, err
			}
		}
	}
	if !c.kind.nested() {
		first, second, err := w.numbers(dst, c)
		if err != nil {
			return span.Null(), dst, err
		}
		return c.span(dst, first, second)
	}
	at := len(dst)
	dst, err = w.inner(dst, c)
	return span.Span{Off: uint32(at), Len: uint32(len(dst) - at)}, dst, err
}

// branch returns the branch of a union's next value.
func (c *column) branch() (*column, error) {
	tag, err := c.small.next()
	switch {
	case err != nil:
		return nil, err
	case int(tag) >= len(c.kids):
		return nil, errors.New("a value is of a branch that its union lacks")
	}
	return c.kids[tag], nil
}

// value appends the next value of a column.
func (w *nestedWriter) value(dst []byte, c *column) ([]byte, error) {
	if len(dst) > w.most {
		return dst, errLongJSON
	}
	if c.present != nil {
		if v, err := c.present.next(); err != nil || v == 0 {
			return append(dst, "null"...), err
		}
	}
	return w.inner(dst, c)
}

// inner appends a value that is present.
func (w *nestedWriter) inner(dst []byte, c *column) (_ []byte, err error) {
	switch c.kind {
	case kindStruct:
		dst = append(dst, '{')
		for i, kid := range c.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = w.value(append(dst, kid.json...), kid); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	case kindUnion:
		branch, err := c.branch()
		if err != nil {
			return dst, err
		}
		return w.value(dst, branch)
	case kindList, kindMap:
		return w.items(dst, c)
	}
	return w.leaf(dst, c)
}

// items appends the items of a list or the entries of a map. A map whose keys are lists, maps, structs or unions becomes a list of its entries.
func (w *nestedWriter) items(dst []byte, c *column) ([]byte, error) {
	n, err := c.ints.next()
	if err != nil {
		return dst, err
	}
	if n < 0 {
		return dst, errRun
	}
	open, shut := byte('['), byte(']')
	single := c.kind == kindMap && !c.kids[0].kind.nested()
	if single {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case single:
			dst, err = w.entry(dst, c)
		case c.kind == kindMap:
			if dst, err = w.value(append(dst, `{"key":`...), c.kids[0]); err == nil {
				dst, err = w.value(append(dst, `,"value":`...), c.kids[1])
			}
			dst = append(dst, '}')
		default:
			dst, err = w.value(dst, c.kids[0])
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, shut), nil
}

// entry appends a key of a map and its value.
func (w *nestedWriter) entry(dst []byte, c *column) ([]byte, error) {
	start := len(dst)
	dst, err := w.value(dst, c.kids[0])
	if err != nil {
		return dst, err
	}
	if dst[start] != '"' { // numbers and booleans need no escapes
		dst = append(slices.Insert(dst, start, '"'), '"')
	}
	return w.value(append(dst, ':'), c.kids[1])
}

// numbers reads the numbers of the next value of a column that is not a list, map, struct or union. The value is to be appended to dst.
func (w *nestedWriter) numbers(dst []byte, c *column) (first, second int64, err error) {
	switch {
	case c.kind == kindBool:
		var v byte
		v, err = c.bits.next()
		first = int64(v)
	case c.kind == kindByte:
		var v byte
		v, err = c.small.next()
		first = int64(int8(v))
	case c.ints != nil:
		first, err = c.ints.next()
	}
	if err == nil && c.more != nil {
		second, err = c.more.next()
	}
	if err == nil && !c.indexed && c.kind.octets() && first > int64(w.most-len(dst)) {
		err = errLongJSON
	}
	return first, second, err
}

// leaf appends a value that is not a list, map, struct or union.
func (w *nestedWriter) leaf(dst []byte, c *column) ([]byte, error) {
	first, second, err := w.numbers(dst, c)
	if err != nil {
		return dst, err
	}
	var s span.Span
	if c.indexed {
		if s, err = c.entry(first); err != nil {
			return dst, err
		}
		return c.kind.appendJSON(dst, s.Of(dst)), nil // the dictionary is at the start of the same buffer
	}
	s, w.scratch, err = c.span(w.scratch[:0], first, second)
	if err != nil {
		return dst, err
	}
	return c.kind.appendJSON(dst, s.Of(w.scratch)), nil
}
