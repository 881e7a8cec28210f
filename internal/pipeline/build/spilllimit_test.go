package build

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// TestSpillLimit checks that the build fails before it exceeds the limit, with
// an estimate of the size that it needs, and that this size suffices.
func TestSpillLimit(t *testing.T) {
	env := jobtest.Env(t)
	s := jobtest.Spec(t, "check")
	s.Inputs = []string{jobtest.ManyRecords(t, 40_000)}
	build := func(limit spec.Size) (*manifest.Manifest, string, error) {
		dir, out := t.TempDir(), t.TempDir()
		m, err := Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, partition.SaltSplits(10), out, WorkOptions{Workers: 1, Memory: 8 << 20, SpillDir: dir, SpillLimit: limit,
			SplitSize: 1 << 20})
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("runs are left behind: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(out, "f", "*")); err != nil && len(left) > 0 {
			t.Errorf("files are left behind: %v", left)
		}
		return m, dir, err
	}
	m, _, err := build(0)
	if err != nil || m.Runs < 2 {
		t.Fatalf("%v, %+v", err, m)
	}
	_, _, err = build(spec.Size(m.SpillBytes) / 2)
	if fail.KindOf(err) != fail.Config {
		t.Fatalf("error of kind %v: %v", fail.KindOf(err), err)
	}
	if limit, ok := errors.AsType[*extsort.LimitError](err); !ok || limit.Limit != m.SpillBytes/2 {
		t.Errorf("error %v has no limit of %d", err, m.SpillBytes/2)
	}
	found := regexp.MustCompile(`: [0-9]+ % of the input was read; all of it needs about ([0-9.]+ [KM]iB) \(`).FindStringSubmatch(err.Error())
	if found == nil {
		t.Fatalf("the error does not say how much is needed: %v", err)
	}
	needs, err := spec.ParseSize(found[1])
	if err != nil {
		t.Fatal(err)
	}
	// Half of the rows determine the estimate as well as all; the remaining error is the last run's end and two digits of the text.
	if ratio := float64(needs) / float64(m.SpillBytes); ratio < 0.98 || ratio > 1.03 {
		t.Errorf("estimated are %d bytes of runs, %d were made", needs, m.SpillBytes)
	}
	if _, _, err := build(needs + needs/20); err != nil {
		t.Errorf("with the limit that was estimated: %v", err)
	}
}

// TestSpillLimitOfMerge checks the error for a limit that suffices for the runs, but not for merging them into longer ones, during which they exist
// twice.
func TestSpillLimitOfMerge(t *testing.T) {
	r := &readers{}
	err := r.explainSpill(&extsort.LimitError{Limit: 100 << 20, Bytes: 99 << 20, Rows: 5, Need: 180 << 20})
	if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "merging its sorted rows needs 180.0 MiB") {
		t.Errorf("error is %v", err)
	}
}
