package dialects

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"bulkload/internal/test/race"
	"bulkload/pkg/source"
)

// full reports whether large files are read, with all judges.
func full() bool { return os.Getenv("BULKLOAD_DIALECTS") == "1" }

func number64(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func seed(t *testing.T) uint64 {
	s := number64(t, "BULKLOAD_DIALECTS_SEED", 20261122)
	t.Logf("BULKLOAD_DIALECTS_SEED=%d", s)
	return s
}

func kinds(tb testing.TB) []kind {
	all := append(presets(tb), settings(tb)...)
	all = append(all, charsets(tb)...)
	all = append(append(all, lines()), containers()...)
	return all
}

// TestDialects reads a file of each kind and compares it with a judge: with the splits of jobs, by 1, 2 and 7
// workers, shifted byte by byte.
func TestDialects(t *testing.T) {
	s := seed(t)
	size, pads, splits := int64(320<<10), []int{0, 1, 5}, []int64{zone}
	if full() {
		size, splits, pads = 50<<20, []int64{0, 1 << 20}, nil
		for i := range 16 {
			pads = append(pads, i)
		}
	}
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			x := newText(&k, size, false, s)
			m, want := x.padded(0)
			x.judged(t, m, &want)
			n := 0
			for _, pad := range pads {
				for _, split := range splits {
					workers := [...]int{1, 2, 7}[n%3]
					n++
					m, want := x.padded(pad)
					o := k.options()
					o.SplitSize = split
					if !x.agrees(t, m, o, &want, workers, fmt.Sprintf("%d bytes of padding, splits of %d, %d workers", pad, split, workers)) {
						return
					}
				}
			}
		})
	}
}

// judged reads a file with the judges.
func (x *text) judged(t *testing.T, m *mem, want *digest) {
	t.Helper()
	if race.Reduced(t) {
		return
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, m.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, j := range x.k.judges {
		if !j.Packages || full() {
			x.hold(t, j, file, want)
		}
	}
}

// agrees returns an error unless a file is read as it was written.
func (x *text) agrees(t *testing.T, m *mem, o source.Options, want *digest, workers int, how string) bool {
	t.Helper()
	got := read(t.Context(), m, x.k.name, o, x.k.cols, workers)
	if got.err == "" && len(got.rejects) == 0 && got.rows == want.rows && slices.Equal(got.sums, want.sums) {
		return true
	}
	t.Errorf("%s: %d rows, want %d; %d bad records %.300s; error %q", how, got.rows, want.rows, len(got.rejects), fmt.Sprintf("%+v", got.rejects), got.err)
	if difference := firstDifference(t.Context(), m, o, x.rows()); difference != "" {
		t.Error(difference)
	}
	return false
}

// TestBoundaries reads small files in splits and chunks of a few bytes, so that each position is a boundary.
func TestBoundaries(t *testing.T) {
	s := seed(t)
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			x := newText(&k, 6000, true, s)
			m, want := x.padded(0)
			if full() {
				x.judged(t, m, &want)
			}
			cut := false
			for _, split := range []int64{0, 1, 7, 61, 64, 300} {
				for i, chunk := range []int{0, 1, 100} {
					o := k.options()
					o.SplitSize, o.ChunkSize = split, chunk
					if !x.agrees(t, m, o, &want, [...]int{1, 2, 7}[i%3], fmt.Sprintf("splits of %d, chunks of %d", split, chunk)) {
						return
					}
				}
				// A position without a cut leads to a longer split: the rest of the file, where quotes are misread.
				got := read(t.Context(), m, k.name, withSplit(k.options(), split), k.cols, 1)
				if cut = got.splits > 1; split > 0 && !k.sequential() && got.longest > 1000 {
					t.Errorf("in splits of %d one has %d bytes", split, got.longest)
				}
			}
			if one := k.sequential(); cut == one {
				t.Errorf("it is cut: %t", cut)
			}
		})
	}
}

func withSplit(o source.Options, size int64) source.Options {
	o.SplitSize = size
	return o
}

// sequential reports whether a file of the kind is read from its beginning, or is not cut after the first quote that
// follows blanks.
func (k *kind) sequential() bool {
	if k.name == "csv-trim" {
		return true
	}
	wide := k.bom == "\xff\xfe" || k.bom == "\xfe\xff"
	return wide || k.dialect != nil && !k.dialect.Cuttable()
}
