package delimited

import (
	"bytes"

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
	escaped := func(text []byte) bool { return s.hasEscape && !s.dialect.QuotedOnly && s.escaped(text) }
	cr := func(line []byte) []byte {
		if text, ok := bytes.CutSuffix(line, []byte{'\r'}); ok && s.cr && !escaped(text) {
			return text
		}
		return line
	}
	if !bytes.HasSuffix(record, []byte(s.end)) {
		return cr(record) // the end of the file
	}
	for {
		line, ok := bytes.CutSuffix(record, []byte(s.end))
		if !ok || escaped(line) {
			return record
		}
		if record = cr(line); !s.cr || s.cols == 1 {
			return record // a blank line is a record
		}
	}
}

// Start returns the offset of the first record that begins at or after a position of the text, -1 for none. The dialect
// must not have quotes. whole means that the text begins with a record; otherwise Start also returns -1 if the beginning of
// the record depends on bytes before the text.
func (s *Scanner) Start(text []byte, at int, whole bool) int {
	for from := max(0, at-len(s.end)); ; {
		i := bytes.Index(text[from:], []byte(s.end))
		if i < 0 {
			return -1
		}
		from += i
		if from+len(s.end) >= at && !whole && s.depends(text[:from]) {
			return -1
		}
		if !s.startsAt(text, from) {
			from++
			continue
		}
		if next := from + len(s.end); next >= at && (!s.hasEscape || !s.escaped(text[:from])) {
			return next
		}
		from++
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

// startsAt reports whether a character begins at a position of the text. It steps from character to character, beginning after the last preceding
// byte that is certainly a character.
func (s *Scanner) startsAt(text []byte, at int) bool {
	if !s.unsafe {
		return true
	}
	from, skip := at, 0
	for from > 0 && text[from-1] >= s.charset.Safe() {
		from--
	}
	for {
		starts, next := s.charset.Starts(text[from:min(from+64+ahead, len(text))], skip)
		if at < from+64 {
			return (starts>>(at-from))&1 != 0
		}
		from, skip = from+64, next
	}
}

// escaped reports whether the text ends with an odd number of escapes. In a character set whose characters can end with
// the byte of the escape, it steps from character to character, beginning after the last byte that is certainly a character.
func (s *Scanner) escaped(text []byte) bool {
	if !s.unsafe {
		return Escaped(text, s.escape)
	}
	if len(text) == 0 || text[len(text)-1] != s.escape {
		return false
	}
	from := len(text)
	for from > 0 && text[from-1] >= s.charset.Safe() {
		from--
	}
	n, skip := 0, 0
	for from < len(text) {
		block := text[from:min(from+64, len(text))]
		starts, next := s.charset.Starts(text[from:min(from+64+ahead, len(text))], skip)
		for i, c := range block {
			switch {
			case (starts>>i)&1 == 0 || c != s.escape:
				n = 0
			default:
				n++
			}
		}
		from, skip = from+len(block), next
	}
	return n&1 != 0
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
