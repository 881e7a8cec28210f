package parquet

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/span"
)

// nestedReader converts the values of nested columns to JSON.
type nestedReader struct {
	cols   []nestedPlace
	names  []leaf // of the leaves
	leaves []leafStream
	most   int // largest size of a value in bytes
}

// batchText is the number of bytes of JSON that ends a batch.
const batchText = 1 << 20

func (r *nestedReader) begin(p *Reader, m *File, chunks []columnChunk) {
	r.cols, r.names = m.nested, m.leaves[m.flat:]
	r.most = int(min(int64(p.maxText), p.limit.Bytes))
	if len(r.leaves) != len(r.names) {
		for i := range r.leaves {
			p.total -= int64(r.leaves[i].arena.total)
		}
		r.leaves = make([]leafStream, len(r.names))
	}
	for i := range r.leaves {
		r.leaves[i].begin(p, r.names[i].typ, chunks[i])
	}
}

// rows appends the values of at most n rows to dst, as JSON, and sets the spans of the nested columns in fields. It returns
// the number of rows, which is less than n if the values are long.
func (r *nestedReader) rows(dst []byte, fields []span.Span, cols, n int) ([]byte, int, error) {
	full := len(dst) + batchText
	for row := range n {
		for i := range r.cols {
			c := &r.cols[i]
			start := len(dst)
			s := &fields[row*cols+c.place]
			w := nestedWriter{leaves: r.leaves[c.first:], most: start + r.most}
			def, err := w.look(c.shape, 0)
			switch {
			case err != nil:
			case def < c.shape.def:
				*s = span.Null()
				err = w.pass(c.shape, 0, c.shape.def)
			default:
				dst, err = w.value(dst, c.shape, 0)
				*s = span.Span{Off: uint32(start), Len: uint32(len(dst) - start)}
			}
			if err == nil && int64(len(dst)) > maxArena {
				err = errArena
			}
			if err != nil {
				return dst, 0, fmt.Errorf("column %s: %w", r.names[c.first+w.at].name, err)
			}
		}
		if len(dst) >= full {
			return dst, row + 1, nil
		}
	}
	return dst, n, nil
}

// finish checks that no values are left after the last row.
func (r *nestedReader) finish() error {
	for i := range r.leaves {
		if l := &r.leaves[i]; l.at < l.n || l.col.left > 0 || l.col.values > 0 {
			return fmt.Errorf("column %s: it has more values than the rows of the row group", r.names[i].name)
		}
	}
	return nil
}

// nestedWriter writes a value of a nested column.
type nestedWriter struct {
	leaves []leafStream
	at     int // the leaf that was read last
	most   int // largest end of the JSON
}

var errLongJSON = errors.New("a value is longer as JSON than a record may be")

// look returns the definition level of the current entry of a shape's first leaf.
func (w *nestedWriter) look(s *shape, rep int) (int, error) {
	w.at = s.first
	return w.leaves[s.first].look(rep)
}

// pass skips one entry of each of a shape's leaves. Their definition levels must be below most.
func (w *nestedWriter) pass(s *shape, rep, most int) error {
	for w.at = s.first; w.at < s.end; w.at++ {
		l := &w.leaves[w.at]
		def, err := l.look(rep)
		if err != nil {
			return err
		}
		if def >= most {
			return errDisagree
		}
		l.at++
	}
	w.at = s.first
	return nil
}

// value appends a value, whose entries have the given repetition level.
func (w *nestedWriter) value(dst []byte, s *shape, rep int) ([]byte, error) {
	if len(dst) > w.most {
		return dst, errLongJSON
	}
	def, err := w.look(s, rep)
	if err != nil {
		return dst, err
	}
	if def < s.def {
		return append(dst, "null"...), w.pass(s, rep, s.def)
	}
	switch s.kind {
	case shapeLeaf:
		l := &w.leaves[s.leaf]
		v := l.value()
		if len(v) > w.most-len(dst) {
			return dst, errLongJSON
		}
		dst = s.typ.appendJSON(dst, v)
		l.at++
		return dst, nil
	case shapeVariant:
		return w.variant(dst, s, rep)
	case shapeStruct:
		dst = append(dst, '{')
		for i, kid := range s.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = w.value(append(dst, kid.name...), kid, rep); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
	return w.items(dst, s, rep, func(dst []byte, rep int) ([]byte, error) {
		if s.kind == shapeMap {
			return w.entry(dst, s, rep)
		}
		return w.value(dst, s.kids[0], rep)
	})
}

// items appends the items of a list or a map that is not null. item appends each of them.
func (w *nestedWriter) items(dst []byte, s *shape, rep int, item func(dst []byte, rep int) ([]byte, error)) ([]byte, error) {
	open, shut := byte('['), byte(']')
	if s.kind == shapeMap {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	def, err := w.look(s, rep)
	if err != nil {
		return dst, err
	}
	if def < s.item {
		return append(dst, shut), w.pass(s, rep, s.item)
	}
	for {
		if dst, err = item(dst, rep); err != nil {
			return dst, err
		}
		w.at = s.first
		l := &w.leaves[s.first]
		more, err := l.more()
		if err != nil {
			return dst, err
		}
		if rep = s.rep; !more || l.repeats[l.at] != uint32(rep) {
			return append(dst, shut), nil
		}
		dst = append(dst, ',')
	}
}

// entry appends a key of a map and its value.
func (w *nestedWriter) entry(dst []byte, s *shape, rep int) ([]byte, error) {
	key := s.kids[0]
	start := len(dst)
	dst, err := w.value(dst, key, rep)
	if err != nil {
		return dst, err
	}
	if dst[start] != '"' { // values that are not strings need no escapes
		dst = append(slices.Insert(dst, start, '"'), '"')
	}
	return w.value(append(dst, ':'), s.kids[1], rep)
}

// appendJSON writes a value's text as JSON: a number or a boolean unchanged, anything else as a string.
func (t *columnType) appendJSON(dst, text []byte) []byte {
	switch t.kind {
	case kindText:
		if t.text {
			return valuetext.AppendJSON(dst, text)
		}
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), text), '"')
	case kindBool, kindInt, kindUint, kindDecimal, kindDecimalInt:
		return append(dst, text...)
	case kindFloat16, kindFloat, kindDouble:
		if c := text[len(text)-1]; c >= '0' && c <= '9' {
			return append(dst, text...)
		} // NaN, Infinity
	}
	return append(append(append(dst, '"'), text...), '"')
}

// leafStream reads a leaf of a nested column, entry by entry. An entry is a value, a null, or an empty list or map, with its
// levels. The stream has its own arena, because its pages do not end at the same rows as those of other columns.
type leafStream struct {
	pageReader
	col           columnReader
	repeats, defs []uint32
	spans         []span.Span
	at, n         int // the current entry, and the number of entries that were read
}

// streamMemory is the approximate number of bytes that a stream holds besides its pages.
const streamMemory = MaxRows * (4 + 4 + 8 + 16)

func (l *leafStream) begin(p *Reader, typ columnType, chunk columnChunk) {
	l.pages, l.levels, l.index, l.limit, l.arena.all = p.pages, p.levels, p.index, p.limit, &p.total
	if l.spans == nil {
		l.repeats, l.defs, l.spans = make([]uint32, MaxRows), make([]uint32, MaxRows), make([]span.Span, MaxRows)
	}
	l.at, l.n = 0, 0
	l.col.begin(0, typ, chunk)
	page, dictionary := chunk.buffers()
	l.arena.want(0, page)
	l.arena.want(1, dictionary)
}

// more reports whether there is a current entry, and reads more entries if necessary.
func (l *leafStream) more() (bool, error) {
	if l.at < l.n {
		return true, nil
	}
	if l.col.left == 0 && l.col.values == 0 {
		return false, nil
	}
	if err := l.col.load(&l.pageReader); err != nil {
		return false, err
	}
	l.at, l.n = 0, min(l.col.left, MaxRows)
	l.arena.reset()
	return true, l.col.takeEntries(&l.pageReader, l.repeats[:l.n], l.defs[:l.n], l.spans[:l.n])
}

var errDisagree = errors.New("its levels do not agree with those of its other columns")

// look returns the definition level of the current entry, which must have the given repetition level.
func (l *leafStream) look(rep int) (def int, err error) {
	ok, err := l.more()
	switch {
	case err != nil:
		return 0, err
	case !ok || l.repeats[l.at] != uint32(rep):
		return 0, errDisagree
	}
	return int(l.defs[l.at]), nil
}

// value returns the value of the current entry, nil if it is null.
func (l *leafStream) value() []byte { return l.spans[l.at].Of(l.arena.buf) }
