package delimited

import (
	"math"
	"strings"
	"unicode/utf8"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/span"
)

// Charset decodes values. The sets of package charset implement it.
type Charset interface {
	// Append appends the decoded text to dst. bad is the offset of the first byte that is not part of a character, -1 for none.
	Append(dst, text []byte) (out []byte, bad int)
	// Starts returns a mask of the bytes among the first 64 of text that begin a character. The first skip bytes belong to an
	// earlier character. Unless the whole text ends there, text has 3 more bytes after the 64; next is the number of bytes after
	// the 64 that belong to the last character.
	Starts(text []byte, skip int) (starts uint64, next int)
	// Safe returns the bound below which a byte is always a character by itself, at any position.
	Safe() byte
}

// A Scanner cuts text into records. Only one goroutine may use it.
type Scanner struct {
	dialect *dialect.Dialect
	cols    int
	charset Charset // nil: values are not decoded
	escapes *dialect.Unescaper

	sep, end   string // after a field, after a record
	cr         bool   // a CR before end belongs to it
	escape     byte
	quote      byte
	unsafe     bool // a special byte can be part of a longer character
	hasEscape  bool
	hasQuote   bool
	looks      int  // number of special bytes: sep and end, and the quote or the escape or both
	quick      bool // the separator is one byte, fields are not trimmed, and rest is false
	separated  bool // a separator ends each record
	rest       bool // the last field may contain separators
	null       string
	nullEscape bool   // null is the only text for NULL, and begins with the escape
	a, b, c, e uint64 // patterns of the special bytes
	nullSizes  uint64 // bit n: a text for NULL has n bytes; bit 63: 63 bytes or more
	nullWide   bool   // a text for NULL may have other bytes in the character set: they are compared when they are decoded
	word       nullWord
	sweep      *sweep

	// The results of Scan. They are valid until its next call.
	Fields []span.Span // cols for each record
	Starts []uint32    // offset of each record
	Data   []byte      // the text, its slack, and the values that were decoded or unescaped

	field            // the current field
	known     int    // a position where a character begins, at or before the position of the last call of follows
	undecoded *Fault // the first value of the current record that could not be decoded
}

// field is the state of the current field.
type field struct {
	from      int
	quoted    bool // a quote opened it
	inside    bool // no quote has closed it yet
	closed    int  // position of the quote that closed it
	rewritten bool // it has escapes or doubled quotes
	odd       bool // it is quoted or rewritten
}

// A Fault describes a record that the dialect does not allow.
type Fault struct {
	Start, End int // the record, with its end mark; End is -1 while the end is unknown
	At         int // the byte at fault
	Column     int // from 0; -1: the record as a whole
	Found      int // number of columns, if it is wrong; else 0
	Reason     string
	Unclosed   bool // a quote is not closed before the text ends: the beginning of the next record is unknown
}

// Reasons.
const (
	reasonBare     = "a quote within a field that is not quoted (quote the field, or say quotes: lenient)"
	reasonAfter    = "text after a closing quote"
	reasonUnclosed = "a quote is opened and not closed"
	reasonCharset  = "bytes that are not a character of the character set"
	reasonEscape   = "the escape stands before the end of the file"
	reasonLast     = "no separator ends the record (last_column says separated)"
)

// New returns a scanner of records with cols columns. charset is nil if values are not decoded.
func New(d *dialect.Dialect, cols int, charset Charset) *Scanner {
	s := &Scanner{dialect: d, cols: cols, charset: charset, sep: d.FieldSep, end: d.RecordSep}
	if s.end == "" {
		s.end, s.cr = "\n", true
	}
	s.a, s.b = swar.Spread(s.sep[0]), swar.Spread(s.end[0])
	s.c, s.e = s.a, s.a
	if s.hasQuote = d.Quote != ""; s.hasQuote {
		s.quote = d.Quote[0]
		s.c = swar.Spread(s.quote)
	}
	if s.hasEscape = d.Escape != ""; s.hasEscape {
		s.escape = d.Escape[0]
		s.e = swar.Spread(s.escape)
		s.escapes = d.Unescaper()
	}
	if charset != nil {
		special := max(s.sep[0], s.end[0])
		for _, text := range []string{d.Quote, d.Escape} {
			if text != "" {
				special = max(special, text[0])
			}
		}
		s.unsafe = special >= charset.Safe()
	}
	for _, null := range d.Null {
		s.nullSizes |= 1 << min(len(null), 63)
		s.nullWide = s.nullWide || charset != nil && strings.ContainsFunc(null, func(r rune) bool { return r >= utf8.RuneSelf })
	}
	s.looks = 4
	switch {
	case !s.hasQuote && !s.hasEscape:
		s.looks = 2
	case !s.hasEscape || !s.hasQuote || s.quote == s.escape:
		s.looks = 3
		if s.hasEscape {
			s.c = s.e
		}
	}
	s.separated, s.rest = d.Last == dialect.LastSeparated, d.Last == dialect.LastRest
	s.quick = len(s.sep) == 1 && d.Trim == dialect.TrimNone && !s.rest
	if len(d.Null) == 1 && s.hasEscape && !d.QuotedOnly && s.quick {
		s.null = d.Null[0]
		s.nullEscape = len(s.null) > 1 && s.null[0] == s.escape && !s.nullWide
	}
	if s.quick && charset == nil {
		s.word = newNullWord(d.Null)
	}
	s.sweep = newSweep(s)
	return s
}

// ahead is the number of bytes after a block that are needed to classify its last bytes.
const ahead = 3

// Slack is the number of bytes that Scan needs in memory after the text.
const Slack = swar.Block

// Scan cuts data[start:n] into records. A record begins at start, and data has [Slack] more bytes after n. last means that the
// text, and so the last record, ends at n. Scan stops after the last complete record, or at a bad record, whose fault it
// returns. To continue, call it again with next as start.
func (s *Scanner) Scan(data []byte, start, n int, last bool) (next int, bad *Fault) {
	s.Fields, s.Starts, s.Data = s.Fields[:0], s.Starts[:0], data
	s.field, s.undecoded, s.known = field{from: start}, nil, start
	skip := start // bytes before it are handled
	row := 0
	if start = s.skipComments(start, n, last); start < 0 {
		return -start - 1, nil
	}
	if s.sweep.usable && n <= math.MaxUint32/2-Slack { // rewritten values need room
		start = s.storeSwept(start, n)
		row = len(s.Fields)
	}
	s.from, skip = start, start
	sep, quick, plain, nulls, word, fields := s.sep[0], s.quick, s.charset == nil, s.nullSizes, s.word, s.Fields
	for base := start; base < n; base += swar.Block {
		m := s.mask(base, n)
		for m != 0 {
			pos := base + swar.Lowest(m)
			m &= m - 1
			if pos < skip {
				continue
			}
			c := data[pos]
			if c == sep && quick && !s.odd {
				// Most fields are neither quoted nor have escapes.
				if word.usable {
					fields = append(fields, word.span(data, s.from, pos))
					skip = pos + 1
					s.from = skip
					continue
				}
				if s.unsafe && !s.begins(pos, n) {
					continue
				}
				raw := data[s.from:pos]
				switch {
				case (nulls>>min(len(raw), 63))&1 != 0 && s.dialect.IsNull(raw, false) && !(s.nullWide && wide(raw)):
					fields = append(fields, span.Null())
				case plain || ascii(data, s.from, pos):
					fields = append(fields, span.Span{Off: uint32(s.from), Len: uint32(len(raw))})
				default:
					s.Fields = fields
					if f := s.rewrite(start, row, s.from, pos, n, last); f != nil {
						return s.bad(start, row, f)
					}
					fields = s.Fields
				}
				skip = pos + 1
				s.from = skip
				continue
			}
			if s.unsafe && !s.begins(pos, n) {
				continue
			}
			s.Fields = fields
			if s.inside {
				var wait bool
				if skip, wait = s.inQuotes(pos, n, c, last); wait {
					return s.stop(start, row)
				}
				continue
			}
			switch {
			case c == s.escape && s.hasEscape && !s.dialect.QuotedOnly:
				if s.quoted {
					return s.fault(start, row, pos, n, last, reasonAfter)
				}
				if s.nullEscape && pos == s.from && pos+len(s.null) < n && data[pos+len(s.null)] == sep && string(data[pos:pos+len(s.null)]) == s.null {
					fields = append(fields, span.Null())
					skip = pos + len(s.null) + 1
					s.from = skip
					continue
				}
				s.rewritten, s.odd = true, true
				skip = pos + 2
			case c == s.quote && s.hasQuote:
				if pos != s.from && !(s.dialect.Trim != dialect.TrimNone && blank(s.Data[s.from:pos])) || s.quoted {
					if s.dialect.Lenient && !s.quoted {
						continue
					}
					reason := reasonBare
					if s.quoted {
						reason = reasonAfter
					}
					return s.fault(start, row, pos, n, last, reason)
				}
				s.quoted, s.inside, s.odd = true, true, true
			case s.at(pos, n, s.sep):
				if s.rest && len(fields)-row == s.cols-1 {
					skip = pos + len(s.sep)
					continue
				}
				if f := s.put(start, row, pos, n, last); f != nil {
					return s.bad(start, row, f)
				}
				fields = s.Fields
				skip = pos + len(s.sep)
				s.field = field{from: skip}
			case s.at(pos, n, s.end):
				end := pos
				if s.cr && pos > max(s.from, skip) && s.Data[pos-1] == '\r' { // and not escaped
					end--
				}
				skip = pos + len(s.end)
				if f := s.record(start, row, end, skip, n, last); f != nil {
					return s.bad(start, row, f)
				}
				fields = s.Fields
				row, start = len(fields), s.skipComments(skip, n, last)
				if start < 0 {
					return s.stop(-start-1, row)
				}
				skip = start
				s.field = field{from: start}
			case !last && (s.cut(pos, n, s.sep) || s.cut(pos, n, s.end)):
				return s.stop(start, row) // the bytes that follow the text are needed to decide
			}
		}
	}
	s.Fields = fields
	if !last || start >= n {
		return s.stop(start, row)
	}
	switch {
	case s.inside:
		f := s.newFault(start, row, s.from, reasonUnclosed)
		f.End, f.Unclosed = n, true
		return s.bad(start, row, f)
	case skip > n:
		f := s.newFault(start, row, n-1, reasonEscape)
		f.End = n
		return s.bad(start, row, f)
	}
	end := n
	if s.cr && n > skip && s.Data[n-1] == '\r' {
		end--
	}
	if f := s.record(start, row, end, n, n, true); f != nil {
		return s.bad(start, row, f)
	}
	return n, nil
}
