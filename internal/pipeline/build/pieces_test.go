package build

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
)

// TestRangesCount checks that one region merged by several workers has the same rows, duplicates and records without cells as with one worker.
func TestRangesCount(t *testing.T) {
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.dump")
	f, err := os.Create(input)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 { // every third key is repeated
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
