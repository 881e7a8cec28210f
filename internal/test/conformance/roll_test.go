package conformance

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"bulkload/pkg/hfile"
)

// TestRoll checks that files end where HFileOutputFormat2 ends them.
func TestRoll(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	java := startHBase(t, zstdModule)
	seed := envInt(t, "BULKLOAD_CONFORMANCE_SEED", 3)
	rolled := 0
	for i := range 25 {
		c := randomCase(seed, i)
		total := int64(0)
		for j := range c.cells {
			total += hfile.CellLen(&c.cells[j])
		}
		most := 1 + total/int64(1+i%7)
		dir := t.TempDir()
		in := filepath.Join(dir, "cells")
		if err := os.WriteFile(in, c.text(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := java.run(in, filepath.Join(dir, "out"), "roll", filepath.Join(dir, "files"), strconv.FormatInt(most, 10)); err != nil {
			t.Fatal(err)
		}
		want, got := filesByRow(t, filepath.Join(dir, "files")), c.roll(most)
		if !slices.Equal(got, want) {
			t.Errorf("%s, at most %d of %d bytes: files of %v cells, HBase's of %v\nkept in %s", c.name, most, total, got, want, c.keep(t))
		}
		if len(want) > 1 {
			rolled++
		}
	}
	if rolled < 5 {
		t.Errorf("only %d of the cases have more than one file", rolled)
	}
}

// roll returns the cells of each file.
func (c *testCase) roll(most int64) []int64 {
	var files []int64
	written := int64(0)
	for i := range c.cells {
		cell := &c.cells[i]
		n := hfile.CellLen(cell)
		newRow := i == 0 || !bytes.Equal(c.cells[i-1].Row, cell.Row)
		if i == 0 || newRow && (hfile.Roller{Max: most}).EndBefore(written, n) {
			files = append(files, 0)
			written = 0
		}
		files[len(files)-1]++
		written += n
	}
	return files
}

// filesByRow returns the number of cells of each file, in the order of their rows.
func filesByRow(t *testing.T, dir string) []int64 {
	t.Helper()
	type file struct {
		first []byte
		cells int64
	}
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		r, err := hfile.Open(bytes.NewReader(b), int64(len(b)), hfile.ReaderOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		first, _, err := r.Rows()
		files = append(files, file{first, r.Meta().Cells})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(files, func(a, b file) int { return bytes.Compare(a.first, b.first) })
	var counts []int64
	for _, f := range files {
		counts = append(counts, f.cells)
	}
	return counts
}
