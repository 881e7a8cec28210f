package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
)

// TestIndexBeyondMemoryNamesTheRegion builds a file with keys of 32 KiB that share their beginning. The error about its index names the region and
// what to do, and an attempt with more memory may resume from the sorted rows.
func TestIndexBeyondMemoryNamesTheRegion(t *testing.T) {
	env := jobtest.Env(t)
	var b strings.Builder
	b.WriteString("id,v\n")
	for i := range 1600 {
		fmt.Fprintf(&b, "%s%06d,1\n", strings.Repeat("x", 32_000), i)
	}
	input := filepath.Join(t.TempDir(), "k.csv")
	testcheck.Must(t, os.WriteFile(input, []byte(b.String()), 0o600))
	s := jobtest.CSVSpec(input)
	s.Key = "id"
	splits := [][]byte{[]byte("k")}
	w := WorkOptions{Workers: 4, Memory: 64 << 20, SpillDir: t.TempDir()}
	_, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, splits, filepath.Join(t.TempDir(), "out"), w)
	if !errors.Is(err, hfile.ErrIndexMemory) || !errors.Is(err, extsort.ErrMemory) || fail.KindOf(err) != fail.Config {
		t.Fatalf("%v, kind %v", err, fail.KindOf(err))
	}
	for _, want := range []string{"region 2 of 2: ", "`memory`", "`workers`", "shorter keys", "more regions"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	w.Memory = 256 << 20
	m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, splits, filepath.Join(t.TempDir(), "out"), w)
	if err != nil || m.Digest.Rows != 1600 {
		t.Errorf("with more memory: %v", err)
	}
}
