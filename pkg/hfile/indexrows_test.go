package hfile

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// openGolden opens a file written by HBase.
func openGolden(t *testing.T, name string) *Reader {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testdata/hfile/golden", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(bytes.NewReader(b), int64(len(b)), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestIndexRows checks that the rows of each level of a multi-level index are in order, that lower levels have more of them,
// and that cutting a file at these rows loses no cells.
func TestIndexRows(t *testing.T) {
	r := openGolden(t, "levels-snappy-fastdiff-rowcol.hfile")
	if r.Meta().IndexLevels < 2 {
		t.Fatalf("%d levels", r.Meta().IndexLevels)
	}
	root, err := r.IndexRows(1)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := r.IndexRows(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if len(root) < 2 || len(leaves) <= len(root) || !slices.IsSortedFunc(leaves, bytes.Compare) || !bytes.Equal(root[0], leaves[0]) {
		t.Errorf("%d rows of the root, %d of the leaves", len(root), len(leaves))
	}
	var cells int64
	for i, from := range leaves {
		s := r.SeekRow(from)
		for s.Next() && (i+1 == len(leaves) || bytes.Compare(s.Cell().Row, leaves[i+1]) < 0) {
			cells++
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
	}
	if cells != r.Meta().Cells {
		t.Errorf("%d cells, the file has %d", cells, r.Meta().Cells)
	}
}

// TestSameRow checks that SameRow is never wrong, and that it is true for most cells in DIFF and FAST_DIFF.
func TestSameRow(t *testing.T) {
	files, err := filepath.Glob("../../testdata/hfile/golden/*.hfile")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	known := 0
	for _, name := range files {
		r := openGolden(t, filepath.Base(name))
		first, _, err := r.Rows()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Scanner{openGolden(t, filepath.Base(name)).Scan(), r.SeekRow(first)} {
			var last []byte
			for n := 0; s.Next(); n++ {
				if s.SameRow() {
					known++
					if n == 0 || !bytes.Equal(last, s.Cell().Row) {
						t.Fatalf("%s, cell %d: another row", name, n)
					}
				}
				last = append(last[:0], s.Cell().Row...)
			}
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
		}
	}
	if known < 100 {
		t.Errorf("%d cells are known to be of the same row", known)
	}
}
