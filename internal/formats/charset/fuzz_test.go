package charset

import (
	"bytes"
	"io"
	"testing"
	"unicode/utf8"
)

// FuzzCharset compares three ways to read any bytes in any set: as one value, character by character at the boundaries
// of Starts, and as a stream.
func FuzzCharset(f *testing.F) {
	for i, name := range Names() {
		f.Add(byte(i), []byte(name+"\x00\xd5\x5c\n\xb0\x7c\x81\x30\x81\x30\x8f\xb0\xa1\x80\xff"))
	}
	f.Add(byte(1), append(bytes.Repeat([]byte("\xb0"), 63), "\x81\x30\x81\x30"...))
	f.Add(byte(3), []byte("\xff\xfea\x00\x3d\xd8"))
	names := Names()
	f.Fuzz(func(t *testing.T, set byte, p []byte) {
		c := mustLookup(t, names[int(set)%len(names)])
		for _, last := range []bool{false, true} {
			for _, g := range Detect(p, last) {
				mustLookup(t, g.Charset)
			}
		}
		whole, bad := c.Append(nil, p)
		if !utf8.Valid(whole) || bad >= len(p) {
			t.Fatalf("%s: %q: %q, bad %d", c.name, p, whole, bad)
		}
		r := c.NewReader(bytes.NewReader(p))
		stream, err := io.ReadAll(r)
		if err == nil && c.safe > 0 && string(stream) != string(bytes.TrimPrefix(whole, []byte(mark))) {
			t.Fatalf("%s: %q: %q, as a stream %q", c.name, p, whole, stream)
		}
		if c.safe > 0 && (err == nil) != (bad < 0) {
			t.Fatalf("%s: %q: bad %d, as a stream %v", c.name, p, bad, err)
		}
		if c.safe == 0 || c.form == utf8Text {
			return
		}
		var pieces []byte
		starts := make([]bool, len(p)+1)
		starts[len(p)] = true
		skip := 0
		for at := 0; at < len(p); at += blockSize {
			var m uint64
			m, skip = c.Starts(p[at:], skip)
			for i := range min(blockSize, len(p)-at) {
				starts[at+i] = (m>>i)&1 != 0
			}
		}
		for i := 0; i < len(p); {
			if !starts[i] {
				t.Fatalf("%s: %q: no start at %d", c.name, p, i)
			}
			n := i + 1
			for !starts[n] {
				n++
			}
			one, _ := c.Append(nil, p[i:n])
			if c.form == eucJP && string(p[i:n]) == "\x8f\xfe" && n < len(p) {
				one = []byte(replacement) // invalid bytes, which x/text reads in two steps only at the end of a text
			}
			pieces = append(pieces, one...)
			i = n
		}
		if !bytes.Equal(pieces, whole) {
			t.Fatalf("%s: %q: %q, character by character %q", c.name, p, whole, pieces)
		}
	})
}
