package delimited

import (
	"bytes"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/source/dialect"
)

// mask marks the bytes of a block that are looked at.
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

// begins says that a byte that is looked at is a character by itself, and not the end of one. After a byte below 0x80 it is: only a
// number of four bytes has such bytes before its last, which is a digit. Otherwise its field is followed from character to
// character, on from where that was done last. Where the text ends, its last bytes can be those of a character that is not
// whole: none of them is looked at, since these are ASCII characters and no digits.
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

// within deals with a byte in quotes. It says up to where bytes are dealt with, or that what follows the text decides.
func (s *Scanner) within(pos, n int, c byte, last bool) (skip int, wait bool) {
	switch {
	case c == s.escape && s.hasEscape:
		s.rewritten, s.odd = true, true
		return pos + 2, false
	case c != s.quote:
		return 0, false
	case pos+1 >= n && !last:
		return 0, true
	case s.d.Doubled && pos+1 < n && s.Data[pos+1] == s.quote:
		s.rewritten = true
		return pos + 2, false
	case s.d.Lenient && !s.ends(pos+1, n):
		if !last && pos+1+len(s.end)+1 > n {
			return 0, true
		}
		return 0, false
	}
	s.inside, s.closed = false, pos
	return 0, false
}

// ends says that a field ends before a place.
func (s *Scanner) ends(pos, n int) bool {
	return pos >= n || s.at(pos, n, s.sep) || s.at(pos, n, s.end) || s.cr && s.Data[pos] == '\r' && s.at(pos+1, n, s.end)
}

// at says that text is at a place.
func (s *Scanner) at(pos, n int, text string) bool {
	return s.Data[pos] == text[0] && (len(text) == 1 && pos < n || pos+len(text) <= n && string(s.Data[pos:pos+len(text)]) == text)
}

// cut says that text may be at a place: as much of it as is before n.
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
		return start, nil // more text shows where it ends
	}
	return f.End, f
}

// pass returns where the next record begins after comments. It is -1 less where the next line begins when its end is not seen.
func (s *Scanner) pass(at, n int, last bool) int {
	if s.d.Comment == "" {
		return at
	}
	for at < n {
		if !last && s.cut(at, n, s.d.Comment) {
			return -at - 1
		}
		if !bytes.HasPrefix(s.Data[at:n], []byte(s.d.Comment)) {
			return at
		}
		i := bytes.Index(s.Data[at:n], []byte(s.end))
		switch {
		case i >= 0:
			at += i + len(s.end)
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
func (s *Scanner) Is(d *dialect.Dialect, cols int) bool { return s.d == d && s.cols == cols }
