package source

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// pack compresses each part as a separate member.
func pack(t testing.TB, how string, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		var w io.WriteCloser = gzip.NewWriter(&b)
		if how == "zst" {
			z, err := zstd.NewWriter(&b)
			if err != nil {
				t.Fatal(err)
			}
			w = z
		}
		if how == "lz4" {
			w = lz4.NewWriter(&b)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestPacked(t *testing.T) {
	rows := checkRows(5000)
	csv := toCSV(append([][]string{checkColumns}, rows...)...)
	dump := toDump(rows)
	for _, how := range []string{"gz", "zst"} {
		for name, text := range map[string][]byte{"x.csv": csv, "x.dump": dump} {
			half := len(text) / 2 // within a record
			got, err := loadBytes(t, Options{Columns: checkColumns}, name+"."+how, pack(t, how, text[:half], text[half:]))
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if !slices.EqualFunc(values(got), rows, slices.Equal) {
				t.Errorf("%s.%s: other records", name, how)
			}
		}
	}
}

func TestPackedDamage(t *testing.T) {
	text := toCSV(append([][]string{checkColumns}, checkRows(5000)...)...)
	for _, how := range []string{"gz", "zst"} {
		whole := pack(t, how, text)
		for _, n := range []int{len(whole) / 2, len(whole) - 1, 20, 3, 1} {
			_, err := loadBytes(t, Options{}, "x.csv."+how, whole[:n])
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "x.csv."+how) || !strings.Contains(err.Error(), "truncated") {
				t.Errorf("%s cut at %d of %d: error %v", how, n, len(whole), err)
			}
		}
		damaged := bytes.Clone(whole)
		for i := len(whole) / 2; i < len(whole)/2+50; i++ {
			damaged[i] ^= 0x55
		}
		_, err := loadBytes(t, Options{Reject: func(RowError) error { return nil }}, "x.csv."+how, damaged)
		if err == nil || !strings.Contains(err.Error(), "x.csv."+how) || !strings.Contains(err.Error(), "byte") {
			t.Errorf("%s: error %v", how, err)
		}
	}
	if _, err := loadBytes(t, Options{}, "x.csv.gz", []byte("a,b\n1,2\n3,4\n5,6\n")); err == nil || !strings.Contains(err.Error(), "gz data are damaged") {
		t.Errorf("error %v", err)
	}
}

// TestPackedStop checks that a reader that stops early leaves no goroutine behind (Read returns only after it has
// ended).
func TestPackedStop(t *testing.T) {
	text := toCSV(append([][]string{checkColumns}, checkRows(20_000)...)...)
	m := &memFile{"/x.csv.zst", pack(t, "zst", text)}
	in, err := Open(t.Context(), func(name string) (FS, string, error) { return m, name, nil }, []string{m.name}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := in.NewReader().Read(t.Context(), 0, func(*Batch) error { return stop }); err != stop {
		t.Fatal(err)
	}
}
