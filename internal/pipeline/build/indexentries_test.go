package build

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// indexedCells returns the cells in the files of a manifest: family, row, qualifier and value of each.
func indexedCells(t *testing.T, dir string, m *manifest.Manifest) (cells [][4]string) {
	t.Helper()
	for _, f := range m.Files {
		content := jobtest.ReadWhole(t, hdfsio.Local{}, filepath.Join(dir, f.Name))
		r, err := hfile.Open(bytes.NewReader(content), int64(len(content)), hfile.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		scan := r.Scan()
		for scan.Next() {
			c := scan.Cell()
			cells = append(cells, [4]string{string(c.Family), string(c.Row), string(c.Qualifier), string(c.Value)})
		}
		if err := scan.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return cells
}

// indexedSpec returns a job for a table with the columns k and v, with an index on v.
func indexedSpec(input, duplicates string) spec.Spec {
	return spec.Spec{Table: "t", Inputs: []string{input}, Format: "csv", Header: "no", Columns: []string{"k", "v", "x"}, Key: "k", Duplicates: duplicates, Timestamp: 5,
		Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "v"}}, Skip: []string{"k", "x"}},
		Tables:  []spec.TableSpec{{Table: "i", Index: "v", Key: `v + "|" + k + "|" + x`}}}
}

// heldEntries compares an index with its table: each row has its entry, and there are no others.
func heldEntries(t *testing.T, s spec.Spec, splits map[string][][]byte, o WorkOptions) []*manifest.Manifest {
	t.Helper()
	j := jobtest.Resolve(t, s)
	out := filepath.Join(t.TempDir(), "out")
	m, err := Directories(t.Context(), jobtest.Env(t), j, tablesShapes(t, j, splits), out, o)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, c := range indexedCells(t, filepath.Join(out, "t"), m[0]) {
		want = append(want, c[3]+" of "+c[1])
	}
	for _, c := range indexedCells(t, filepath.Join(out, "i"), m[1]) {
		value, _, _ := strings.Cut(c[1], "|")
		got = append(got, value+" of "+c[3])
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(want, got) || len(want) == 0 {
		t.Errorf("%d entries of %d rows; the table holds\n%.300v, the index\n%.300v", len(got), len(want), want, got)
	}
	if m[0].Digest.Rows != int64(len(want)) || m[1].Digest.Rows != int64(len(got)) || m[0].Records != m[1].Records {
		t.Errorf("manifests: %+v, %+v", m[0].Digest, m[1].Digest)
	}
	return m
}

// TestIndexHoldsWhatTheTableHolds checks that a record whose row is not in the table, because another record has its key, has no entry in the index.
func TestIndexHoldsWhatTheTableHolds(t *testing.T) {
	input := filepath.Join(t.TempDir(), "x.csv")
	for _, c := range []struct {
		records    string
		rows, left int64
	}{
		{"k1,v1,a\nk2,v2,b\nk1,v3,c\n", 2, 1},
		{"k1,v1,a\nk2,v2,b\nk1,v1,c\n", 2, 1}, // the same value, from another record
		{"k1,v1,a\nk1,v2,a\nk1,v1,a\n", 1, 2}, // the first record's entry is also the last one's
	} {
		if err := os.WriteFile(input, []byte(c.records), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, duplicates := range []string{"first", "last"} {
			m := heldEntries(t, indexedSpec(input, duplicates), nil, WorkOptions{})
			if m[0].Digest.Rows != c.rows || m[0].Duplicates != c.left {
				t.Errorf("%q, %s: %d rows, %d left out", c.records, duplicates, m[0].Digest.Rows, m[0].Duplicates)
			}
		}
	}
}

// TestIndexOfManyDuplicates does the same with random records, in memory and with so little memory that rows and left-out records are on disk.
func TestIndexOfManyDuplicates(t *testing.T) {
	seed := uint64(1)
	r := rand.New(rand.NewPCG(seed, 7))
	type size struct {
		records, keys, workers int
		memory                 spec.Size
	}
	sizes := []size{{100, 10, 1, 0}, {20_000, 300, 3, 0}, {20_000, 19_000, 2, 0}, {500_000, 100_000, 2, 44 << 20}, {400_000, 3_000, 1, 24 << 20}}
	if race.Reduced(t) {
		sizes = sizes[:3]
	}
	for _, c := range sizes {
		var b bytes.Buffer
		for range c.records {
			fmt.Fprintf(&b, "k%06d,v%03d,%x\n", r.IntN(c.keys), r.IntN(200), r.Uint32())
		}
		input := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(input, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		splits := map[string][][]byte{"t": {[]byte("k000100"), []byte("k002000")}, "i": {[]byte("v050"), []byte("v150")}}
		for _, duplicates := range []string{"first", "last"} {
			m := heldEntries(t, indexedSpec(input, duplicates), splits, WorkOptions{Workers: c.workers, Memory: c.memory, SpillDir: t.TempDir(), SplitSize: 50_000})
			if spilled := m[0].Runs > 0; spilled != (c.memory > 0) {
				t.Errorf("%d runs in %s", m[0].Runs, c.memory)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, %+v", seed, c)
		}
	}
}
