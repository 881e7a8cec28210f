package delimited

import (
	"bytes"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/source/dialect"
)

// mask marks the special bytes of a block: the first bytes of sep and end, the quote and the escape.
func (s *Scanner) mask(base, n int) uint64 {
	block := (*[swar.Block]byte)(s.Data[base:])
	switch s.looks {
	case 2:
		return swar.Tail(swar.Two(block, s.a, s.b), n-base)
	case 3:
		return swar.Tail(swar.Three(block, s.a, s.b, s.c), n-base)
	default:
		return swar.Tail(swar.Four(block, s.a, s.b, s.c, s.e), n-base)
	}
}

// begins reports whether a special byte is a character by itself, and not the last byte of a longer one. After a byte below 0x80
// it is a character: only four-byte characters have such a byte before their last byte, which is then a digit. Otherwise begins
// steps through the field from character to character, starting where it last stopped. The text may end with an incomplete
// character, but none of its bytes is special, because special bytes are ASCII characters and not digits.
func (s *Scanner) begins(pos, n int) bool {
	if pos == s.from || s.Data[pos-1] < 0x80 {
		return true
	}
	return s.follows(pos, n)
}

func (s *Scanner) follows(pos, n int) bool {
	at := max(s.from, s.known)
	for at <= pos {
		s.known = at
		starts, next := s.charset.Starts(s.Data[at:min(at+swar.Block+ahead, n)], 0)
		if pos < at+swar.Block {
			return (starts>>(pos-at))&1 != 0
		}
		at += swar.Block + next
	}
	return false
}

// inQuotes handles a special byte in quotes. Bytes before skip need no further handling; wait means that the text ends too early to decide.
func (s *Scanner) inQuotes(pos, n int, c byte, last bool) (skip int, wait bool) {
	switch {
	case c == s.escape && s.hasEscape:
		s.rewritten, s.odd = true, true
		return pos + 2, false
	case c != s.quote:
		return 0, false
	case pos+1 >= n && !last:
		return 0, true
	case s.dialect.Doubled && pos+1 < n && s.Data[pos+1] == s.quote:
		s.rewritten = true
		return pos + 2, false
	case s.dialect.Lenient && !s.ends(pos+1, n):
		if !last && pos+1+len(s.end)+1 > n {
			return 0, true
		}
		return 0, false
	}
	s.inside, s.closed = false, pos
	return 0, false
}

// ends reports whether a field ends before a position.
func (s *Scanner) ends(pos, n int) bool {
	return pos >= n || s.at(pos, n, s.sep) || s.at(pos, n, s.end) || s.cr && s.Data[pos] == '\r' && s.at(pos+1, n, s.end)
}

// at reports whether text is at a position.
func (s *Scanner) at(pos, n int, text string) bool {
	return s.Data[pos] == text[0] && (len(text) == 1 && pos < n || pos+len(text) <= n && string(s.Data[pos:pos+len(text)]) == text)
}

// cut reports whether the data end, at n, within an occurrence of text that begins at a position.
func (s *Scanner) cut(pos, n int, text string) bool {
	return n-pos < len(text) && string(s.Data[pos:n]) == text[:n-pos]
}

// stop ends a scan after the last whole record.
func (s *Scanner) stop(start, row int) (int, *Fault) {
	s.Fields = s.Fields[:row]
	return start, nil
}

// bad ends a scan with a bad record.
func (s *Scanner) bad(start, row int, f *Fault) (int, *Fault) {
	s.Fields = s.Fields[:row]
	if f.End < 0 {
		return start, nil // more text is needed to find the record's end
	}
	return f.End, f
}

// skipComments skips comments and returns the offset of the next record. If the text ends within a line that is or may be a comment, it returns -1 minus
// the offset of that line.
func (s *Scanner) skipComments(at, n int, last bool) int {
	if s.dialect.Comment == "" {
		return at
	}
	for at < n {
		if !last && s.cut(at, n, s.dialect.Comment) {
			return -at - 1
		}
		if !bytes.HasPrefix(s.Data[at:n], []byte(s.dialect.Comment)) {
			return at
		}
		switch next := s.afterEnd(s.Data[at:n], 0, false); {
		case next >= 0:
			at += next
		case last:
			return n
		default:
			return -at - 1
		}
	}
	return at
}

func blank(text []byte) bool { return len(bytes.Trim(text, " \t")) == 0 }

// Is reports whether the scanner is for a dialect and a number of columns.
func (s *Scanner) Is(d *dialect.Dialect, cols int) bool { return s.dialect == d && s.cols == cols }
