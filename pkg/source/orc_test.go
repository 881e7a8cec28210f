package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const orcDir = "../../testdata/source/orc/"

// readORC holds the files of a directory against the texts beside them, with all columns and with some, in batches of their stripes.
func readORC(t *testing.T, dir string, least int) (files, rows int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(paths) < least {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		path = strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(path), func(t *testing.T) {
			columns, want := expectedTexts(t, path+".jsonl")
			got, err := chosenRows(t, Options{Columns: columns}, path+".orc")
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, columns, got, want)
			// Alone, a column is the same: what else is read does not matter.
			for i, c := range columns {
				if i >= 3 && len(want) > 1000 {
					break
				}
				if got, err = chosenRows(t, Options{Columns: []string{c}, Memory: 64 << 20}, path+".orc"); err != nil {
					t.Fatal(err)
				}
				sameRows(t, []string{c}, got, want)
			}
			files, rows = files+1, rows+len(want)
		})
	}
	return files, rows
}

// TestORCFiles reads files that pyarrow, Spark and Hive have written.
func TestORCFiles(t *testing.T) {
	readORC(t, orcDir, 10)
}

// TestORCRandom has pyarrow write random tables: BULKLOAD_TEST_ORC is how many, BULKLOAD_TEST_PYTHON a Python that has it.
func TestORCRandom(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("BULKLOAD_TEST_ORC"))
	if count == 0 {
		t.Skip("BULKLOAD_TEST_ORC=300 has Python write so many files, with pyarrow")
	}
	python := os.Getenv("BULKLOAD_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	seed := os.Getenv("BULKLOAD_SEED")
	if seed == "" {
		seed = "1"
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), python, orcDir+"generate.py", dir, strconv.Itoa(count), seed, "5000").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, rows := readORC(t, dir, count)
	t.Logf("%d files, %d rows", files, rows)
}
