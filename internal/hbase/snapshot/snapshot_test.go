package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

func lines(cells []*aged) (all []string) {
	for _, c := range cells {
		all = append(all, lineOf(&c.Cell))
	}
	return all
}

func lineOf(c *hfile.Cell) string {
	return fmt.Sprintf("%s %s:%s %d %s %s", c.Row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value)
}

// scanLines scans all regions in order.
func scanLines(t testing.TB, s *Snapshot, v View) (all []string) {
	t.Helper()
	v.Now = time.UnixMilli(testNow)
	testcheck.Must(t, s.Each(t.Context(), 1, v, func(_ context.Context, _ int, sc *Scan) error {
		for sc.Next() {
			all = append(all, lineOf(sc.Cell()))
		}
		return nil
	}))
	return all
}

// TestSplitTable reads halves, links and archived files of every encoding, with the manifest in one piece and in several.
func TestSplitTable(t *testing.T) {
	families := []Family{{Name: "f", Versions: 3, TTL: math.MaxInt64, BlockSize: 64 << 10}, {Name: "g", Versions: 3, TTL: math.MaxInt64, BlockSize: 64 << 10}}
	for _, apart := range []bool{false, true} {
		l := splitLab(t)
		l.Apart = apart
		s, err := l.save()
		testcheck.Must(t, err)
		if s.Table != labTable || len(s.Regions) != 3 || !slices.Equal(s.Families, families) || s.Created != time.UnixMilli(1000) || !s.Expires.IsZero() {
			t.Fatalf("%+v", s)
		}
		for _, v := range []View{{}, {Versions: 1}, {Versions: 2}, {Raw: true}} {
			want := lines(plainScan(l.cells, families, v))
			if got := scanLines(t, s, v); len(want) < 50 || !slices.Equal(got, want) {
				t.Errorf("%+v: %d cells, not %d:\n%s\n%s", v, len(got), len(want), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		var of []*aged
		for _, c := range l.cells {
			if c.family == 1 {
				of = append(of, c)
			}
		}
		if got, want := scanLines(t, s, View{Families: []string{"g"}}), lines(plainScan(of, families, View{})); !slices.Equal(got, want) {
			t.Errorf("one family: %d cells, not %d", len(got), len(want))
		}
		if _, err := s.Scan(t.Context(), 0, View{Families: []string{"none"}}); err == nil {
			t.Error("a family that is not there is read")
		}
	}
}

// TestFilesMove moves files to the archive before a scan opens them, and back; it checks that an error names a file that is missing everywhere.
func TestFilesMove(t *testing.T) {
	l := splitLab(t)
	s, err := l.save()
	testcheck.Must(t, err)
	want := scanLines(t, s, View{})
	last := l.Encoded("m")
	from, to := "/hbase/data/n/t.x/"+last+"/f", "/hbase/archive/data/n/t.x/"+last+"/f"
	testcheck.Must(t, l.FS.MkdirAll(t.Context(), path.Dir(to), 0o755))
	testcheck.Must(t, l.FS.Rename(t.Context(), from, to))
	if got := scanLines(t, s, View{}); !slices.Equal(got, want) {
		t.Errorf("%d cells, not %d", len(got), len(want))
	}
	testcheck.Must(t, l.FS.RemoveAll(t.Context(), to))
	_, err = s.Scan(t.Context(), 2, View{})
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), to+"/ab_SeqId_2_") {
		t.Error(err)
	}
}

// TestRefused checks the errors for unsupported features and for damaged manifests.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lab)
		want   error
		says   string
	}{
		"version 1":        {func(l *lab) { l.Tail = testsnapshot.Field(nil, 5, 0) }, ErrUnsupported, "version 0"},
		"expired":          {func(l *lab) { l.Tail = testsnapshot.Field(nil, 8, 60) }, ErrUnsupported, "lifetime of 60 s"},
		"no table":         {func(l *lab) { l.Tail = testsnapshot.Field(nil, 2, "../x") }, ErrDamaged, "names no table"},
		"cut off":          {func(l *lab) { l.Tail = []byte{5 << 3} }, ErrDamaged, ".snapshotinfo"},
		"new versions":     {attribute("NEW_VERSION_BEHAVIOR", "TRUE"), ErrUnsupported, "family f: NEW_VERSION_BEHAVIOR"},
		"mob":              {attribute("IS_MOB", "true"), ErrUnsupported, "IS_MOB"},
		"encrypted":        {attribute("ENCRYPTION", "AES"), ErrUnsupported, "encrypted"},
		"versions":         {attribute("VERSIONS", "many"), ErrDamaged, "VERSIONS"},
		"a family's name":  {func(l *lab) { l.Schema.ColumnFamilies[0].Name = []byte("../f") }, ErrDamaged, "illegal name"},
		"no family":        {func(l *lab) { l.Schema.ColumnFamilies = nil }, ErrDamaged, "no family"},
		"an unknown store": {func(l *lab) { l.Schema.ColumnFamilies = l.Schema.ColumnFamilies[1:] }, ErrDamaged, "that the table lacks"},
		"a hole":           {func(l *lab) { l.Regions = slices.Delete(l.Regions, 3, 4) }, ErrDamaged, "where the one before ends"},
		"no end":           {func(l *lab) { l.Regions = slices.Delete(l.Regions, 1, 2) }, ErrDamaged, "rows without a region"},
		"twice":            {func(l *lab) { l.Regions = append(l.Regions, l.Regions[2]) }, ErrDamaged, "where the one before ends"},
		"a lying length":   {func(l *lab) { l.Regions[2].Tail = []byte{3<<3 | 2, 0xff, 0xff, 0xff, 0x7f} }, ErrDamaged, "region's manifest"},
	} {
		l := splitLab(t)
		c.change(l)
		if _, err := l.save(); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), hdfsio.NewMemory(), "/hbase", "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(t.Context(), hdfsio.NewMemory(), "/hbase", "../x"); err == nil {
		t.Error("a name with a slash is taken")
	}
}

func attribute(key, value string) func(*lab) {
	return func(l *lab) {
		f := l.Schema.ColumnFamilies[0]
		f.Attributes = append(f.Attributes, &pb.BytesBytesPair{First: []byte(key), Second: []byte(value)})
	}
}

// TestFilesThatLie checks the errors for names, sizes, rows and families that a region's files cannot have.
func TestFilesThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		file testsnapshot.File
		says string
	}{
		"a path":       {wholeFile("f", "../../ab", 0), "a file's name"},
		"no hex":       {wholeFile("f", "xyz", 0), "a file's name"},
		"no parent":    {halfFile("f", "ab", 0, false), "without a parent"},
		"a parent":     {halfFile("f", "ab./..", 0, false), "a file's name"},
		"a link":       {wholeFile("f", "..=..=12-ab", 0), "a file's name"},
		"a size":       {wholeFile("f", "ab", 5), "the manifest says 5"},
		"rows":         {wholeFile("f", "ab", 0), "outside the region"},
		"other family": {wholeFile("g", "ab", 0), "another family"},
	} {
		l := newLab(t, "f", "g")
		for _, family := range []string{"f", "g"} {
			l.file("data/n/t.x/"+l.Encoded("")+"/"+family+"/ab", hfile.Options{}, l.family(0, 0, 1))
		}
		l.region("", "c", false, c.file)
		l.region("c", "", false)
		s, err := l.save()
		testcheck.Must(t, err)
		var sc *Scan
		if sc, err = s.Scan(t.Context(), 0, View{}); err == nil {
			for sc.Next() {
			}
			err = cmp.Or(sc.Err(), sc.Close())
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAges compares sequence ids with those of HStoreFile.open.
func TestAges(t *testing.T) {
	eight := func(n byte) []byte { return []byte{0, 0, 0, 0, 0, 0, 0, n} }
	for name, c := range map[string]struct {
		file   string
		info   map[string][]byte
		half   half
		id     int64
		loaded bool
	}{
		"flushed":         {"ab", map[string][]byte{"MAX_SEQ_ID_KEY": eight(7)}, whole, 7, false},
		"top":             {"ab.cd", map[string][]byte{"MAX_SEQ_ID_KEY": eight(7)}, top, 8, false},
		"bottom":          {"ab.cd", map[string][]byte{"MAX_SEQ_ID_KEY": eight(7)}, bottom, 7, false},
		"loaded":          {"ab_SeqId_12_", map[string][]byte{"BULKLOAD_TIMESTAMP": eight(1)}, whole, 12, true},
		"loaded link":     {"t=12-ab_SeqId_12_.cd", nil, top, 13, true},
		"without a name":  {"ab", map[string][]byte{"BULKLOAD_TIMESTAMP": eight(1)}, whole, -1, true},
		"ids of its own":  {"ab_SeqId_12_", map[string][]byte{"SKIP_RESET_SEQ_ID": {0xff}}, whole, 12, false},
		"nothing is said": {"ab", nil, top, -1, false},
	} {
		ids, err := agesOf(c.file, c.info, 1, c.half)
		if err != nil || ids.file != c.id || ids.loaded != c.loaded {
			t.Errorf("%s: %+v, %v", name, ids, err)
		}
	}
	if _, err := agesOf("ab", map[string][]byte{"MAX_SEQ_ID_KEY": {1}}, 1, whole); !errors.Is(err, hfile.ErrCorrupt) {
		t.Error(err)
	}
	old, newer := sequences{file: 1, size: 9, name: "b"}, sequences{file: 1, size: 8, name: "a"}
	if compareAge(&old, &newer) >= 0 {
		t.Error("of two files with the same id the larger is not the older")
	}
}

// TestScanAllocations checks that a scan does not allocate per cell.
func TestScanAllocations(t *testing.T) {
	l := newLab(t, "f")
	var cells []*aged
	for i := range 20_000 {
		c := &aged{}
		c.Row, c.Family, c.Qualifier, c.Type, c.Timestamp = fmt.Appendf(nil, "%06d", i/4), []byte("f"), []byte{'q', byte(i % 4)}, hfile.Put, 900_000
		c.Tags = ttlTag(1 << 40)
		cells = append(cells, c)
	}
	var files []testsnapshot.File
	for _, name := range []string{"a_SeqId_1_", "b_SeqId_2_", "c_SeqId_3_"} {
		size := l.file("data/n/t.x/"+l.Encoded("")+"/f/"+name, hfile.Options{Encoding: hfile.EncodingFastDiff}, cells)
		files = append(files, wholeFile("f", name, size))
	}
	l.region("", "", false, files...)
	s, err := l.save()
	testcheck.Must(t, err)
	allocations := testing.AllocsPerRun(1, func() {
		sc, err := s.Scan(t.Context(), 0, View{Now: time.UnixMilli(testNow)})
		testcheck.Must(t, err)
		defer sc.Close()
		for sc.Next() {
		}
		if st := sc.Stats(); sc.Err() != nil || st.Cells != 20_000 || st.Read != 60_000 {
			t.Errorf("%v, %+v", sc.Err(), st)
		}
	})
	if allocations > 2000 {
		t.Errorf("%.0f allocations for 60,000 cells", allocations)
	}
}

// TestScanEndsWithContext checks that a scan whose context has ended returns no more cells, and the cause as its error.
func TestScanEndsWithContext(t *testing.T) {
	s, err := splitLab(t).save()
	testcheck.Must(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	sc, err := s.Scan(ctx, 0, View{})
	testcheck.Must(t, err)
	defer sc.Close()
	why := errors.New("enough")
	cancel(why)
	if sc.Next() || sc.Err() != why {
		t.Errorf("another cell, or %v", sc.Err())
	}
}

// FuzzManifest checks that reading any manifest ends and does not panic.
func FuzzManifest(f *testing.F) {
	l := splitLab(f)
	f.Add(l.Manifest())
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Snapshot{Name: "s", Table: labTable, namespace: "n", qualifier: "t.x"}
		schema, err := s.dataManifest("data.manifest", b)
		if err == nil {
			s.Families, err = families(schema)
		}
		if err == nil {
			err = s.arrange()
		}
		if err != nil {
			return
		}
		for i := range s.Regions {
			for family, files := range s.Regions[i].stores {
				for j := range files {
					target, err := s.target(&s.Regions[i], &files[j])
					if err != nil {
						continue
					}
					for _, place := range target.places("/hbase", family) {
						if path.Clean(place) != place || !strings.HasPrefix(place, "/hbase/") {
							t.Errorf("a file is looked for at %q", place)
						}
					}
				}
			}
		}
	})
}

// TestParts reads regions, some with halves of files, in parts. Each row is in exactly one.
func TestParts(t *testing.T) {
	l := splitLab(t)
	s, err := l.save()
	testcheck.Must(t, err)
	cut := 0
	for _, v := range []View{{}, {Raw: true}, {Versions: 1, Families: []string{"g"}}} {
		for i := range s.Regions {
			want := regionLines(t, s, i, v)
			for n := 1; n < 9; n++ {
				cuts, err := s.Cuts(t.Context(), i, n)
				testcheck.Must(t, err)
				if len(cuts) >= n {
					t.Fatalf("%d cuts make %d parts", len(cuts), n)
				}
				cut += len(cuts)
				var got []string
				for k := range len(cuts) + 1 {
					part := v
					if k > 0 {
						part.Start = cuts[k-1]
					}
					if k < len(cuts) {
						part.Stop = cuts[k]
					}
					got = append(got, regionLines(t, s, i, part)...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%+v, region %d in %d parts at %q: %d cells, not %d", v, i, n, cuts, len(got), len(want))
				}
			}
		}
	}
	if cut < 20 {
		t.Errorf("%d cuts in all", cut)
	}
}

func regionLines(t *testing.T, s *Snapshot, i int, v View) (all []string) {
	t.Helper()
	v.Now = time.UnixMilli(testNow)
	sc, err := s.Scan(t.Context(), i, v)
	testcheck.Must(t, err)
	for sc.Next() {
		all = append(all, lineOf(sc.Cell()))
	}
	testcheck.Must(t, errors.Join(sc.Err(), sc.Close()))
	return all
}
