package export

import (
	"bytes"
	"fmt"
	"io"
)

// textEncoder writes records as text.
type textEncoder struct {
	buffer
	text  *text
	names []string // of the header; none: files have no header
}

func newTextEncoder(w io.Writer, t *text, columns []column, first bool, most int) (_ *textEncoder, err error) {
	e := &textEncoder{buffer: newBuffer(w, most), text: t}
	if t.header(true) {
		for _, c := range columns {
			e.names = append(e.names, c.name)
		}
	}
	if !t.header(first) {
		return e, nil
	}
	for i, c := range columns {
		if i > 0 {
			e.b = append(e.b, t.dialect.FieldSep...)
		}
		if e.b, err = t.append(e.b, []byte(c.name), i == 0, len(columns)); err != nil {
			return nil, fmt.Errorf("column %q: its name cannot be written: %w", c.name, err)
		}
	}
	e.b = append(e.b, t.ending...)
	return e, nil
}

func (e *textEncoder) row(r *row) (_ int, err error) {
	for i := range r.values {
		if i > 0 {
			e.b = append(e.b, e.text.dialect.FieldSep...)
		}
		if !r.values[i].IsNull() {
			if e.b, err = e.text.append(e.b, r.value(i), i == 0, len(r.values)); err != nil {
				return i, err
			}
			continue
		}
		if !e.text.hasNull() {
			return i, errNoNull
		}
		e.b = append(e.b, e.text.dialect.Null[0]...)
	}
	switch last := len(r.values) - 1; {
	case e.repeatsHeader(r):
		return 0, errHeader
	case len(e.b) > 0 && e.b[len(e.b)-1] == sub && !e.text.special[sub]:
		return last, errSub
	}
	e.b = append(e.b, e.text.ending...)
	return -1, e.full()
}

// repeatsHeader reports whether the values of r equal the column names of a file with a header.
func (e *textEncoder) repeatsHeader(r *row) bool {
	if len(e.names) == 0 {
		return false
	}
	for i, name := range e.names {
		if r.values[i].IsNull() {
			return false
		}
		value := r.value(i)
		if i == 0 {
			value = bytes.TrimLeft(value, "\x1a")
		}
		if string(value) != name {
			return false
		}
	}
	return true
}

func (e *textEncoder) close() error { return e.flush() }
