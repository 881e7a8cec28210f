package delimited

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/span"
)

// putPlain stores a field that is neither quoted nor rewritten nor trimmed.
func (s *Scanner) putPlain(start, row, end, n int, last bool) *Fault {
	raw := s.Data[s.from:end]
	switch {
	case (s.nullSizes>>min(len(raw), 63))&1 != 0 && s.dialect.IsNull(raw, false) && !(s.nullWide && wide(raw)):
		s.Fields = append(s.Fields, span.Null())
	case s.charset == nil || ascii(s.Data, s.from, end):
		s.Fields = append(s.Fields, span.Span{Off: uint32(s.from), Len: uint32(len(raw))})
	default:
		return s.rewrite(start, row, s.from, end, n, last)
	}
	return nil
}

// put stores the current field, which ends before end.
func (s *Scanner) put(start, row, end, n int, last bool) *Fault {
	if s.quick && !s.odd {
		return s.putPlain(start, row, end, n, last)
	}
	from, to := s.from, end
	if s.quoted {
		if s.dialect.Trim != dialect.TrimNone {
			for from < to && s.Data[from] != s.quote {
				from++
			}
			for to > s.closed+1 && (s.Data[to-1] == ' ' || s.Data[to-1] == '\t') {
				to--
			}
		}
		if s.closed != to-1 {
			_, f := s.fault(start, row, s.closed+1, n, last, reasonAfter)
			return f
		}
		from, to = from+1, to-1
	} else if s.dialect.Trim != dialect.TrimNone {
		from, to = s.trim(from, to)
	}
	raw := s.Data[from:to]
	if (s.nullSizes>>min(len(raw), 63))&1 != 0 && s.dialect.IsNull(raw, s.quoted) && !(s.nullWide && wide(raw)) {
		s.Fields = append(s.Fields, span.Null())
		return nil
	}
	if !s.rewritten && (s.charset == nil || ascii(s.Data, from, to)) {
		s.Fields = append(s.Fields, span.Span{Off: uint32(from), Len: uint32(len(raw))})
		return nil
	}
	return s.rewrite(start, row, from, to, n, last)
}

// rewrite stores a value that must be decoded or unescaped: it appends the result to Data.
func (s *Scanner) rewrite(start, row, from, to, n int, last bool) *Fault {
	at := len(s.Data)
	raw := s.Data[from:to]
	if s.charset != nil {
		out, bad := s.charset.Append(s.Data, raw)
		if bad >= 0 {
			if s.undecoded == nil {
				s.undecoded = s.newFault(start, row, from+bad, reasonCharset)
			}
			s.Fields = append(s.Fields, span.Span{}) // the record continues, and its end reports it
			return nil
		}
		if s.Data, raw = out, out[at:]; s.nullWide && s.dialect.IsNull(raw, s.quoted) {
			s.Data, s.Fields = out[:at], append(s.Fields, span.Null())
			return nil
		}
	}
	switch {
	case s.rewritten && s.charset == nil && !(s.quoted && s.dialect.Doubled):
		s.Data = s.escapes.Append(s.Data, raw)
	case s.rewritten:
		// The result is never longer than the value. A value that has already been decoded is rewritten in place.
		if s.charset == nil {
			s.Data = append(s.Data, raw...)
			raw = s.Data[at:]
		}
		s.Data = s.Data[:at+s.plain(raw)]
	}
	if len(s.Data) > math.MaxUint32 {
		_, f := s.fault(start, row, from, n, last, "values that are rewritten need more than 4 GiB")
		return f
	}
	s.Fields = append(s.Fields, span.Span{Off: uint32(at), Len: uint32(len(s.Data) - at)})
	return nil
}

// plain removes escapes and doubled quotes from a value, in place, and returns its new length.
func (s *Scanner) plain(value []byte) int {
	doubled := s.quoted && s.dialect.Doubled
	if !doubled {
		return len(s.escapes.Append(value[:0], value))
	}
	n := 0
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case s.hasEscape && c == s.escape && i+1 < len(value):
			var more int
			c, more = s.escapes.One(value[i+1:])
			i += more
		case c == s.quote && i+1 < len(value) && value[i+1] == s.quote:
			i++
		}
		value[n] = c
		n++
	}
	return n
}

// trim removes blanks and tabs from the ends of a field that the dialect trims.
func (s *Scanner) trim(from, to int) (int, int) {
	raw := s.Data[from:to]
	if s.dialect.Trim != dialect.TrimRight {
		raw = bytes.TrimLeft(raw, " \t")
		from = to - len(raw)
	}
	if s.dialect.Trim != dialect.TrimLeft {
		to = from + len(bytes.TrimRight(raw, " \t"))
	}
	return from, to
}

// record stores the last field of a record, which ends before end; the next one begins at next.
func (s *Scanner) record(start, row, end, next, n int, last bool) *Fault {
	if len(s.Fields) == row && !s.quoted && s.passed(s.Data[start:end], last && next >= n) {
		return nil
	}
	// A separator that ends the record is not followed by another field.
	ended := s.separated && len(s.Fields) > row && s.from == end && !s.quoted
	if !ended {
		if f := s.put(start, row, end, n, last); f != nil {
			return f
		}
	}
	if f := s.undecoded; f != nil {
		f.End = next
		return f
	}
	if found := len(s.Fields) - row; found != s.cols {
		return &Fault{Start: start, End: next, At: start, Column: -1, Found: found}
	}
	if s.separated && !ended {
		return &Fault{Start: start, End: next, At: end, Column: -1, Reason: reasonLast}
	}
	s.Starts = append(s.Starts, uint32(start))
	return nil
}

// passed reports whether a line is not a record: an empty line, if records have several columns and lines may end with
// CR LF, or PostgreSQL's end-of-data mark at the end of the text.
func (s *Scanner) passed(line []byte, end bool) bool {
	if len(line) == 0 {
		return s.cols > 1 && s.cr
	}
	return end && s.dialect.Map == dialect.Postgres && string(line) == `\.`
}

// ascii reports whether all bytes of p[from:to] are below 0x80. p has at least eight bytes after to, whose values do not matter.
func ascii(p []byte, from, to int) bool {
	const high = 0x8080808080808080
	for ; to-from >= 8; from += 8 {
		if binary.LittleEndian.Uint64(p[from:])&high != 0 {
			return false
		}
	}
	return binary.LittleEndian.Uint64(p[from:])&high&(1<<(uint(to-from)*8)-1) == 0
}

// wide reports whether the bytes of a text for NULL are characters beyond ASCII: in text of a character set, the same bytes are others. Bytes that
// are not UTF-8 are meant as they are.
func wide(null []byte) bool {
	return utf8.Valid(null) && utf8.RuneCount(null) < len(null)
}

// newFault returns a fault of the current field. The end of the record is not set.
func (s *Scanner) newFault(start, row, at int, reason string) *Fault {
	return &Fault{Start: start, End: -1, At: at, Column: len(s.Fields) - row, Reason: reason}
}

// fault returns a fault. The bad record ends with the line that the fault is on.
func (s *Scanner) fault(start, row, at, n int, last bool, reason string) (int, *Fault) {
	f := s.newFault(start, row, at, reason)
	if next := s.afterEnd(s.Data[start:n], at-start, s.hasEscape && !s.dialect.QuotedOnly); next >= 0 {
		f.End = start + next
	} else if last {
		f.End = n
	}
	return s.bad(start, row, f)
}

// escaped reports whether the text ends with an odd number of escapes.
func escaped(text []byte, escape byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == escape {
		n--
	}
	return (len(text)-n)&1 != 0
}

// nullWord detects NULL, if there is only one text for it, by comparing words. It has no branch, because NULLs are unpredictable: a
// branch would be mispredicted in every second row.
type nullWord struct {
	usable     bool // there is at most one text for NULL, of at most 7 bytes
	text, mask uint64
	size       uint64
}

func newNullWord(nulls []string) nullWord {
	switch {
	case len(nulls) == 0:
		return nullWord{usable: true, size: math.MaxUint64} // no field has this size
	case len(nulls) > 1 || len(nulls[0]) > 7:
		return nullWord{}
	}
	w := nullWord{usable: true, size: uint64(len(nulls[0]))}
	for i := range len(nulls[0]) {
		w.text |= uint64(nulls[0][i]) << (8 * i)
	}
	w.mask = 1<<(8*w.size) - 1
	return w
}

// zero returns 1 for 0, and 0 for other numbers.
func zero(n uint64) uint64 { return ((n - 1) &^ n) >> 63 }

// span returns the span of the field data[from:to], or [span.Null]. data must have eight more bytes. The field is NULL if its bytes and its
// length equal those of the word: any bit that differs in either stays set.
func (w *nullWord) span(data []byte, from, to int) span.Span {
	size := uint64(to - from)
	null := -uint32(zero((binary.LittleEndian.Uint64(data[from:])&w.mask ^ w.text) | (size ^ w.size)))
	return span.Span{Off: uint32(from) | null, Len: uint32(size) &^ null}
}
