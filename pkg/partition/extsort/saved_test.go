package extsort

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestReopen sorts with kept runs, abandons the sort, and merges the runs on disk,
// with another number of workers and so little memory that runs must be merged first.
func TestReopen(t *testing.T) {
	const regions = 7
	rows := manyRows(60_000, regions, 3)
	want, wantDups := plain(rows, KeepFirst)
	dir := t.TempDir()
	s, err := New(Options{Regions: regions, Workers: 2, Memory: 2 * MinMemory, Dir: dir, Duplicates: KeepFirst, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 2, 100, rows)
	saved, err := s.Saved()
	if err != nil || len(saved) < 2 {
		t.Fatalf("saved %v %v", saved, err)
	}
	stats := s.Stats()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(saved) {
		t.Fatalf("%d files for %d runs: %v", len(files), len(saved), err)
	}
	o := Options{Regions: regions, Workers: 1, Memory: MinMemory, Dir: dir, Duplicates: KeepFirst}
	again, err := Reopen(o, saved)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, dups := drain(t, again, regions)
	if err := equalRows(got, want); err != nil || dups != wantDups || again.Stats().Rows != stats.Rows {
		t.Errorf("%v, %d duplicates, want %d; %+v, was %+v", err, dups, wantDups, again.Stats(), stats)
	}
	// Merged runs are deleted, and the remaining ones can be reopened again.
	saved, err = again.Saved()
	if err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != len(saved) {
		t.Fatalf("%d files for %d runs: %v", len(files), len(saved), err)
	}
	third, err := Reopen(o, saved)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if got, _ := drain(t, third, regions); equalRows(got, want) != nil {
		t.Error(equalRows(got, want))
	}
}

// TestReopenDamaged checks that every changed byte is detected: when the run is
// opened, or when it is merged.
func TestReopenDamaged(t *testing.T) {
	const regions = 3
	dir := t.TempDir()
	o := Options{Regions: regions, Workers: 1, Memory: MinMemory, Dir: dir, Duplicates: KeepLast, Keep: true}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 1, 1, manyRows(20_000, regions, 2))
	saved, err := s.Saved()
	if err != nil || len(saved) == 0 {
		t.Fatalf("saved %v %v", saved, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		s, err := Reopen(o, saved)
		if err != nil {
			return err
		}
		defer s.Close()
		for region := range regions {
			m, err := s.Region(region)
			if err != nil {
				return err
			}
			for m.Next() {
			}
			m.Close()
			if err := m.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, saved[0].Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		at := random.IntN(len(whole))
		if i < 40 {
			at = len(whole) - 1 - i // index and footer
		}
		broken := append([]byte(nil), whole...)
		broken[at] ^= 1 << random.IntN(8)
		write(broken)
		if err := read(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d of %d is another: %v", at, len(whole), err)
		}
	}
	write(whole[:len(whole)/2])
	if err := read(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("cut off: %v", err)
	}
	write(make([]byte, len(whole)))
	if err := read(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("zeros: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := read(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("gone: %v", err)
	}
	write(whole)
	saved[0].Name = "../" + filepath.Base(dir) + "/" + saved[0].Name
	if err := read(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a name with a path: %v", err)
	}
}

// FuzzRunIndex parses arbitrary indexes: parseIndex must not panic, and must
// refuse an index with blocks outside the run.
func FuzzRunIndex(f *testing.F) {
	r := &run{maxBlock: 9}
	r.sections.set([]section{{end: 5, rows: 1, raw: 7}, {off: 5, end: 5}})
	good := r.index(r.sections.held)
	f.Add(good[:len(good)-runFooter], int64(5))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, int64(1)<<40)
	f.Fuzz(func(t *testing.T, b []byte, blocks int64) {
		r := &run{}
		if blocks < 0 {
			return
		}
		var err error
		if r.sections.held, err = r.parseIndex(b, blocks); err != nil {
			return
		}
		at := int64(0)
		for _, s := range r.sections.all(t, r) {
			if s.off != at || s.end < s.off || s.rows < 0 || s.raw < 0 {
				t.Fatalf("%+v", r.sections)
			}
			at = s.end
		}
		if at != blocks {
			t.Fatalf("blocks end at %d of %d", at, blocks)
		}
	})
}
