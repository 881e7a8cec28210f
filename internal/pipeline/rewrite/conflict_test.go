package rewrite

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// TestConflict compares the result for random files with a comparison of all pairs of cells: two files conflict if their first
// cells with the same key differ.
func TestConflict(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 1))
	found, none := 0, 0
	for n := range 300 {
		fsys := hdfsio.NewMemory()
		want := false
		first := map[string]string{} // value and tags, by key
		var files []loader.HFile
		for i := range 1 + r.IntN(6) {
			var cells []hfile.Cell
			for range 1 + r.IntN(20) {
				c := hfile.Cell{Row: fmt.Append(nil, r.IntN(30)), Family: []byte("f"), Qualifier: fmt.Append(nil, r.IntN(2)), Timestamp: int64(r.IntN(2)),
					Type: []hfile.Type{hfile.Put, hfile.Put, hfile.DeleteColumn}[r.IntN(3)], Value: []byte("v")}
				switch r.IntN(16) { // otherwise nearly all pairs of files conflict
				case 0:
					c.Value = fmt.Append(nil, r.IntN(9))
				case 1:
					c.Tags = []byte{0, 2, 65, byte(r.IntN(9))}
				}
				cells = append(cells, c)
			}
			slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
			own := map[string]bool{}
			for _, c := range cells {
				key, now := fmt.Sprintf("%q %q %d %d", c.Row, c.Qualifier, c.Timestamp, c.Type), fmt.Sprintf("%q %q", c.Value, c.Tags)
				if own[key] {
					continue
				}
				own[key] = true
				was, ok := first[key]
				if !ok {
					first[key] = now
				}
				want = want || ok && was != now
			}
			files = append(files, jobtest.WriteCells(t, fsys, fmt.Sprintf("/job/f/%032x", i), cells, hfile.Options{}))
		}
		err := Conflict(t.Context(), fsys, files)
		if (err != nil) != want || err != nil && (fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "f/0000000000000000")) {
			t.Fatalf("seed %d, files %d, conflict %v: %v", seed, n, want, err)
		}
		found++
		if !want {
			none++
		}
	}
	if none < 50 || found-none < 50 {
		t.Errorf("seed %d: %d of %d had no conflict", seed, none, found)
	}
}

// opens records the opened files.
type opens struct {
	hdfsio.FS
	names []string
}

func (r *opens) Open(ctx context.Context, name string) (fs.File, error) {
	r.names = append(r.names, name)
	return r.FS.Open(ctx, name)
}

// TestConflictReadsOverlaps checks that only files with overlapping rows are read, each family separately.
func TestConflictReadsOverlaps(t *testing.T) {
	fsys := &opens{FS: hdfsio.NewMemory()}
	cells := jobtest.SomeCells(40)
	write := func(name string, cells []hfile.Cell) loader.HFile {
		return jobtest.WriteCells(t, fsys, "/job/f/"+name, cells, hfile.Options{})
	}
	files := []loader.HFile{write("a", cells[:30]), write("b", cells[30:60]), write("c", cells[57:90]), write("d", cells[90:])}
	if err := Conflict(t.Context(), fsys, files); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(fsys.names); !slices.Equal(fsys.names, []string{"/job/f/b", "/job/f/c"}) {
		t.Errorf("read were %v", fsys.names)
	}
	fsys.names = nil
	files[2].Family = "g"
	if err := Conflict(t.Context(), fsys, files); err != nil || len(fsys.names) > 0 {
		t.Errorf("of two families: %v, read were %v", err, fsys.names)
	}
}
