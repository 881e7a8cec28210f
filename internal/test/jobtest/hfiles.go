package jobtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// ReadWhole returns the bytes of a file on any file system.
func ReadWhole(t testing.TB, fsys hdfsio.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(t.Context(), name)
	testcheck.Must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	testcheck.Must(t, err)
	return b
}

// RewriteURI is the prefix of the paths of a load's files.
const RewriteURI = "hdfs://nn:8020"

// SomeCells returns rows with enough columns for many blocks.
func SomeCells(rows int) []hfile.Cell {
	r := rand.New(rand.NewPCG(1, 2))
	var cells []hfile.Cell
	for i := range rows {
		for q := range 3 {
			v := make([]byte, 100)
			for j := range v {
				v[j] = byte(r.Uint32())
			}
			c := hfile.Cell{Row: fmt.Appendf(nil, "%06d", i), Family: []byte("f"), Qualifier: fmt.Appendf(nil, "q%d", q), Timestamp: 5, Type: hfile.Put, Value: v}
			if i%7 == 0 {
				c.Tags = []byte{0, 3, 65, 1, 2} // an unused tag type
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// TreeFiles returns the paths of all files below a directory.
func TreeFiles(t testing.TB, fsys hdfsio.FS, dir string) []string {
	t.Helper()
	var names []string
	list, err := fsys.ReadDir(t.Context(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.IsDir() {
			names = append(names, TreeFiles(t, fsys, path.Join(dir, f.Name()))...)
			if f.Name() == "_writing" {
				t.Errorf("%s is left in %s", f.Name(), dir)
			}
			continue
		}
		names = append(names, path.Join(dir, f.Name()))
	}
	return names
}

// WriteCells writes an HFile like one of another program.
func WriteCells(t testing.TB, fsys hdfsio.FS, name string, cells []hfile.Cell, o hfile.Options) loader.HFile {
	t.Helper()
	testcheck.Must(t, fsys.MkdirAll(t.Context(), path.Dir(name), 0o777))
	f, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	w, err := hfile.NewWriter(f, o)
	testcheck.Must(t, err)
	for i := range cells {
		testcheck.Must(t, w.Append(&cells[i]))
	}
	stats, err := w.Finish()
	testcheck.Must(t, errors.Join(err, f.Finish()))
	return loader.HFile{Family: "f", Path: RewriteURI + name, First: stats.FirstRow, Last: stats.LastRow, Size: stats.Bytes, Cells: stats.Cells}
}
