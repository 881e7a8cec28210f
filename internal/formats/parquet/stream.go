package parquet

import (
	"errors"

	"bulkload/pkg/source/span"
)

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
