package extsort

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// all returns the sections of a run.
func (s *sections) all(t rapid.TB, r *run) (list []section) {
	var find lookup
	for region := range s.regions {
		x, err := find.section(r, region)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// set changes the sections of a run.
func (s *sections) set(list []section) {
	*s = sections{held: []byte{}}
	for _, x := range list {
		s.next(s.held, x)
		s.held = appendSection(s.held, x)
	}
	s.seal(s.held)
}

// plainIndex returns the index of a run as it is in files of earlier versions.
func plainIndex(list []section, maxBlock int) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	b = binary.AppendUvarint(b, uint64(maxBlock))
	for _, s := range list {
		for _, v := range []int64{s.end - s.off, s.rows, s.raw} {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	n := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))
	return append(b, "BLRUN 1\n"...)
}

// TestSectionsEqualPlainTable writes a run, and compares its sections with a plain table: read one after the other and in any order, in memory and in the
// file, as they were written and after the run is opened again. The file of a kept run has the bytes of earlier versions.
func TestSectionsEqualPlainTable(t *testing.T) {
	dir := t.TempDir()
	testcheck.Check(t, func(t *rapid.T) {
		regions := rapid.IntRange(1, 300).Draw(t, "regions")
		s, err := New(Options{Regions: regions, Memory: MinMemory, Dir: dir, Keep: rapid.Bool().Draw(t, "keep")})
		must(t, err)
		if rapid.Bool().Draw(t, "in the file") {
			s.held = s.options.Memory
		}
		w, err := s.newRunWriter()
		must(t, err)
		defer func() { must(t, w.run.remove()) }()
		plain, at := make([]section, regions), 0
		seek := func(region int) {
			must(t, w.flush())
			for ; at < region; at++ {
				plain[at].end = w.run.size
				plain[at+1].off = w.run.size
			}
		}
		for _, region := range slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(0, regions-1), 0, 100).Draw(t, "rows"))) {
			seek(region)
			record := make([]byte, rapid.SampledFrom([]int{recordHeader, 40, 200, runBlock}).Draw(t, "length"))
			must(t, w.add(region, record[:recordHeader], record[recordHeader:]))
			plain[region].rows++
			plain[region].raw += int64(len(record))
		}
		seek(regions - 1)
		plain[at].end = w.run.size
		r, err := w.finish()
		must(t, err)
		compare := func(r *run) {
			if got := r.sections.all(t, r); !slices.Equal(got, plain) {
				t.Fatalf("sections are %v, want %v", got, plain)
			}
			for region, x := range plain {
				if r.sections.has(region) != (x.rows > 0) {
					t.Fatalf("region %d has rows: %t, want %d", region, r.sections.has(region), x.rows)
				}
			}
			var find lookup
			for range 20 {
				region := rapid.IntRange(0, regions-1).Draw(t, "region")
				if got, err := find.section(r, region); err != nil || got != plain[region] {
					t.Fatalf("section %d is %v, want %v (%v)", region, got, plain[region], err)
				}
			}
		}
		compare(r)
		if !r.kept {
			return
		}
		b, err := os.ReadFile(r.f.Name())
		must(t, err)
		if !bytes.Equal(b[r.size:], plainIndex(plain, r.maxBlock)) {
			t.Fatalf("another index: %x", b[r.size:])
		}
		s.saved = make([]added, regions)
		again, err := s.openRun(r.f.Name(), int64(len(b)))
		must(t, err)
		defer func() { must(t, again.close()) }()
		compare(again)
		for region, x := range plain {
			if rows, size := s.Size(region); rows != x.rows || size != x.raw {
				t.Fatalf("region %d has %d rows of %d bytes, want %+v", region, rows, size, x)
			}
		}
	})
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// TestSortOfManyRegions compares a sort of many regions whose sections are in memory, in files and in both with a plain sort, before and after it is opened again.
func TestSortOfManyRegions(t *testing.T) {
	const regions = 200
	for _, held := range []int64{0, MinMemory/heldShare - 3000, MinMemory} {
		rows := manyRows(20_000, 10, 40)
		for i := range rows {
			rows[i].region = int(rows[i].key[1])%20*10 + int(rows[i].key[2]%10)
		}
		o := Options{Regions: regions, Memory: MinMemory, Dir: t.TempDir(), Duplicates: KeepFirst, Keep: true}
		s, err := New(o)
		testcheck.Must(t, err)
		s.held = held
		fill(t, s, 1, 1, rows)
		saved, err := s.Saved()
		testcheck.Must(t, err)
		want, _ := plain(rows, KeepFirst)
		for i := range 2 {
			if i == 1 {
				s, err = Reopen(o, saved)
				testcheck.Must(t, err)
			}
			got, _ := drain(t, s, regions)
			if err := equalRows(got, want); err != nil || s.Stats().Rows != int64(len(rows)) || i == 0 && s.Stats().Runs < 4 {
				t.Errorf("held %d: %v, %+v", held, err, s.Stats())
			}
			testcheck.Must(t, s.Close())
		}
	}
}

// TestDamagedSections checks that a change in an index in a file is detected, and one in memory that cannot be read.
func TestDamagedSections(t *testing.T) {
	s, err := New(Options{Regions: 60, Memory: MinMemory, Dir: t.TempDir(), Duplicates: KeepFirst})
	testcheck.Must(t, err)
	s.held = MinMemory
	rows := manyRows(8000, 2, 0)
	for i := range rows {
		rows[i].region *= 59
	}
	fill(t, s, 1, 1, rows)
	defer s.Close()
	r := s.runs[0]
	for i := range r.sections.length {
		at := []byte{0}
		_, err := r.f.ReadAt(at, r.sections.at+int64(i))
		testcheck.Must(t, err)
		_, err = r.f.WriteAt([]byte{at[0] ^ 1}, r.sections.at+int64(i))
		testcheck.Must(t, err)
		_, first := s.Region(0)
		_, last := s.Region(59)
		if damaged := errors.Join(first, last); !errors.Is(damaged, ErrCorrupt) {
			t.Fatalf("byte %d: %v", i, damaged)
		}
		_, err = r.f.WriteAt(at, r.sections.at+int64(i))
		testcheck.Must(t, err)
	}
	r.sections.held = bytes.Repeat([]byte{0xff}, r.sections.length)
	if _, err := s.Region(0); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	testcheck.Must(t, r.f.Truncate(r.sections.at))
	r.sections.held = nil
	if _, err := s.Region(0); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// TestMemoryOfManyRegions checks that a run takes little memory, however many regions there are.
func TestMemoryOfManyRegions(t *testing.T) {
	const regions, rows, most = 100_000, 500_000, 16 << 20
	s, err := New(Options{Regions: regions, Memory: MinMemory, Dir: t.TempDir()})
	testcheck.Must(t, err)
	w, err := s.Writer()
	testcheck.Must(t, err)
	before := testcheck.Heap()
	key := make([]byte, 8)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(rows) {
		region := random.IntN(regions)
		binary.BigEndian.PutUint64(key, i)
		_, err := w.Add(region, i+1, key, 10)
		testcheck.Must(t, err)
	}
	if n := testcheck.Heap() - before; len(s.runs) < 20 || n > most {
		t.Errorf("%d runs take %d bytes of memory, at most %d are allowed", len(s.runs), n, most)
	}
	testcheck.Must(t, s.Close())
}
