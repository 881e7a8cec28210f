package jsonlines

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/race"
)

// TestScanStringRandom compares the search in steps of eight bytes with one byte by byte: strings of 0 to 24 bytes of the special bytes and their
// neighbours by one bit, at all places of a word.
func TestScanStringRandom(t *testing.T) {
	const seed = 71
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	line := make([]byte, 48)
	for n := range race.Cases(t, 1_000_000) {
		from, size := n%8, n/8%25
		for range 12 { // some of the earlier bytes change
			i := r.IntN(len(line))
			switch c := []byte{'"', '\\', 0x1f, 'a'}[r.IntN(4)]; r.IntN(8) {
			case 0:
				line[i] = c
			case 1, 2:
				line[i] = c ^ 1<<r.IntN(8)
			case 3:
				line[i] = byte(r.Uint32())
			default:
				line[i] = 0x20 + byte(r.IntN(0x60))
			}
		}
		b := line[:from+size]
		next, escaped, f := scanString(b, from)
		// The expected result, byte by byte, up to the first byte that ends the string or is invalid in it.
		i, escapes := from, false
		for i < len(b) && b[i] >= 0x20 && b[i] != '"' {
			if b[i] != '\\' {
				i++
				continue
			}
			end, fault := scanEscape(b, i)
			if fault != 0 {
				break
			}
			i, escapes = end, true
		}
		switch {
		case i < len(b) && b[i] == '"' && utf8.Valid(b[from:i]):
			if f != 0 || next != i+1 || escaped != escapes {
				t.Fatalf("%q: %d %t %s, want %d %t", b[from:], next-from, escaped, f, i+1-from, escapes)
			}
		case f == 0 || next > i && f != faultEndString:
			t.Fatalf("%q: %d %s, want a fault at %d", b[from:], next-from, f, i-from)
		}
		// Go's parser accepts each string that this one accepts.
		if f == 0 && n%16 == 0 {
			var text string
			if err := json.Unmarshal([]byte(`"`+string(b[from:next])), &text); err != nil {
				t.Fatalf("%q: %v", b[from:next], err)
			}
		}
	}
}

// TestHex checks numbers of four digits, with each byte in each place.
func TestHex(t *testing.T) {
	digits := "0123456789abcdefABCDEF"
	for at := range 4 {
		for c := range 256 {
			b := []byte("1a9F")
			b[at] = byte(c)
			want, ok := rune(0), true
			for _, d := range b {
				i := strings.IndexByte(digits, d)
				if i >= 16 {
					i -= 6
				}
				want, ok = want*16+rune(i), ok && i >= 0
			}
			if got, is := hex4(b, 0); is != ok || ok && got != want {
				t.Fatalf("%q: %x %t, want %x %t", b, got, is, want, ok)
			}
		}
	}
}

// TestSkipNested compares the bits that record each level, two million in all, with Go's own parser: nested objects and arrays, with the matching
// brackets or with one wrong bracket.
func TestSkipNested(t *testing.T) {
	const seed = 72
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for n := range race.Cases(t, 20_000) {
		depth := 1 + n%200
		if n%100 == 0 {
			depth = maxDepth - 1 - r.IntN(3)
		}
		var text, ends []byte
		for level := range depth {
			before := []string{"1", "{}", "[]", `{"x":[{}]}`, `[[],{"y":[]}]`}[r.IntN(5)] // at the same levels as the text after it
			if level+4 > maxDepth {
				before = "0"
			}
			if r.IntN(2) == 0 {
				text, ends = append(text, `{"a":`+before+`,"b":`...), append(ends, '}')
			} else {
				text, ends = append(text, `[`+before+`,`...), append(ends, ']')
			}
		}
		text = append(text, '0')
		for i := len(ends) - 1; i >= 0; i-- {
			text = append(text, ends[i])
		}
		if n%3 == 0 {
			at := len(text) - 1 - r.IntN(depth)
			text[at] = text[at] ^ '}' ^ ']'
		}
		next, f := skipNested(text, 0, 0)
		if whole := f == 0 && next == len(text); whole != json.Valid(text) {
			t.Fatalf("%s: %d of %d, %s", text, next, len(text), f)
		}
	}
}
