package charset

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/race"
)

// TestReaderEnds checks how a stream handles byte order marks and incomplete characters at its end.
func TestReaderEnds(t *testing.T) {
	for _, test := range []struct {
		charset, src, want, is, err string
	}{
		{"utf-16", "", "", "utf-16", ""},
		{"utf-16", "\xff\xfe", "", "utf-16le", ""},
		{"utf-16", "\xfe\xff\x00a", "a", "utf-16be", ""},
		{"utf-16", "\xff\xfe\xff\xfe", "\ufeff", "utf-16le", ""},
		{"utf-16", "a\x00,\x00\x00\x4e\n\x00", "a,一\n", "utf-16le", ""},
		{"utf-16", "\x00a\x00,\x00b\x00\n", "", "", "no byte order mark, and 4 ASCII characters in the first 8 bytes are big endian, 0 little endian; declare utf-16be"},
		{"utf-16", "\x2f\x65\x2f\x65", "", "", "declare utf-16le or utf-16be"},
		{"utf-16le", "\xff\xfea\x00", "a", "utf-16le", ""},
		{"utf-16le", "\xfe\xff\x00a", "", "", "the byte order mark says utf-16be, not utf-16le"},
		{"utf-16be", "\xff\xfea\x00", "", "", "the byte order mark says utf-16le, not utf-16be"},
		{"utf-16le", "a\x00b", "a", "utf-16le", "no character of utf-16le at byte 2"},
		{"utf-16", "\xff\xfea\x00\x3d\xd8a\x00", "a", "utf-16le", "no character of utf-16le at byte 4"},
		{"utf-8", "\xef\xbb\xbfa\xe6\x94\xaf", "a支", "utf-8", ""},
		{"utf-8", "\xef\xbb\xbfa\xe6\x94", "a", "utf-8", "no character of utf-8 at byte 4"},
		{"gbk", "\x84\x31\x95\x33\xd6\xa7", "支", "gb18030", ""},
		{"gbk", "\xd6\xa7\xd6\n", "支", "gb18030", "no character of gb18030 at byte 2"},
		{"latin1", "\xef\xbb\xbf", "ï»¿", "cp1252", ""},
	} {
		for _, src := range []io.Reader{strings.NewReader(test.src), iotest.OneByteReader(strings.NewReader(test.src))} {
			r := mustLookup(t, test.charset).NewReader(src)
			got, err := io.ReadAll(r)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if string(got) != test.want || !strings.Contains(said, test.err) || (err == nil) != (test.err == "") || test.is != "" && r.set.Name() != test.is {
				t.Errorf("%s, %q: %q, %v, %s", test.charset, test.src, got, err, r.set.Name())
			}
			if _, again := r.Read(make([]byte, 1)); err != nil && again != err {
				t.Errorf("%s, %q: %v, then %v", test.charset, test.src, err, again)
			}
		}
	}
}

// TestReaderPieces reads random text, valid and invalid, in pieces of any length, and compares it with the same text
// decoded as a whole.
func TestReaderPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	rounds := 12
	if race.Reduced(t) {
		rounds = 3
	}
	for _, name := range Names() {
		c := mustLookup(t, name)
		for round := range rounds {
			src := randomText(r, r.IntN(400)+readSize*(round%3))
			if round%2 == 0 {
				src = bytes.Repeat([]byte("a\x00b\x00\xb0\xa1"), len(src)/6)
			}
			src = append([]byte("\xff\xfe"), src...)
			if name != "utf-16" {
				src[0], src[1] = 'a', 0
			}
			want, bad := c.Append(nil, src)
			if bad >= 0 {
				want, _ = c.Append(nil, src[:bad])
			}
			reader := c.NewReader(&pieces{src, r})
			got, err := io.ReadAll(reader)
			var e *BadBytesError
			if !bytes.Equal(got, want) || (bad >= 0) != errors.As(err, &e) || e != nil && (e.Offset != int64(bad) || e.Charset != reader.set.Name()) {
				t.Fatalf("%s: %d bytes, %v; want %d, bad %d", name, len(got), err, len(want), bad)
			}
		}
	}
}

// pieces reads p in pieces of random size, some of them empty.
type pieces struct {
	p []byte
	r *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.p[:min(len(p.p), p.r.IntN(5000))])
	p.p = p.p[n:]
	return n, nil
}

// TestReaderErrors checks that errors of the underlying reader are returned after the text before them.
func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	src := io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("a\x00"), headSize)), iotest.ErrReader(broken))
	got, err := io.ReadAll(mustLookup(t, "utf-16").NewReader(src))
	if err != broken || len(got) < headSize-Ahead {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := io.ReadAll(mustLookup(t, "gbk").NewReader(stuck{})); err != io.ErrNoProgress {
		t.Error(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
