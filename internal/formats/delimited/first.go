package delimited

import (
	"bytes"
	"math/bits"
	"unicode/utf8"

	"bulkload/pkg/source/dialect"
)

// First reads the first record of a text as a header. It returns its values, which are never NULL, and the offset of the
// next record. It skips lines that are not records, and blank lines if LF or CR LF ends records. names is nil if there is no complete record. If a separator ends each
// record, it may end the header too.
func (s *Scanner) First(text []byte, last bool) (names []string, next int, bad *Fault) {
	data := make([]byte, len(text)+Slack)
	copy(data, text)
	plain := *s.dialect
	plain.Null, plain.Last = nil, dialect.LastPlain
	// The number of columns is unknown. A scan for one column reports a record with more as a fault that has their number.
	one := New(&plain, 1, s.charset)
	begin := one.afterBlanks(text, last)
	next, bad = one.Scan(data, begin, len(text), last)
	if bad != nil && bad.Found > 0 && len(one.Starts) == 0 {
		many := New(&plain, bad.Found, s.charset)
		cut := make([]byte, bad.End+Slack)
		copy(cut, text[:bad.End])
		many.Scan(cut, begin, bad.End, true)
		if len(many.Starts) == 0 {
			return nil, 0, bad
		}
		for _, f := range many.Fields[:bad.Found] {
			names = append(names, string(f.Of(many.Data)))
		}
		if last := len(names) - 1; s.separated && names[last] == "" {
			names = names[:last]
		}
		return names, bad.End, nil
	}
	if len(one.Starts) == 0 {
		return nil, next, bad
	}
	// The first record has one column, and ends at the beginning of the second.
	end := next
	if len(one.Starts) > 1 {
		end = int(one.Starts[1])
	} else if bad != nil {
		end = bad.Start
	}
	return []string{string(one.Fields[0].Of(one.Data))}, end, nil
}

// afterBlanks returns the offset of the first record that is no blank line, or of comments before it.
func (s *Scanner) afterBlanks(text []byte, last bool) (at int) {
	for s.Data = text; s.cr; {
		from := s.skipComments(at, len(text), last)
		if from < 0 {
			return -from - 1
		}
		rest := AfterBlankLines(text[from:])
		if last && string(rest) == "\r" {
			rest = nil // a blank line that the end of the text ends
		}
		if at = len(text) - len(rest); at == from {
			break
		}
	}
	return at
}

// AfterBlankLines returns a text without the blank lines at its beginning, which end with LF or CR LF.
func AfterBlankLines(text []byte) []byte {
	for {
		rest := bytes.TrimPrefix(text, []byte{'\r'})
		if len(rest) == 0 || rest[0] != '\n' {
			return text
		}
		text = rest[1:]
	}
}

// One returns the first record of a text that begins with a record, without the comments, blank lines and records after it.
func (s *Scanner) One(text []byte) []byte {
	data := make([]byte, len(text)+Slack)
	copy(data, text)
	d := s.dialect.Records() // in this dialect, a comment counts as a record and ends the first one
	one := New(&d, s.cols, s.charset)
	next, bad := one.Scan(data, 0, len(text), true)
	switch {
	case len(one.Starts) > 1:
		next = int(one.Starts[1])
	case bad != nil && len(one.Starts) > 0:
		next = bad.Start
	}
	return text[:next]
}

// TrimEnd returns a record without its end mark, and without the blank lines after it. An escaped end mark ends no record.
func (s *Scanner) TrimEnd(record []byte) []byte {
	escaped := func(text []byte) bool { return !s.dialect.QuotedOnly && s.Escaped(text) }
	cr := func(line []byte) []byte {
		if text, ok := bytes.CutSuffix(line, []byte{'\r'}); ok && s.cr && !escaped(text) {
			return text
		}
		return line
	}
	if !bytes.HasSuffix(record, []byte(s.end)) {
		return cr(record) // the end of the file
	}
	for s.endsWith(record, s.end) {
		if record = cr(record[:len(record)-len(s.end)]); !s.cr || s.cols == 1 {
			break // a blank line is a record
		}
	}
	return record
}

// Start returns the offset of the first record that begins at or after a position of the text, -1 for none. The dialect
// must not have quotes. whole means that the text begins with a record; otherwise Start also returns -1 if the beginning of
// the record depends on bytes before the text.
func (s *Scanner) Start(text []byte, at int, whole bool) int {
	at = max(0, at-len(s.end))
	i := bytes.Index(text[at:], []byte(s.end))
	if i < 0 || !whole && s.depends(text[:at+i]) {
		return -1
	}
	return s.afterEnd(text, at+i, s.hasEscape)
}

// afterEnd returns the offset after the first end of a record at or after a position of the text, -1 if there is none. Escapes may count.
func (s *Scanner) afterEnd(text []byte, at int, escapes bool) int {
	for known := 0; ; at++ {
		i := bytes.Index(text[at:], []byte(s.end))
		if i < 0 {
			return -1
		}
		at += i
		var ok bool
		if ok, known = s.stands(text, at, known, escapes); ok {
			return at + len(s.end)
		}
	}
}

// depends reports whether bytes before the text determine if the byte after it is escaped, or if that byte begins a character.
func (s *Scanner) depends(text []byte) bool {
	n := len(text)
	for n > 0 && (s.hasEscape && text[n-1] == s.escape || s.unsafe && text[n-1] >= s.charset.Safe()) {
		n--
	}
	return n == 0 && (s.hasEscape || s.unsafe)
}

// endsWith reports whether a text ends with a separator, which is not escaped.
func (s *Scanner) endsWith(text []byte, sep string) bool {
	if !bytes.HasSuffix(text, []byte(sep)) {
		return false
	}
	stands, _ := s.stands(text, len(text)-len(sep), 0, s.hasEscape && !s.dialect.QuotedOnly)
	return stands
}

// stands reports whether the first byte of a separator, at a position of the text, is one: it begins a character and, if escapes count, no escape
// stands before it. known is as for startsAt.
func (s *Scanner) stands(text []byte, at, known int, escapes bool) (bool, int) {
	n := 0 // number of escapes before it
	if escapes {
		n = at - len(bytes.TrimRight(text[:at], s.dialect.Escape))
	}
	begins, known := s.startsAt(text, at-n, known)
	switch {
	case n == 0:
		return begins, known
	case !begins:
		n-- // the last byte of a character
	}
	return n&1 == 0, known
}

// startsAt reports whether a special byte at a position of the text begins a character. It steps from character to character, beginning after the
// last preceding byte that is certainly a character, or at known, where a character begins. It returns such a position for the next call with the
// same text and no lower position, so that many calls step over each character once.
func (s *Scanner) startsAt(text []byte, at, known int) (bool, int) {
	if !s.unsafe || text[at] < s.charset.Safe() || at > 0 && text[at-1] < utf8.RuneSelf { // as in begins
		return true, known
	}
	from := at
	for from > known && text[from-1] >= s.charset.Safe() {
		from--
	}
	for from <= at {
		known = from
		starts, next := s.charset.Starts(text[from:min(from+64+ahead, at+1+ahead, len(text))], 0)
		if i := at - from; i < 64 {
			known = from + max(bits.Len64(starts&(2<<i-1))-1, 0)
			return (starts>>i)&1 != 0, known
		}
		from += 64 + next
	}
	return false, known
}

// Escaped reports whether the byte after the text is escaped: an odd number of escapes stands before it.
func (s *Scanner) Escaped(text []byte) bool {
	if !s.hasEscape || len(text) == 0 || text[len(text)-1] != s.escape {
		return false
	}
	stands, _ := s.stands(text, len(text), 0, true)
	return !stands
}

// Whole reports whether the last record of a text ends with the text: no quote is open, and no escape is at its end, so
// that text after it is not part of the record.
func Whole(d *dialect.Dialect, set Charset, text []byte) bool {
	data := make([]byte, len(text)+Slack)
	copy(data, text)
	s := New(d, 1, set)
	for at := 0; at < len(text); {
		next, bad := s.Scan(data, at, len(text), false)
		if next <= at {
			return false
		}
		if at = next; bad == nil {
			return at == len(text)
		}
	}
	return true
}

// CROnly reports whether the lines of a text that begins with a record, or comments before it, seem to end with CR only: the record does not
// end with LF, and there is a CR before the last byte that would end it. It is for dialects whose records end with LF.
func CROnly(d *dialect.Dialect, set Charset, text []byte) bool {
	s := New(d, 1, set)
	s.Data = text
	at := s.skipComments(0, len(text), false)
	if at < 0 {
		at = -at - 1 // it does not end
	}
	text = text[at:]
	if bytes.IndexByte(bytes.TrimRight(text, "\r"), '\r') < 0 || firstEnd(d, set, text) > 0 {
		return false
	}
	of := *d
	of.RecordSep = "\r"
	end := firstEnd(&of, set, text)
	return 0 < end && end < len(text)
}

// firstEnd returns where the first record of a text ends; 0 or less if it has no end mark.
func firstEnd(d *dialect.Dialect, set Charset, text []byte) int {
	data := make([]byte, len(text)+Slack)
	copy(data, text)
	s := New(d, 1, set)
	next, bad := s.Scan(data, 0, len(text), false)
	switch {
	case len(s.Starts) > 1:
		return int(s.Starts[1])
	case bad != nil && len(s.Starts) > 0:
		return bad.Start
	case bad != nil:
		return bad.End
	case len(s.Starts) == 0:
		return 0
	}
	return next
}
