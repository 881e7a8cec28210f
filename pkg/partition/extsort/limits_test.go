package extsort

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// newLimited returns a sort of two regions with one writer.
func newLimited(t *testing.T) (*Sorter, *Writer) {
	t.Helper()
	s, err := New(Options{Regions: 2, Memory: MinMemory, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Writer()
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// TestLongKeys checks that a key whose length does not fit in a record is refused.
func TestLongKeys(t *testing.T) {
	s, w := newLimited(t)
	defer s.Close()
	long := bytes.Repeat([]byte("k"), math.MaxUint16+1)
	if _, err := w.Add(0, 1, long, 2); !errors.Is(err, ErrKey) {
		t.Errorf("a key of %d bytes: %v", len(long), err)
	}
	if _, err := w.Add(0, 1, long[1:], 2); err != nil {
		t.Error(err)
	}
	if _, err := w.AddShared(1, 1, long); !errors.Is(err, ErrKey) {
		t.Errorf("a key of %d bytes that shares a payload: %v", len(long), err)
	}
	if ok, err := w.AddShared(1, 1, long[1:]); !ok || err != nil {
		t.Error(ok, err)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	for region := range 2 {
		m, err := s.Region(region)
		if err != nil {
			t.Fatal(err)
		}
		if !m.Next() || len(m.Key()) != math.MaxUint16 || len(m.Payload()) != 2 || m.Next() || m.Err() != nil {
			t.Errorf("region %d: %v", region, m.Err())
		}
	}
}

// TestAddAfterFinish checks that a finished sort takes no rows, whether or not it has spilled.
func TestAddAfterFinish(t *testing.T) {
	for _, spills := range []bool{false, true} {
		s, w := newLimited(t)
		defer s.Close()
		if _, err := w.Add(0, 1, []byte("m"), 0); err != nil {
			t.Fatal(err)
		}
		if spills {
			if err := w.Spill(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Add(1, 2, []byte("a"), 0); err == nil {
			t.Errorf("spilled %v: a row was added after Finish", spills)
		}
		if ok, err := w.AddShared(1, 1, []byte("a")); ok {
			t.Errorf("spilled %v: a row was added after Finish: %v", spills, err)
		}
		if _, err := s.Writer(); err == nil {
			t.Errorf("spilled %v: a writer after Finish", spills)
		}
	}
}

// TestRegionsThatAreNotThere checks that reading a region that does not exist, or a closed sort, is an error instead of a region without rows.
func TestRegionsThatAreNotThere(t *testing.T) {
	s, w := newLimited(t)
	if _, err := w.Add(0, 1, []byte("m"), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	for _, region := range []int{-1, 2, 99} {
		if _, err := s.Region(region); err == nil {
			t.Errorf("region %d was read", region)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Region(0); err == nil {
		t.Error("a closed sort was read")
	}
	if _, err := w.Add(0, 2, []byte("n"), 0); err == nil {
		t.Error("a row was added to a closed sort")
	}
	if _, err := s.Writer(); err == nil {
		t.Error("a writer of a closed sort")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestNegativeLengths checks that every negative length means that there is no cell.
func TestNegativeLengths(t *testing.T) {
	lengths := []int{-5, 2, math.MinInt, -1}
	p := make([]byte, PayloadSize(lengths))
	Fill(p, lengths, []byte("ab"), []uint32{0, 0, 0, 0})
	got := make([][]byte, len(lengths))
	if err := Values(p, got); err != nil || got[0] != nil || string(got[1]) != "ab" || got[2] != nil || got[3] != nil {
		t.Errorf("%q: %q, %v", p, got, err)
	}
}

// TestCraftedLengths checks that lengths whose sum overflows are an error, as they are for Lengths.
func TestCraftedLengths(t *testing.T) {
	p := append(bytes.Repeat([]byte{0xff}, 9), 1, 4, 1)
	if err := Values(p, make([][]byte, 2)); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestRowsThatCannotBe checks that a row of a region that does not exist, a payload below 0 and a list that does not exist are errors, and that
// a budget that New refuses has a forecast.
func TestRowsThatCannotBe(t *testing.T) {
	s, w := newLimited(t)
	defer s.Close()
	if _, err := w.Add(0, 1, []byte("k"), 1); err != nil {
		t.Fatal(err)
	}
	for _, region := range []int{-1, 2} {
		if _, err := w.Add(region, 2, []byte("k"), 1); err == nil {
			t.Errorf("a row of region %d was added", region)
		}
		if _, err := w.AddShared(region, 1, []byte("k")); err == nil {
			t.Errorf("a row of region %d that shares a payload was added", region)
		}
	}
	for _, payload := range []int{-1, math.MinInt} {
		if _, err := w.Add(0, 2, []byte("k"), payload); err == nil {
			t.Errorf("a payload of %d bytes was added", payload)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Displaced(0); err == nil {
		t.Error("a list of a sort without lists")
	}
	if f := (Options{Memory: 1, Workers: 4}).Forecast(10, 10); !f.Spills {
		t.Errorf("%+v", f)
	}
}
