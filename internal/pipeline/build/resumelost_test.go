package build

import (
	"maps"
	"path"
	"slices"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
)

// TestAfterALossNothingIsBuilt checks that after the loss of a file its region counts as not written, the other regions stay written, and
// the job is not built in any table.
func TestAfterALossNothingIsBuilt(t *testing.T) {
	d := NewDone()
	for ordinal := range 4 {
		d.Write(WrittenRecord{Ordinal: ordinal, File: manifest.File{Region: ordinal}})
	}
	d.Built, d.BuiltTables = &manifest.Manifest{}, []*manifest.Manifest{{}}
	d.Lose(LostRecord{Regions: []int{1, 3}})
	if got := slices.Sorted(maps.Keys(d.Written)); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("written are the regions %v, not 0 and 2", got)
	}
	if d.Built != nil || d.BuiltTables != nil {
		t.Error("the job is built, and files are missing")
	}
}

// TestRegionsThatLostRowsAreWrittenAgain checks regions of the leading table that left out duplicates: only merging such a region shows
// which rows are left out.
func TestRegionsThatLostRowsAreWrittenAgain(t *testing.T) {
	r := &Resume{Done: &Done{Written: map[int]WrittenRecord{
		0: {Records: 5}, 1: {Records: 5, Dups: 1}, 2: {}, 3: {Records: 5, Dups: 1}, 4: {},
	}}}
	r.Checkpoint = noCheckpoint{r.Done}
	testcheck.Must(t, r.forgetLosing(0, Options{}))
	if len(r.Written) != 5 {
		t.Errorf("where no table leads, %d of 5 regions are left", len(r.Written))
	}
	testcheck.Must(t, r.forgetLosing(3, Options{}))
	if got := slices.Sorted(maps.Keys(r.Written)); !slices.Equal(got, []int{0, 3, 4}) {
		t.Errorf("left are the regions %v, not 0, 3 and 4", got)
	}
}

// lossRecorder records which regions were lost.
type lossRecorder struct {
	Checkpoint
	lost []int
}

func (l *lossRecorder) Lost(r LostRecord) error {
	l.lost = append(l.lost, r.Regions...)
	return nil
}

// TestFilesOfEarlierAttemptsAreKeptAsTheyWere checks that a file is kept if it has its size and its id, and is written again otherwise.
func TestFilesOfEarlierAttemptsAreKeptAsTheyWere(t *testing.T) {
	fsys := hdfsio.NewMemory()
	write := func(name, text string) uint64 {
		f, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{Perm: 0o644})
		testcheck.Must(t, err)
		_, err = f.Write([]byte(text))
		testcheck.Must(t, err)
		testcheck.Must(t, f.Finish())
		info, err := fsys.Stat(t.Context(), name)
		testcheck.Must(t, err)
		id, ok := hdfsio.FileID(info)
		if !ok {
			t.Fatal("files have no ids")
		}
		return id
	}
	testcheck.Must(t, fsys.MkdirAll(t.Context(), "/job/f", 0o755))
	r := &Resume{Done: &Done{Written: map[int]WrittenRecord{}}}
	add := func(region int, name, text string, bytes int64, id uint64) {
		if text != "" {
			if written := write(path.Join("/job", name), text); id == 0 {
				id = written
			}
		}
		r.Written[region] = WrittenRecord{File: manifest.File{Name: name, Region: region, Bytes: bytes, FileID: id}, Records: 1}
	}
	add(0, "f/same", "abc", 3, 0)
	add(1, "f/shorter", "ab", 3, 0)
	add(2, "f/longer", "abcd", 3, 0)
	add(3, "f/gone", "", 3, 7)
	add(4, "f/another", "abc", 3, 1<<40)
	w := r.Written[0]
	w.Others = []manifest.File{{Name: "f/same", Bytes: 3}} // an earlier version recorded no id
	r.Written[0] = w
	checkpoint := &lossRecorder{}
	r.Checkpoint = checkpoint
	testcheck.Must(t, r.KeepWritten(t.Context(), []Table{{Out: Output{FS: fsys, Dir: "/job"}}}))
	if !slices.Equal(checkpoint.lost, []int{1, 2, 3, 4}) {
		t.Errorf("lost are the regions %v, not 1 to 4", checkpoint.lost)
	}
	w.Others[0].Bytes++
	checkpoint.lost = nil
	testcheck.Must(t, r.KeepWritten(t.Context(), []Table{{Out: Output{FS: fsys, Dir: "/job"}}}))
	if !slices.Equal(checkpoint.lost, []int{0, 1, 2, 3, 4}) {
		t.Errorf("lost are the regions %v, not all: a file of another family is not what it was", checkpoint.lost)
	}
}
