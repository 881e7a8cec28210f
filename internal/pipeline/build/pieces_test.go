package build

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

// TestSamplesOfRanges: rows that come in pieces leave the sample that they leave one by one.
func TestSamplesOfRanges(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		most := rapid.IntRange(0, 5).Draw(t, "most")
		longest := rapid.SampledFrom([]int{10, 40_000}).Draw(t, "longest key")
		want, got := sampler{most: most}, sampler{most: most}
		for range rapid.IntRange(0, 30).Draw(t, "pieces") {
			var keys [][]byte
			var sums []uint64
			for range r.IntN(20) {
				key := make([]byte, 1+r.IntN(longest))
				row := fmt.Append(nil, r.Uint64())
				want.add(key, row, &rowTime{})
				keys, sums = append(keys, key), append(sums, xxhash.Sum64(row))
			}
			got.addAll(keys, sums)
		}
		if fmt.Sprint(got.rows) != fmt.Sprint(want.rows) || most > 0 && got.seen != want.seen {
			t.Fatalf("%d of %d rows, want %d of %d", len(got.rows), got.seen, len(want.rows), want.seen)
		}
	})
}

// TestRangesCount: one region that several workers merge has the rows, duplicates and records without cells that one worker finds.
func TestRangesCount(t *testing.T) {
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.dump")
	f, err := os.Create(input)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 { // each third key comes twice
		fmt.Fprintf(f, "%06d\x01%d\x01%s\x10", (i*7919)%15_000, i, "value of some length"[:i%20])
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s := spec.Spec{Inputs: []string{input}, Format: "dump", Columns: []string{"id", "n", "v"}, Key: "id", Timestamp: 1, Duplicates: "last"}
	var want *manifest.Manifest
	for _, workers := range []int{1, 2, 7} {
		m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{Workers: workers, SpillDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if m.Duplicates != 5000 || m.Digest.Rows != 15_000 || m.Records != 20_000 {
			t.Errorf("%d workers: %d duplicates, %s of %d records", workers, m.Duplicates, m.Digest, m.Records)
		}
		if want == nil {
			want = m
		} else if m.Digest != want.Digest || m.Files[0].CRC32C != want.Files[0].CRC32C {
			t.Errorf("%d workers: %s, file %08x; want %s, %08x", workers, m.Digest, m.Files[0].CRC32C, want.Digest, want.Files[0].CRC32C)
		}
	}
	s.Duplicates = "fail"
	var message string
	for _, workers := range []int{1, 7} {
		_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, nil, t.TempDir(), WorkOptions{Workers: workers, SpillDir: t.TempDir()})
		if err == nil || message != "" && err.Error() != message {
			t.Errorf("%d workers: %v, want %s", workers, err, message)
		} else {
			message = err.Error()
		}
	}
}
