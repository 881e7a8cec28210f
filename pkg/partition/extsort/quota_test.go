package extsort

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLimit checks after each run that the disk never holds more than the
// limit, and that an error's bytes and rows match the disk's.
func TestLimit(t *testing.T) {
	rows := manyRows(40_000, 3, 0)
	var perRow float64 // of the first run
	sort := func(limit int64) (Stats, int64, error) {
		dir := t.TempDir()
		o := Options{Regions: 3, Workers: 1, Memory: MinMemory, Dir: dir, Duplicates: KeepAll, Keep: true, Limit: limit}
		var most int64
		o.OnSpill = func(rows, bytes int64) {
			if most = max(most, onDisk(t, dir)); perRow == 0 {
				perRow = float64(bytes) / float64(rows)
			}
		}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w, err := s.Writer()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			dst, err := w.Add(r.region, r.seq, r.key, len(r.payload))
			if err != nil {
				return s.Stats(), max(most, onDisk(t, dir)), err
			}
			copy(dst, r.payload)
		}
		err = s.Finish()
		return s.Stats(), max(most, onDisk(t, dir)), err
	}
	all, most, err := sort(0)
	if err != nil || all.Runs < 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	const indexes = 4 << 10 // the index of a run does not count
	for _, limit := range []int64{1, most / 10, most / 2, most - most/50, most, 2 * most} {
		_, used, err := sort(limit)
		if used > limit+indexes {
			t.Errorf("limit %d: %d bytes were on disk", limit, used)
		}
		e, ok := errors.AsType[*LimitError](err)
		if ok != (limit < most-indexes) {
			t.Errorf("limit %d of %d: %v", limit, most, err)
		}
		if ok && e.Need == 0 && e.Rows > 0 {
			if got := float64(e.Bytes) / float64(e.Rows); got < perRow*0.9 || got > perRow*1.1 || e.Raw < e.Bytes {
				t.Errorf("limit %d: %.0f bytes a row, %.0f are usual", limit, got, perRow)
			}
		}
		if ok && (e.Need > 0) && e.Need <= limit {
			t.Errorf("limit %d: a merge that failed needs %d", limit, e.Need)
		}
	}
}

func onDisk(t *testing.T, dir string) (n int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}
