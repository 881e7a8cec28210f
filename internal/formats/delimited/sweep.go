package delimited

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/source/span"
)

// A sweep cuts the most common text into records: it has several columns, no quotes, and separators and record separators of one byte. The
// next special byte is unpredictable, so the code does not branch on it: arithmetic removes escaped bytes from the masks of blocks, and NULL
// is compared as a word. A sweep processes the text stretch by stretch, in steps whose data stay in registers: it computes the masks of
// blocks, the ends of fields, the records, and then the few values that have escapes.
type sweep struct {
	usable    bool
	hasEscape bool
	find      swar.Finder
	sep, end  byte
	null      uint64 // a separator, the text for NULL, and a separator
	nullMask  uint64 // the bytes of null to compare; none if there is no text for NULL

	seps [stretch]uint64 // the ends of fields in each block of the stretch
	odd  [stretch]uint64 // the ends of fields that have an escape
	some bool            // odd marks a field of the stretch, or the last field is open and has an escape
	escapeState
	oddFields []uint32 // indexes of fields that have an escape and are not unescaped yet
}

// stretch is the number of blocks that are processed together, so that their masks and fields stay in the nearest cache. The first stretches
// are shorter, because their work is lost if a bad record ends the scan.
const stretch, firstStretch = 64, 4

// newSweep returns the sweep of a scanner whose other fields are set.
func newSweep(s *Scanner) *sweep {
	w := &sweep{hasEscape: s.hasEscape, sep: s.sep[0], end: s.end[0], null: math.MaxUint64}
	w.find = swar.NewFinder(w.sep, w.end, s.escape)
	w.usable = s.word.usable && s.cols > 1 && !s.separated && !s.hasQuote && s.dialect.Comment == "" && len(s.end) == 1 && max(w.sep, w.end, s.escape) < 0x80
	if w.usable && len(s.dialect.Null) == 1 {
		null := s.dialect.Null[0]
		// Under these conditions, the text for NULL between separators is a single field.
		w.usable = len(null) <= 6 && !strings.Contains(null, s.sep) && !strings.Contains(null, s.end) && !(s.hasEscape && escaped([]byte(null), s.escape))
		var word [8]byte
		n := copy(word[:], s.sep+null+s.sep)
		w.null, w.nullMask = binary.LittleEndian.Uint64(word[:]), math.MaxUint64>>(64-8*n)
	}
	return w
}

// storeSwept stores the records of Data[start:n] up to the first that is bad, empty or incomplete. It returns the offset of that record.
func (s *Scanner) storeSwept(start, n int) int {
	w := s.sweep
	w.escapeState, w.some, w.oddFields = escapeState{}, false, w.oddFields[:0]
	most, k, ok := firstStretch, 0, true
	for base := start; base < n && ok; {
		blocks := min((n-base+swar.Block-1)/swar.Block, most)
		w.mark(s.Data[base:], blocks, n-base)
		k = s.note(base, blocks, k)
		start, ok = s.take(start, k)
		s.unescape()
		base += blocks * swar.Block
		most = min(2*most, stretch)
	}
	return start
}

// mark finds the ends of fields in the first blocks of text, which has n bytes.
func (w *sweep) mark(text []byte, blocks, n int) {
	seps, odd := w.seps[:blocks], w.odd[:blocks]
	last := &seps[blocks-1]
	n -= (blocks - 1) * swar.Block
	switch {
	case !w.hasEscape:
		w.find.Two(seps, text)
	case !w.some && w.escapeState == escapeState{} && w.find.TwoAlone(seps, text):
	default:
		w.find.TwoAndThird(seps, odd, text)
		odd[blocks-1] = swar.Tail(odd[blocks-1], n)
		w.some = w.escapeState.apply(seps, odd)
	}
	*last = swar.Tail(*last, n)
}

// note stores the ends of the fields in the given blocks as Off of s.Fields[k:]. It returns the new number of fields.
func (s *Scanner) note(base, blocks, k int) int {
	w := s.sweep
	if cap(s.Fields)-k < blocks*swar.Block {
		s.Fields = slices.Grow(s.Fields[:k], blocks*swar.Block)[:len(s.Fields)]
	}
	fields := s.Fields[:cap(s.Fields)]
	for i, m := range w.seps[:blocks] {
		if w.some {
			w.oddFields = appendRanks(w.oddFields, k, m, w.odd[i])
		}
		k += places(fields[k:], m, uint32(base+i*swar.Block))
	}
	return k
}

// take converts the first k fields, whose ends note stored, to records. It returns the offset of the first remaining record. ok is false if
// that record has a wrong number of columns.
func (s *Scanner) take(start, k int) (next int, ok bool) {
	data, cols, row := s.Data, s.cols, len(s.Fields)
	fields := s.Fields[:k]
	ok = true
	for k-row >= cols {
		record := fields[row : row+cols]
		last := &record[cols-1]
		end := int(last.Off)
		from, whole := s.sweep.cut(record[:cols-1], data, uint32(start))
		if !whole || data[end] != s.sweep.end {
			ok = false
			break
		}
		to := end
		if s.cr && to > int(from) && data[to-1] == '\r' && !(s.hasEscape && escaped(data[from:to-1], s.escape)) {
			to--
		}
		*last = s.word.span(data, int(from), to)
		s.Starts = append(s.Starts, uint32(start))
		row += cols
		start = end + 1
	}
	s.Fields = fields[:row]
	return start, ok
}

// cut sets the spans of all fields of a record but the last; note stored their ends. The record begins at from. cut returns the offset of
// the last field, and false if the record ends before that.
func (w *sweep) cut(fields []span.Span, data []byte, from uint32) (uint32, bool) {
	sep, null, mask := uint64(w.sep), w.null, w.nullMask
	word := binary.LittleEndian.Uint64(data[from:])<<8 | sep // the field, and the byte before it
	other := uint64(0)
	for i := range fields {
		f := &fields[i]
		isNull := -uint32(zero(word&mask ^ null))
		to := f.Off
		f.Off, f.Len = from|isNull, (to-from)&^isNull
		word = load(data, int(to))
		other |= word ^ sep
		from = to + 1
	}
	return from, byte(other) == 0
}

// unescape appends the unescaped values of the stored fields that have escapes.
func (s *Scanner) unescape() {
	w := s.sweep
	if len(w.oddFields) == 0 {
		return
	}
	// Most fields with an escape are NULL.
	values, next := 0, len(w.oddFields)
	for i, field := range w.oddFields {
		if int(field) >= len(s.Fields) {
			next = i
			break
		}
		w.oddFields[values] = field
		values += 1 - int(zero(uint64(^s.Fields[field].Off)))
	}
	for _, field := range w.oddFields[:values] {
		f := &s.Fields[field]
		at := len(s.Data)
		s.Data = s.escapes.Append(s.Data, f.Of(s.Data))
		*f = span.Span{Off: uint32(at), Len: uint32(len(s.Data) - at)}
	}
	w.oddFields = w.oddFields[:copy(w.oddFields, w.oddFields[next:])]
}
