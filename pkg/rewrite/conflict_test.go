package rewrite

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/jobtest"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

// TestConflict holds what is found in random files to a look at all pairs of cells: two files conflict if the first cells that they
// have of one key differ.
func TestConflict(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		fsys := hdfsio.NewMemory()
		want := false
		type seen struct {
			in          int
			value, tags string
		}
		first := map[string]seen{}
		var files []loader.HFile
		for i := range rapid.IntRange(1, 6).Draw(rt, "files") {
			cells := drawCells(rt, 1)
			for j := range cells {
				if rapid.IntRange(0, 9).Draw(rt, "odd value") > 0 { // else hardly any two are equal
					cells[j].Value, cells[j].Tags = []byte("v"), nil
				}
			}
			own := map[string]bool{}
			for _, c := range cells {
				key := fmt.Sprintf("%q %q %d %d", c.Row, c.Qualifier, c.Timestamp, c.Type)
				if own[key] {
					continue
				}
				own[key] = true
				now := seen{i, string(c.Value), string(c.Tags)}
				was, ok := first[key]
				if !ok {
					first[key] = now
				}
				want = want || ok && (was.value != now.value || was.tags != now.tags)
			}
			files = append(files, jobtest.WriteCells(t, fsys, fmt.Sprintf("/job/f/%032x", i), cells, hfile.Options{}))
		}
		err := Conflict(t.Context(), fsys, files)
		if (err != nil) != want || err != nil && (fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "f/0000000000000000")) {
			rt.Fatalf("conflict %v: %v", want, err)
		}
		if want {
			found++
		}
	})
	if found == 0 {
		t.Error("no files had a conflict")
	}
}

// opens notes which files are opened.
type opens struct {
	hdfsio.FS
	names []string
}

func (r *opens) Open(ctx context.Context, name string) (fs.File, error) {
	r.names = append(r.names, name)
	return r.FS.Open(ctx, name)
}

// TestConflictReadsOverlaps reads only files that have rows between each other's, one family by itself.
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
