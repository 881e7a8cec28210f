package charset

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/test/race"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/transform"
)

// pairedSets returns the multibyte sets with the encodings of x/text.
func pairedSets() map[string]encoding.Encoding {
	return map[string]encoding.Encoding{
		"gb18030":   simplifiedchinese.GB18030,
		"big5":      traditionalchinese.Big5,
		"shift_jis": japanese.ShiftJIS,
		"euc-jp":    japanese.EUCJP,
		"euc-kr":    korean.EUCKR,
	}
}

func mustLookup(t testing.TB, name string) *Charset {
	t.Helper()
	c, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// xtext decodes one character after the other with x/text, by giving it room for only one.
type xtext struct {
	decoder *encoding.Decoder
	buf     [4]byte
}

// next returns the first character of src and its number of bytes.
func (x *xtext) next(src []byte) (text string, size int) {
	for room := 1; ; room++ {
		n, size, err := x.decoder.Transform(x.buf[:room], src, true)
		if size > 0 {
			return string(x.buf[:n]), size
		}
		if err != transform.ErrShortDst || room == len(x.buf) {
			panic(err)
		}
	}
}

// lax reports whether x/text takes a byte of p from 3A to 3F for a digit.
func lax(c *Charset, p []byte) bool {
	return c.form == gb18030 && len(p) >= 4 && p[1] >= 0x3a && p[1] < 0x40 && p[0] > 0x80
}

// compare compares the decoded src with x/text, character by character: the text, the size and the first invalid byte.
// c may have a character of private use where x/text has none.
func compare(t *testing.T, c *Charset, x *xtext, src []byte) {
	t.Helper()
	var want []byte
	bad := -1
	for i := 0; i < len(src); {
		text, size := x.next(src[i:])
		if lax(c, src[i:]) {
			text, size = replacement, 1
		}
		if c.form == gb18030 && size == 2 && bytes.HasPrefix(src[i:], []byte{privateBlank >> 8, privateBlank & 0xff}) {
			text = "\ue5e5"
		}
		if n := c.size(src[i:]); n != size {
			t.Fatalf("%s: % x: %d bytes, x/text %d", c.name, src[i:min(i+4, len(src))], n, size)
		}
		if text == replacement && string(src[i:i+size]) != "\x84\x31\xa4\x37" {
			one, no := c.Append(nil, src[i:i+size])
			r, _ := utf8.DecodeRune(one)
			switch {
			case no < 0 && size == 2 && 0xe000 <= r && r <= 0xf8ff:
				text = string(r)
			case bad < 0:
				bad = i
			}
		}
		want = append(want, text...)
		i += size
	}
	got, b := c.Append([]byte("ahead of it"), src)
	if string(got) != "ahead of it"+string(want) || b != bad {
		t.Fatalf("%s: % x: %q, bad %d; x/text %q, bad %d", c.name, src, got[11:], b, want, bad)
	}
}

// TestPairs decodes every byte and every pair of bytes, with and without following bytes.
func TestPairs(t *testing.T) {
	for name, e := range pairedSets() {
		c, x := mustLookup(t, name), &xtext{decoder: e.NewDecoder()}
		reduced := race.Reduced(t)
		for i := range 1 << 16 {
			if reduced && i%16 > 0 {
				continue
			}
			a, b := byte(i>>8), byte(i)
			if b == 0 {
				compare(t, c, x, []byte{a})
			}
			compare(t, c, x, []byte{a, b})
			compare(t, c, x, []byte{a, b, 'x', 0xb0, 0xa1, '\n'})
		}
	}
}

// TestFours decodes every sequence of four bytes that looks like a character of GB18030, and every sequence of three
// bytes after 8F of EUC-JP.
func TestFours(t *testing.T) {
	if race.On {
		t.Skip("decodes 1.6 million characters")
	}
	c := mustLookup(t, "gb18030")
	decoder := simplifiedchinese.GB18030.NewDecoder()
	valid := 0
	for n := range 126 * 10 * 126 * 10 {
		p := []byte{0x81 + byte(n/12600), '0' + byte(n/1260%10), 0x81 + byte(n/10%126), '0' + byte(n%10)}
		var buf [16]byte
		m, _, _ := decoder.Transform(buf[:], p, true)
		var own [32]byte
		got, bad := c.Append(own[:0], p)
		if !bytes.Equal(got, buf[:m]) || (bad >= 0) != (m != len("\uffff") && m != len("\U00010000") && m != 2) {
			t.Fatalf("% x: %q, bad %d; x/text %q", p, got, bad, buf[:m])
		}
		if bad < 0 {
			valid++
		}
	}
	if valid != fourBMP+0x100000 {
		t.Errorf("%d characters of four bytes", valid)
	}
	jp, x := mustLookup(t, "euc-jp"), &xtext{decoder: japanese.EUCJP.NewDecoder()}
	for i := range 1 << 16 {
		compare(t, jp, x, []byte{eucThree, byte(i >> 8), byte(i)})
	}
}

// TestSingles decodes every byte of every single-byte set, and checks that bytes below 80 are ASCII.
func TestSingles(t *testing.T) {
	n := 0
	for _, name := range Names() {
		c := mustLookup(t, name)
		if !c.Single() || name == "us-ascii" || c.Safe() == 0 {
			continue
		}
		n++
		e, err := ianaindex.IANA.Encoding(strings.Replace(name, "cp125", "windows-125", 1))
		if err != nil || e == nil {
			t.Fatal(name, err)
		}
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
			if r := e.(*charmap.Charmap).DecodeByte(byte(i)); i < 0x80 && r != rune(i) {
				t.Errorf("%s is not ASCII at %x", name, i)
			}
		}
		want, err := e.NewDecoder().Bytes(all)
		if err != nil {
			t.Fatal(err)
		}
		got, bad := c.Append(nil, all)
		first := strings.IndexRune(string(want), utf8.RuneError)
		if first >= 0 {
			first = utf8.RuneCount(want[:first])
		}
		if !bytes.Equal(got, want) || bad != first {
			t.Errorf("%s: bad %d, x/text %d: %q, x/text %q", name, bad, first, got, want)
		}
	}
	if n != 24 {
		t.Errorf("%d single sets", n)
	}
}

// randomText returns runs of lead and trail bytes, of digits and of any bytes.
func randomText(r *rand.Rand, n int) []byte {
	p := make([]byte, 0, n+16)
	for len(p) < n {
		run := r.IntN(9)
		switch kind := r.IntN(6); kind {
		case 0:
			for range run {
				p = append(p, byte(r.IntN(256)))
			}
		case 1:
			for range run {
				p = append(p, 0x81+byte(r.IntN(126)), '0'+byte(r.IntN(11)))
			}
		case 2:
			for range 3 * run {
				p = append(p, 0x20+byte(r.IntN(0x60)))
			}
		default:
			for range 2 * run {
				p = append(p, 0x7f+byte(r.IntN(129)))
			}
			if kind == 3 {
				p = append(p, 0x30+byte(r.IntN(0x50)))
			}
		}
	}
	return p[:n]
}

// TestRandom decodes random bytes of many lengths.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(18030, 1))
	for name, e := range pairedSets() {
		c, x := mustLookup(t, name), &xtext{decoder: e.NewDecoder()}
		for range 1500 {
			compare(t, c, x, randomText(r, r.IntN(300)))
		}
		compare(t, c, x, randomText(r, 3*chunk+5))
		compare(t, c, x, bytes.Repeat([]byte{0x80}, 3*chunk+1))
		compare(t, c, x, bytes.Repeat([]byte{0xff}, 2*chunk+1))
	}
}
