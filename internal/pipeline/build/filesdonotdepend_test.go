package build

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
)

// TestFilesDoNotDependOnWorkers checks that one region, one region with most of
// the rows, and several families, in memory and spilled, give the same files
// with any number of workers, idle ones included.
func TestFilesDoNotDependOnWorkers(t *testing.T) {
	env := jobtest.Env(t)
	input := filepath.Join(t.TempDir(), "rows.dump")
	s := spec.Spec{Inputs: []string{input}, Format: "dump", Key: "id", Timestamp: 1}
	rows := 12_000
	if race.Reduced(t) {
		rows = 6_000
	}
	if _, err := writeGrowth(input, growth{rows: rows, columns: 18, value: 30}, &s); err != nil {
		t.Fatal(err)
	}
	two := s
	two.Cells = []spec.CellSpec{{Columns: []string{"c3", "c4", "c5"}, Family: "g"}, {Rest: true}}
	for name, c := range map[string]struct {
		spec   spec.Spec
		splits []string
	}{
		"one region":   {s, nil},
		"one is large": {s, []string{"1", "11", "2"}},
		"two families": {two, nil},
	} {
		var splits [][]byte
		for _, p := range c.splits {
			splits = append(splits, []byte(p))
		}
		var first map[string]string
		for _, workers := range []int{1, 2, 3, 8} {
			for _, memory := range []int{512 << 20, (7 * workers * (len(c.spec.Cells)/2 + 1)) << 20} {
				out := t.TempDir()
				o := WorkOptions{Workers: workers, Memory: spec.Size(memory), SpillDir: t.TempDir()}
				m, err := Directory(t.Context(), env, jobtest.Resolve(t, c.spec), jobtest.Family, splits, out, o)
				if err != nil {
					t.Fatalf("%s, %d workers: %v", name, workers, err)
				}
				if m.Digest.Rows != int64(rows) {
					t.Errorf("%s, %d workers: %d rows", name, workers, m.Digest.Rows)
				}
				sums := jobtest.Hashes(t, out)
				if first == nil {
					first = sums
				} else if fmt.Sprint(sums) != fmt.Sprint(first) {
					t.Errorf("%s: %d workers with %d MiB give other files", name, workers, memory>>20)
				}
				if err := os.RemoveAll(out); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
