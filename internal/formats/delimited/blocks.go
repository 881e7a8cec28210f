package delimited

import (
	"bytes"
	"math/bits"
	"strings"

	"bulkload/internal/formats/swar"
)

// A Block describes a piece of text for two cases: the piece begins outside of quotes [0] or inside of them [1].
type Block struct {
	Inside [2]bool // it ends inside quotes
	Start  [2]int  // offset in the text of the first record that begins in the block; -1: none
	Faulty [2]bool // a quote is at an invalid position, where a scanner would stop
}

// Lookahead is the number of bytes of text that [Scanner.Block] needs after a block.
const Lookahead = 16

// Lead returns the number of bytes of text that [Scanner.Block] needs before a block: for the escapes before it, and for a byte that is certainly a
// character, from which the characters up to the block are found. There may be none for long in a digest, in base64, or in Chinese text.
func (s *Scanner) Lead() int {
	if s.unsafe {
		return 16 << 10
	}
	return 64
}

// Block examines the block text[from:to]. text[:n] has [Scanner.Lead] bytes before the block and [Lookahead] bytes after it. There may
// be fewer if the whole text begins with text[:n], which begins says, or ends with it, which ends says. After n, the slice text
// has [Slack] more bytes.
func (s *Scanner) Block(text []byte, n, from, to int, begins, ends bool) (b Block) {
	for h := range 2 {
		b.Inside[h], b.Start[h], b.Faulty[h] = s.follow(text, n, from, to, h == 1, begins, ends)
	}
	return b
}

// follow scans a block that begins inside or outside of quotes.
func (s *Scanner) follow(text []byte, n, from, to int, inside, begins, ends bool) (bool, int, bool) {
	start, faulty := -1, false
	skip := from
	tail, aligned := s.align(text[:n], from, begins)
	escapes := bytes.TrimRight(text[:from], s.dialect.Escape)
	switch {
	case !aligned || s.hasEscape && len(escapes) == 0 && from > 0 && !begins:
		faulty = true // a run of escapes, or of bytes that may belong to a character, begins before the text
	case (inside || !s.dialect.QuotedOnly) && s.Escaped(text[:from]):
		skip++
	}
	if begins && from == 0 {
		start = 0
	}
	closed := -1 // position of the quote that closed a value
	for base := from; base < to; base += swar.Block {
		block := (*[swar.Block]byte)(text[base:])
		m := swar.Tail(swar.Four(block, s.a, s.b, s.c, s.e), to-base)
		if s.unsafe && (tail > 0 || !swar.ASCII(block)) {
			var starts uint64
			starts, tail = s.charset.Starts(text[base:min(base+swar.Block+ahead, n)], tail)
			m &= starts
		}
		for ; m != 0; m &= m - 1 {
			pos := base + swar.Lowest(m)
			if pos < skip {
				continue
			}
			c := text[pos]
			switch {
			case s.hasEscape && c == s.escape && (inside || !s.dialect.QuotedOnly):
				skip = pos + 2
			case s.hasQuote && c == s.quote && inside:
				inside, closed = false, pos
				faulty = faulty || !s.mayClose(text[:n], pos+1, ends)
			case s.hasQuote && c == s.quote:
				reopens := s.dialect.Doubled && pos > 0 && (closed == pos-1 || pos == from && s.endsWith(text[:pos], s.dialect.Quote))
				faulty = faulty || !reopens && !s.mayOpen(text[:pos], begins)
				inside = true
			case !inside && start < 0 && strings.HasPrefix(string(text[pos:min(n, pos+len(s.end))]), s.end):
				start = pos + len(s.end)
			}
		}
	}
	return inside, start, faulty
}

// align returns the number of bytes from a position on that belong to a character that began before it. ok is false if the text
// begins too late to determine it.
func (s *Scanner) align(text []byte, at int, begins bool) (tail int, ok bool) {
	if !s.unsafe {
		return 0, true
	}
	base := at
	for base > 0 && text[base-1] >= s.charset.Safe() {
		base--
	}
	if base == 0 && at > 0 && !begins {
		return 0, false
	}
	for skip := 0; ; base += swar.Block {
		starts, next := s.charset.Starts(text[base:min(base+swar.Block+ahead, len(text))], skip)
		if at >= base+swar.Block {
			skip = next
			continue
		}
		if from := starts >> (at - base); from != 0 {
			return bits.TrailingZeros64(from), true
		}
		return base + swar.Block - at + next, true
	}
}

// mayOpen reports whether a value may begin after the text before: at the start, or after a separator that is not escaped.
func (s *Scanner) mayOpen(before []byte, begins bool) bool {
	if len(before) == 0 {
		return begins
	}
	return s.endsWith(before, s.sep) || s.endsWith(before, s.end)
}

// mayClose reports whether a quote before a position may close a value.
func (s *Scanner) mayClose(text []byte, at int, ends bool) bool {
	rest := text[at:]
	switch {
	case len(rest) == 0:
		return ends
	case s.dialect.Doubled && rest[0] == s.quote, bytes.HasPrefix(rest, []byte(s.sep)), bytes.HasPrefix(rest, []byte(s.end)):
		return true
	}
	return s.cr && rest[0] == '\r' && (bytes.HasPrefix(rest[1:], []byte(s.end)) || ends && len(rest) == 1)
}
