package build

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
	"bulkload/pkg/source"

	"github.com/klauspost/compress/zstd"
)

// windowFile returns a dump of one record in a zstd file with a window of 64 MiB.
func windowFile(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("A1\x01K1" + strings.Repeat("\x01v", 16))); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("\x10")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.dump.zst")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestWindowBeyondMemoryNamesTheMemoryItNeeds checks that a build refuses the input, and reads it with the memory that the error names.
func TestWindowBeyondMemoryNamesTheMemoryItNeeds(t *testing.T) {
	env := jobtest.Env(t)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{windowFile(t)}
	w := WorkOptions{Workers: 2, Memory: 64 << 20, SpillDir: t.TempDir()}
	_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), filepath.Join(t.TempDir(), "out"), w)
	if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "x.dump.zst: its zstd window of 64 MiB needs") {
		t.Fatalf("%v, kind %d", err, fail.KindOf(err))
	}
	asked := regexp.MustCompile("`memory` (\\S+) for 2 workers").FindStringSubmatch(err.Error())
	if asked == nil {
		t.Fatal(err)
	}
	if w.Memory, err = spec.ParseSize(asked[1]); err != nil {
		t.Fatal(err)
	}
	m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), filepath.Join(t.TempDir(), "out"), w)
	if err != nil || m.Digest.Rows != 1 {
		t.Fatalf("with --memory %s: %v", w.Memory, err)
	}
}

// TestMemoryOfReadingIsNamedAsThatOfOpening checks that an error while reading a page is as detailed as one while opening a file.
func TestMemoryOfReadingIsNamedAsThatOfOpening(t *testing.T) {
	o := Options{Workers: 2, Memory: 64 << 20}
	err := fmt.Errorf("x.parquet: %w", &source.MemoryError{What: "the page", Need: 100 << 20, Have: o.readerMemory()})
	got := o.ReadError(err)
	if want := fail.With(fail.Input, o.inputMemory(err)); fail.KindOf(got) != fail.Config || got.Error() != want.Error() || !strings.Contains(got.Error(), " for 2 workers") {
		t.Errorf("%v, kind %d", got, fail.KindOf(got))
	}
}
