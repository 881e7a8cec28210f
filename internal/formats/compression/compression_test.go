package compression

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/testcheck"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

var errTooLarge = errors.New("more than there is")

// limitsOf returns the limits of a file with memory for a window.
func limitsOf(data []byte, window uint64) Limits {
	return Limits{Size: int64(len(data)), Window: window, Exceeded: func(what string, need, have int64) error {
		return fmt.Errorf("%s: %d of %d: %w", what, need, have, errTooLarge)
	}}
}

// unpack returns the text of a file up to the first error.
func unpack(t testing.TB, name string, data []byte, as func(io.Reader) io.Reader) ([]byte, error) {
	t.Helper()
	r, stop, err := Named(name).Open(as(bytes.NewReader(data)), limitsOf(data, 64<<20))
	if err != nil {
		return nil, err
	}
	if stop != nil {
		defer stop()
	}
	return io.ReadAll(r)
}

func plainly(r io.Reader) io.Reader { return r }

// goldens are "id,v\na,1\n" written by the programs of the formats: zstd 1.5, lz4 1.9, xz 5.4, bzip2 1.0.
var goldens = map[string]string{
	"zst": "28b52ffd045849000069642c760a612c310a7b2a8f90",
	"lz4": "04224d187c400900000000000000f00900008069642c760a612c310a0df3853a000000000df3853a",
	"xz":  "fd377a585a000004e6d6b4460200210116000000742fe5a301000869642c760a612c310a0000000052fe0388994ac274000121096c18c5d51fb6f37d010000000004595a",
	"bz2": "425a6839314159265359ce62ca84000003d980001000042000242001002000310c01069b44f604e545dc914e14243398b2a100",
	// Built from the specifications: Hadoop blocks with one raw chunk that is all literals.
	"snappy":  "00000009" + "0000000b" + "0920" + "69642c760a612c310a",
	hadoopLZ4: "00000009" + "0000000a" + "90" + "69642c760a612c310a",
}

// snappyHead is the length of the chunk that begins a snappy stream.
const snappyHead = 10

const goldenText = "id,v\na,1\n"

// packers write a member with the library of each format.
var packers = map[string]func(w io.Writer) (io.WriteCloser, error){
	"gz":      func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"deflate": func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil },
	"zst":     func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
	"lz4":     func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
	"sz":      func(w io.Writer) (io.WriteCloser, error) { return snappy.NewBufferedWriter(w), nil },
	"xz":      func(w io.Writer) (io.WriteCloser, error) { return xz.WriterConfig{DictCap: 1 << 16}.NewWriter(w) },
	"bz2":     nil, // Go has no writer: members are the golden one
}

func pack(t testing.TB, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packers[name](&b)
	testcheck.Must(t, err)
	_, err = io.WriteString(w, text)
	testcheck.Must(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

// member returns a text, and the bytes of a member with it.
func member(t testing.TB, r *rand.Rand, name string) (text string, packed []byte) {
	t.Helper()
	if packers[name] == nil || r.IntN(4) == 0 && goldens[name] != "" {
		packed, err := hex.DecodeString(goldens[name])
		testcheck.Must(t, err)
		return goldenText, packed
	}
	text = strings.Repeat("abcdefgh"[r.IntN(7):], r.IntN(400))
	for range r.IntN(300) {
		text += string(rune(r.IntN(0x500)))
	}
	return text, pack(t, name, text)
}

// TestMembers checks that the text of a file is the text of all of its members, however the file is read.
func TestMembers(t *testing.T) {
	r := testcheck.Rand(t)
	for _, c := range codecs {
		for range 20 {
			var want, data []byte
			for range 1 + r.IntN(4) {
				text, packed := member(t, r, c.name)
				want, data = append(want, text...), append(data, packed...)
			}
			for _, as := range []func(io.Reader) io.Reader{plainly, iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
				if got, err := unpack(t, c.name, data, as); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s: %d bytes for %d: %v", c.name, len(got), len(want), err)
				}
			}
			got, err := unpack(t, c.name, data, func(r io.Reader) io.Reader { return io.MultiReader(r, iotest.ErrReader(io.ErrNoProgress)) })
			if !errors.Is(err, io.ErrNoProgress) || !bytes.HasPrefix(want, got) {
				t.Errorf("%s: an error of reading is %v", c.name, err)
			}
		}
	}
}

// TestTruncated checks that a file that ends within a member returns the beginning of its text and then io.ErrUnexpectedEOF. A file that ends after a
// member, a Hadoop block or a chunk of snappy frames is a shorter whole file.
func TestTruncated(t *testing.T) {
	r := testcheck.Rand(t)
	for _, c := range codecs {
		text, first := member(t, r, c.name)
		more, second := member(t, r, c.name)
		data, want := append(bytes.Clone(first), second...), text+more
		for n := range data {
			got, err := unpack(t, c.name, data[:n], plainly)
			whole := n == len(first)
			switch {
			case !strings.HasPrefix(want, string(got)):
				t.Fatalf("%s, %d of %d bytes: other text", c.name, n, len(data))
			case whole && (err != nil || string(got) != text):
				t.Fatalf("%s, the first member: %v", c.name, err)
			case c.name == "sz" && err == nil && (n == snappyHead && len(got) == 0 || n == len(first)+snappyHead && string(got) == text):
			case !whole && n > 0 && err == nil:
				t.Fatalf("%s, %d of %d bytes: no error", c.name, n, len(data))
			case !whole && n > 0 && !errors.Is(err, io.ErrUnexpectedEOF):
				t.Fatalf("%s, %d of %d bytes: %v", c.name, n, len(data), err)
			case n == 0 && (len(got) > 0 || err != nil && err != io.EOF && err != io.ErrUnexpectedEOF):
				t.Fatalf("%s, nothing: %v", c.name, err)
			}
		}
	}
}

// TestDamaged checks that a flipped bit causes an error or leaves the text unchanged, in formats that have a checksum of the text.
func TestDamaged(t *testing.T) {
	r := testcheck.Rand(t)
	for _, c := range codecs {
		if c.name == "snappy" || c.name == hadoopLZ4 {
			continue
		}
		text, data := member(t, r, c.name)
		if c.name == "lz4" || c.name == "zst" { // the programs write checksums of everything
			text = goldenText
			data, _ = hex.DecodeString(goldens[c.name])
		}
		for at := range data {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1 << r.IntN(8)
			if got, err := unpack(t, c.name, damaged, plainly); err == nil && string(got) != text && len(got) > 0 {
				t.Fatalf("%s, byte %d of %d: other text and no error", c.name, at, len(data))
			}
		}
	}
}

// TestPadding checks that NUL bytes after members of gzip and streams of bzip2, and multiples of four of them after streams of xz, are skipped.
func TestPadding(t *testing.T) {
	r := testcheck.Rand(t)
	for _, name := range []string{"gz", "bz2", "xz"} {
		text, first := member(t, r, name)
		more, second := member(t, r, name)
		for _, n := range []int{1, 2, 3, 4, 5, 8, 511, 512, 100_000} {
			if name == "xz" {
				n *= 4
			}
			nuls := make([]byte, n)
			for _, behind := range [][]byte{nil, second} {
				want := text
				if behind != nil {
					want += more
				}
				got, err := unpack(t, name, append(append(bytes.Clone(first), nuls...), behind...), plainly)
				if err != nil || string(got) != want {
					t.Errorf("%s, %d NUL bytes, and %d more: %d bytes of text for %d, %v", name, n, len(behind), len(got), len(want), err)
				}
			}
			if _, err := unpack(t, name, append(append(bytes.Clone(first), nuls...), "text"...), plainly); err == nil {
				t.Errorf("%s, %d NUL bytes and text: no error", name, n)
			}
		}
	}
}

// TestNames checks that the compression of a file is known from its file name extension and its first bytes.
func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{"a.csv.gz": {"a.csv", "gz"}, "a.zstd": {"a", "zst"}, "a.bz": {"a", "bz2"}, "a.snappy": {"a", "snappy"}, "a.zlib": {"a", "deflate"},
		"a.csv": {"a.csv", ""}, "gz": {"gz", ""}, ".gz": {"", "gz"}, "a.lz4.txt": {"a.lz4.txt", ""}} {
		if base, c := Cut(name); base != want[0] || c != want[1] {
			t.Errorf("%s: %q, %q", name, base, c)
		}
	}
	r := testcheck.Rand(t)
	skipped := append([]byte("\x5a\x2a\x4d\x18\x03\x00\x00\x00"), "abc"...)
	for _, c := range codecs {
		_, data := member(t, r, c.name)
		if got := Begins(data); c.magic != nil && got != c.name || c.magic == nil && got != "" {
			t.Errorf("%s begins as %q", c.name, got)
		}
		if c.name == "zst" || c.name == "lz4" {
			data = append(append(bytes.Clone(skipped), skipped...), data...)
			if got, err := FirstFrame(bytes.NewReader(data), int64(len(data))); err != nil || got != c.name {
				t.Errorf("%s behind frames without data is %q, %v", c.name, got, err)
			}
		}
	}
	_, blocks := member(t, r, hadoopLZ4)
	for _, c := range []struct{ given, head, want string }{{"lz4", string(blocks), hadoopLZ4}, {"lz4", lz4Magic, "lz4"}, {"lz4", LZ4Legacy, "lz4"}, {"lz4", string(skipped), "lz4"},
		{"snappy", "\xff\x06\x00\x00sNaPpY", "sz"}, {"snappy", string(blocks), "snappy"}, {"gz", "text", "gz"}} {
		if got := Refine(c.given, []byte(c.head)); got != c.want {
			t.Errorf("%s with %q is %s, not %s", c.given, c.head, got, c.want)
		}
	}
	for _, text := range []string{"", "id,v\n", "BZh9 is a name\n", "PK", "\xef\xbb\xbfid"} {
		if got := Begins([]byte(text)); got != "" {
			t.Errorf("%q begins as %q", text, got)
		}
	}
}

// TestNeed checks that the memory that unpacking a file requires is known from its first bytes, and that a file that exceeds the limit is refused.
func TestNeed(t *testing.T) {
	var wide bytes.Buffer
	z, err := zstd.NewWriter(&wide, zstd.WithWindowSize(32<<20), zstd.WithEncoderConcurrency(1))
	testcheck.Must(t, err)
	for range 3 {
		_, err = z.Write(make([]byte, 1<<20))
		testcheck.Must(t, err)
	}
	testcheck.Must(t, z.Close())
	var words bytes.Buffer
	x, err := xz.WriterConfig{DictCap: 32 << 20}.NewWriter(&words)
	testcheck.Must(t, err)
	_, err = x.Write([]byte("text"))
	testcheck.Must(t, errors.Join(err, x.Close()))
	block := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 40<<20), 30<<20)
	block = append(block, make([]byte, 30<<20)...)
	for _, c := range []struct {
		name string
		data []byte
		need int64
	}{{"zst", wide.Bytes(), 32 << 20}, {"xz", words.Bytes(), 32 << 20}, {"snappy", block, 70 << 20}, {hadoopLZ4, block, 70 << 20}, {"lz4", pack(t, "lz4", "text"), 8 << 20}, {"zst", nil, 0}, {"xz", nil, 0}, {"lz4", nil, 0}, {"snappy", nil, 0}} {
		if got, err := Named(c.name).Need(bytes.NewReader(c.data), int64(len(c.data))); err != nil || got != c.need {
			t.Errorf("%s needs %d, not %d: %v", c.name, got, c.need, err)
		}
		if c.need < 16<<20 {
			continue
		}
		r, stop, err := Named(c.name).Open(bytes.NewReader(c.data), limitsOf(c.data, 16<<20))
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if stop != nil {
			stop()
		}
		if !errors.Is(err, errTooLarge) && !TooWide(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if got := MostWindow(1, 1<<30); got != 128<<20 {
		t.Error(got)
	}
	if got := Mebibytes(1<<20 + 1); got != "2 MiB" {
		t.Error(got)
	}
}

// TestLengthsThatCannotBe checks that a Hadoop block that is longer than its file or than its stated length is damage or a truncated file.
func TestLengthsThatCannotBe(t *testing.T) {
	block := func(n uint32, rest ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, n), rest...) }
	for _, c := range []struct {
		data []byte
		want error
	}{{block(0), nil}, {block(1<<31, 0, 0, 0, 1), errBlockLength}, {block(9, 0x7f, 0xff, 0xff, 0xff), errBlockLength}, {block(9, 0, 0, 0, 99), io.ErrUnexpectedEOF},
		{block(9), io.ErrUnexpectedEOF}, {block(1, 0, 0, 0, 4, 2, 4, 'a', 'b'), errBlockLength}} {
		if got, err := unpack(t, "snappy", c.data, plainly); !errors.Is(err, c.want) || c.want == nil && err != nil || len(got) > 0 {
			t.Errorf("%x: %q, %v", c.data, got, err)
		}
	}
}
