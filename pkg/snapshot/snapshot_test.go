package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
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
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// field appends a field with bytes, a string or a number to a message.
func field(b []byte, number protowire.Number, v any) []byte {
	switch v := v.(type) {
	case []byte:
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
	case string:
		return field(b, number, []byte(v))
	case int:
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
	}
	panic(fmt.Sprintf("%T", v))
}

// lab is a table of files on a file system in memory, as HBase would have made it.
type lab struct {
	t       testing.TB
	fs      *hdfsio.Memory
	schema  *pb.TableSchema
	regions [][]byte // SnapshotRegionManifests
	info    []byte   // SnapshotDescription
	cells   []*aged
}

const labTable = "n:t.x"

func newLab(t testing.TB, families ...string) *lab {
	l := &lab{t: t, fs: hdfsio.NewMemory(), schema: &pb.TableSchema{TableName: &pb.TableName{Namespace: []byte("n"), Qualifier: []byte("t.x")}}}
	for _, f := range families {
		l.schema.ColumnFamilies = append(l.schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f),
			Attributes: []*pb.BytesBytesPair{{First: []byte("VERSIONS"), Second: []byte("3")}, {First: []byte("TTL"), Second: []byte("2147483647")}}})
	}
	l.info = field(field(field(field(nil, 1, "s"), 2, labTable), 3, 1000), 5, 2)
	return l
}

func (l *lab) write(name string, b []byte) {
	l.t.Helper()
	ctx := l.t.Context()
	testcheck.Must(l.t, l.fs.MkdirAll(ctx, path.Dir(name), 0o755))
	out, err := l.fs.Create(ctx, name, hdfsio.CreateOptions{})
	testcheck.Must(l.t, err)
	_, err = out.Write(b)
	testcheck.Must(l.t, err)
	testcheck.Must(l.t, out.Finish())
}

// file writes an HFile of one family's cells and gives its size.
func (l *lab) file(name string, o hfile.Options, cells []*aged) int {
	l.t.Helper()
	slices.SortStableFunc(cells, compareAged)
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, o)
	testcheck.Must(l.t, err)
	for _, c := range cells {
		testcheck.Must(l.t, w.Append(&c.Cell))
	}
	_, err = w.Finish()
	testcheck.Must(l.t, err)
	l.write(name, b.Bytes())
	return b.Len()
}

// labFile is an entry of a region's manifest.
type labFile struct {
	family, name string
	size         int
	cut          string // of a half
	top          bool
}

func (f labFile) message() []byte {
	b := field(nil, 1, f.name)
	if f.cut != "" {
		key := append([]byte{0, byte(len(f.cut))}, f.cut...)
		key = append(key, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		r := 1
		if f.top {
			r = 0
		}
		b = field(b, 2, field(field(nil, 1, key), 2, r))
	}
	return field(b, 3, f.size)
}

// region adds a region to the manifest.
func (l *lab) region(start, end string, offline bool, files ...labFile) {
	info, err := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(7), TableName: l.schema.TableName,
		StartKey: []byte(start), EndKey: []byte(end), Offline: &offline, Split: &offline})
	testcheck.Must(l.t, err)
	b := field(field(nil, 1, 0), 2, info)
	for _, f := range files {
		b = field(b, 3, field(field(nil, 1, f.family), 2, f.message()))
	}
	l.regions = append(l.regions, b)
}

func encoded(start string) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s,%s,7", labTable, start))
	return hex.EncodeToString(sum[:])
}

// save writes the manifest in one file, or in one for each region.
func (l *lab) save(together bool) {
	schema, err := proto.Marshal(l.schema)
	testcheck.Must(l.t, err)
	const dir = "/hbase/.hbase-snapshot/s"
	l.write(dir+"/.snapshotinfo", l.info)
	if together {
		b := field(nil, 1, schema)
		for _, r := range l.regions {
			b = field(b, 2, r)
		}
		l.write(dir+"/data.manifest", b)
		return
	}
	l.write(dir+"/.tabledesc/.tableinfo.0000000001", []byte("PBUF"))
	l.write(dir+"/.tabledesc/.tableinfo.0000000002", append([]byte("PBUF"), schema...))
	for i, r := range l.regions {
		l.write(fmt.Sprintf("%s/region-manifest.%d", dir, i), r)
	}
}

func (l *lab) open() (*Snapshot, error) { return Open(l.t.Context(), l.fs, "/hbase", "s") }

// family makes cells of a family for rows a to z, with the ids of bulk-loaded files.
func (l *lab) family(family, rank, sequence int) []*aged {
	var cells []*aged
	for row := 'a'; row <= 'z'; row++ {
		for i := range 3 {
			c := &aged{family: family, sequence: int64(sequence), rank: rank}
			c.Row, c.Family, c.Qualifier = []byte(string(row)), []byte{'f' + byte(family)}, []byte{'q', byte(i)}
			c.Timestamp = int64(900_000 + (int(row)+i*rank)%3)
			c.Type = []hfile.Type{hfile.Put, hfile.Put, hfile.DeleteColumn, hfile.Put, hfile.Delete}[(int(row)*7+i+rank*3)%5]
			c.Value = fmt.Appendf(nil, "%d %d %c %d", family, rank, row, i)
			cells = append(cells, c)
		}
	}
	l.cells = append(l.cells, cells...)
	return cells
}

// within are the cells with rows of a range.
func within(cells []*aged, start, end string) []*aged {
	return slices.DeleteFunc(slices.Clone(cells), func(c *aged) bool {
		return string(c.Row) < start || end != "" && string(c.Row) >= end
	})
}

// splitLab is a table whose first region was split at g, from a to m; with halves of a file and of a link, a link to
// another table, files in the archive, each encoding, and equal cells that sequence ids decide.
func splitLab(t testing.TB) *lab {
	l := newLab(t, "f", "g")
	parent, last := encoded("-"), encoded("m")
	data, archive := "/hbase/data/n/t.x/", "/hbase/archive/data/n/t.x/"
	file := func(name string, e hfile.Encoding, c hfile.Compression, cells []*aged) int {
		return l.file(name, hfile.Options{Encoding: e, Compression: c, BlockSize: 200}, cells)
	}
	f2, f9, g5, g6 := l.family(0, 0, 2), l.family(0, 1, 9), l.family(1, 0, 5), l.family(1, 1, 6)
	a := file(data+parent+"/f/ab_SeqId_2_", hfile.EncodingFastDiff, hfile.CompressionSnappy, within(f2, "", "m"))
	b := file(archive+parent+"/f/0c_SeqId_9_", hfile.EncodingDiff, hfile.CompressionGZ, within(f9, "", "m"))
	c := file("/hbase/archive/data/default/o/1234/g/ff_SeqId_5_", hfile.EncodingPrefix, hfile.CompressionNone, within(g5, "", "m"))
	d := file(data+last+"/f/ab_SeqId_2_", hfile.EncodingRowIndexV1, hfile.CompressionLZ4, within(f2, "m", ""))
	e := file(data+last+"/f/01_SeqId_9_", hfile.EncodingNone, hfile.CompressionZSTD, within(f9, "m", ""))
	f := file("/hbase/data/p/q.r/1234/g/ee_SeqId_5_", hfile.EncodingNone, hfile.CompressionNone, within(g5, "m", ""))
	g := file(archive+last+"/g/ee_SeqId_6_", hfile.EncodingFastDiff, hfile.CompressionNone, within(g6, "m", ""))
	h := file("/hbase/.tmp/data/n/t.x/"+encoded("")+"/g/dd_SeqId_6_", hfile.EncodingNone, hfile.CompressionNone, within(g6, "", "g"))
	i := file("/hbase/data/n/t.x/"+parent+"/g/dd_SeqId_6_", hfile.EncodingNone, hfile.CompressionNone, within(g6, "g", "m"))
	l.region("", "m", true, labFile{family: "f", name: "ab_SeqId_2_", size: a})
	l.region("m", "", false, labFile{family: "f", name: "ab_SeqId_2_", size: d}, labFile{family: "f", name: "01_SeqId_9_", size: e},
		labFile{family: "g", name: "p=q.r=1234-ee_SeqId_5_", size: f}, labFile{family: "g", name: "ee_SeqId_6_", size: g})
	l.region("", "g", false, labFile{"f", "ab_SeqId_2_." + parent, a, "g", false}, labFile{"f", "0c_SeqId_9_." + parent, b, "g", false},
		labFile{"g", "o=1234-ff_SeqId_5_." + parent, c, "g", false}, labFile{family: "g", name: "dd_SeqId_6_", size: h})
	l.region("g", "m", false, labFile{"f", "ab_SeqId_2_." + parent, a, "g", true}, labFile{"f", "0c_SeqId_9_." + parent, b, "g", true},
		labFile{"g", "o=1234-ff_SeqId_5_." + parent, c, "g", true}, labFile{family: "g", name: "n=t.x=" + parent + "-dd_SeqId_6_", size: i})
	return l
}

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
	for _, together := range []bool{true, false} {
		l := splitLab(t)
		l.save(together)
		s, err := l.open()
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

// TestFilesMove: files go to the archive before a scan opens them, and are back in data; one that is nowhere is named.
func TestFilesMove(t *testing.T) {
	l := splitLab(t)
	l.save(true)
	s, err := l.open()
	testcheck.Must(t, err)
	want := scanLines(t, s, View{})
	last := encoded("m")
	from, to := "/hbase/data/n/t.x/"+last+"/f", "/hbase/archive/data/n/t.x/"+last+"/f"
	testcheck.Must(t, l.fs.MkdirAll(t.Context(), path.Dir(to), 0o755))
	testcheck.Must(t, l.fs.Rename(t.Context(), from, to))
	if got := scanLines(t, s, View{}); !slices.Equal(got, want) {
		t.Errorf("%d cells, not %d", len(got), len(want))
	}
	testcheck.Must(t, l.fs.RemoveAll(t.Context(), to))
	_, err = s.Scan(t.Context(), 2, View{})
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), to+"/ab_SeqId_2_") {
		t.Error(err)
	}
}

// TestRefused names what is not read, and what no HBase writes.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lab)
		want   error
		says   string
	}{
		"version 1":        {func(l *lab) { l.info = field(l.info, 5, 0) }, ErrUnsupported, "version 0"},
		"expired":          {func(l *lab) { l.info = field(l.info, 8, 60) }, ErrUnsupported, "lifetime of 60 s"},
		"no table":         {func(l *lab) { l.info = field(l.info, 2, "../x") }, ErrDamaged, "names no table"},
		"cut off":          {func(l *lab) { l.info = l.info[:len(l.info)-1] }, ErrDamaged, ".snapshotinfo"},
		"new versions":     {attribute("NEW_VERSION_BEHAVIOR", "TRUE"), ErrUnsupported, "family f: NEW_VERSION_BEHAVIOR"},
		"mob":              {attribute("IS_MOB", "true"), ErrUnsupported, "IS_MOB"},
		"encrypted":        {attribute("ENCRYPTION", "AES"), ErrUnsupported, "encrypted"},
		"versions":         {attribute("VERSIONS", "many"), ErrDamaged, "VERSIONS"},
		"a family's name":  {func(l *lab) { l.schema.ColumnFamilies[0].Name = []byte("../f") }, ErrDamaged, "illegal name"},
		"no family":        {func(l *lab) { l.schema.ColumnFamilies = nil }, ErrDamaged, "no family"},
		"an unknown store": {func(l *lab) { l.schema.ColumnFamilies = l.schema.ColumnFamilies[1:] }, ErrDamaged, "that the table lacks"},
		"a hole":           {func(l *lab) { l.regions = slices.Delete(l.regions, 3, 4) }, ErrDamaged, "where the one before ends"},
		"no end":           {func(l *lab) { l.regions = slices.Delete(l.regions, 1, 2) }, ErrDamaged, "rows without a region"},
		"twice":            {func(l *lab) { l.regions = append(l.regions, l.regions[2]) }, ErrDamaged, "where the one before ends"},
		"a lying length":   {func(l *lab) { l.regions[2] = append(l.regions[2], 3<<3|2, 0xff, 0xff, 0xff, 0x7f) }, ErrDamaged, "region's manifest"},
	} {
		l := splitLab(t)
		c.change(l)
		l.save(true)
		if _, err := l.open(); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
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
		f := l.schema.ColumnFamilies[0]
		f.Attributes = append(f.Attributes, &pb.BytesBytesPair{First: []byte(key), Second: []byte(value)})
	}
}

// TestFilesThatLie: names, sizes, rows and families that a region's files cannot have.
func TestFilesThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		file labFile
		says string
	}{
		"a path":       {labFile{family: "f", name: "../../ab"}, "a file's name"},
		"no hex":       {labFile{family: "f", name: "xyz"}, "a file's name"},
		"no parent":    {labFile{family: "f", name: "ab", cut: "g"}, "without a parent"},
		"a parent":     {labFile{family: "f", name: "ab./..", cut: "g"}, "a file's name"},
		"a link":       {labFile{family: "f", name: "..=..=12-ab"}, "a file's name"},
		"a size":       {labFile{family: "f", name: "ab", size: 5}, "the manifest says 5"},
		"rows":         {labFile{family: "f", name: "ab"}, "outside the region"},
		"other family": {labFile{family: "g", name: "ab"}, "another family"},
	} {
		l := newLab(t, "f", "g")
		for _, family := range []string{"f", "g"} {
			l.file("/hbase/data/n/t.x/"+encoded("")+"/"+family+"/ab", hfile.Options{}, l.family(0, 0, 1))
		}
		l.region("", "c", false, c.file)
		l.region("c", "", false)
		l.save(true)
		s, err := l.open()
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

// TestAges are sequence ids as HStoreFile.open has them.
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

// TestScanAllocations: nothing is allocated for a cell.
func TestScanAllocations(t *testing.T) {
	l := newLab(t, "f")
	var cells []*aged
	for i := range 20_000 {
		c := &aged{}
		c.Row, c.Family, c.Qualifier, c.Type, c.Timestamp = fmt.Appendf(nil, "%06d", i/4), []byte("f"), []byte{'q', byte(i % 4)}, hfile.Put, 900_000
		c.Tags = ttlTag(1 << 40)
		cells = append(cells, c)
	}
	var files []labFile
	for _, name := range []string{"a_SeqId_1_", "b_SeqId_2_", "c_SeqId_3_"} {
		size := l.file("/hbase/data/n/t.x/"+encoded("")+"/f/"+name, hfile.Options{Encoding: hfile.EncodingFastDiff}, cells)
		files = append(files, labFile{family: "f", name: name, size: size})
	}
	l.region("", "", false, files...)
	l.save(true)
	s, err := l.open()
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

// FuzzManifest: no manifest is read without an end, or makes a panic.
func FuzzManifest(f *testing.F) {
	l := splitLab(f)
	l.save(true)
	schema, err := proto.Marshal(l.schema)
	testcheck.Must(f, err)
	b := field(nil, 1, schema)
	for _, r := range l.regions {
		b = field(b, 2, r)
	}
	f.Add(b)
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

// TestParts reads regions, halves of files among them, in parts, of which each row is in one.
func TestParts(t *testing.T) {
	l := splitLab(t)
	l.save(true)
	s, err := l.open()
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
