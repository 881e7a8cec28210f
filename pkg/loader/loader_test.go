package loader

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

func TestTableName(t *testing.T) {
	for in, want := range map[string]TableName{
		"t": {"default", "t"}, "ns:t": {"ns", "t"}, "default:t": {"default", "t"}, "n_1:a-b.c": {"n_1", "a-b.c"}, "表": {"default", "表"}, "é1:٣": {"é1", "٣"}, "a..b": {"default", "a..b"},
	} {
		got, err := ParseTableName(in)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
		if again, err := ParseTableName(got.String()); err != nil || again != got {
			t.Errorf("%q printed as %q", in, got)
		}
	}
	for _, in := range []string{"", ":", "ns:", ":t", "a:b:c", "-t", ".t", "n-s:t", "tab le", "t\x00", "\U00020000", "t\xff", "zookeeper", "ns:zookeeper", "zookeeper:t", "../t", "ns:../t", "a/b"} {
		if got, err := ParseTableName(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func regionsAt(splits ...string) []Region {
	var regions []Region
	start := ""
	for i, s := range append(splits, "") {
		regions = append(regions, Region{Encoded: fmt.Sprint(i), Name: fmt.Append(nil, i), Start: []byte(start), End: []byte(s), Server: "h:1"})
		start = s
	}
	return regions
}

func TestContiguous(t *testing.T) {
	table := TableName{"default", "t"}
	good := regionsAt("b", "d")
	if err := checkContiguous(table, good); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		drop       int
		change     func([]Region)
		end, start string
	}{
		"no first":    {drop: 0, end: "", start: "b"},
		"no middle":   {drop: 1, end: "b", start: "d"},
		"no last":     {drop: 2, end: "d", start: ""},
		"overlap":     {drop: -1, change: func(r []Region) { r[0].End = []byte("c") }, end: "c", start: "b"},
		"two endless": {drop: -1, change: func(r []Region) { r[1].End = nil }, end: "", start: "d"},
	} {
		regions := slices.Clone(good)
		if c.drop >= 0 {
			regions = slices.Delete(regions, c.drop, c.drop+1)
		} else {
			c.change(regions)
		}
		var hole *HoleError
		if err := checkContiguous(table, regions); !errors.As(err, &hole) || string(hole.End) != c.end || string(hole.Start) != c.start {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAssign checks that every file is assigned to the region that contains its rows, or that the whole list is rejected.
func TestAssign(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-e]{1,3}`)
		splits := rapid.SliceOfNDistinct(key, 0, 6, rapid.ID[string]).Draw(t, "splits")
		slices.Sort(splits)
		regions := regionsAt(splits...)
		var files []HFile
		misfit := false
		for i := range rapid.IntRange(0, 10).Draw(t, "files") {
			a, b := key.Draw(t, "a"), key.Draw(t, "b")
			f := HFile{Family: "f", Path: fmt.Sprint("/", i), First: []byte(min(a, b)), Last: []byte(max(a, b))}
			files = append(files, f)
			inside := slices.ContainsFunc(regions, func(r Region) bool { return r.Contains(f.First) && r.Contains(f.Last) })
			misfit = misfit || !inside
		}
		groups, err := assign(TableName{"default", "t"}, regions, files)
		if misfit {
			if _, ok := errors.AsType[*MisfitError](err); !ok {
				t.Fatalf("a file crosses a boundary: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, g := range groups {
			if i > 0 && bytes.Compare(groups[i-1].region.Start, g.region.Start) >= 0 {
				t.Fatal("groups out of order")
			}
			for _, f := range g.files {
				n++
				if !g.region.Contains(f.First) || !g.region.Contains(f.Last) {
					t.Fatalf("%v is not in %v", f, g.region)
				}
			}
		}
		if n != len(files) {
			t.Fatalf("%d of %d files", n, len(files))
		}
	})
}

func TestFencedPath(t *testing.T) {
	for in, want := range map[string]string{
		"/d/f/ab": "/d/f/ab.r1", "/d/f/ab.r1": "/d/f/ab.r2", "/d/f/ab.r99": "/d/f/ab.r100", "/d.r1/f/ab": "/d.r1/f/ab.r1",
		"hdfs://h:1/d/ab.r0": "hdfs://h:1/d/ab.r0.r1", "/d/ab.rx": "/d/ab.rx.r1",
	} {
		if got := fencedPath(in); got != want {
			t.Errorf("%s: %s, not %s", in, got, want)
		}
	}
}

// modeInfo is a file with a mode and an owner.
type modeInfo struct {
	fs.FileInfo
	mode fs.FileMode
	user string
}

func (m modeInfo) Mode() fs.FileMode  { return m.mode }
func (m modeInfo) Owner() string      { return m.user }
func (m modeInfo) OwnerGroup() string { return "g" }

func TestDenied(t *testing.T) {
	for _, c := range []struct {
		mode fs.FileMode
		user string
		need fs.FileMode
		want bool
	}{
		{0o600, "u", mayReadWrite, false}, {0o400, "u", mayReadWrite, true}, {0o066, "u", mayReadWrite, true},
		{0o600, "v", mayReadWrite, true}, {0o606, "v", mayReadWrite, false}, {0o660, "v", mayReadWrite, false}, {0o644, "v", mayReadWrite, true},
		{0o600, "", mayReadWrite, true}, {0o755, "v", mayChange, true}, {0o773, "v", mayChange, false}, {0o711, "v", mayPass, false}, {0o710, "v", mayPass, false},
		{0o700, "v", mayPass, true},
	} {
		if got := denied(modeInfo{mode: c.mode, user: "u"}, c.user, c.need); got != c.want {
			t.Errorf("%04o of u, %o for %q: %t", c.mode, c.need, c.user, got)
		}
	}
}

func TestLeadsTo(t *testing.T) {
	const region, file = "8fd85a98584443a64508dfd0e63071d1", "dfe5073aa60b416e8168c054abeb777f_SeqId_4_"
	for name, want := range map[string]bool{
		file: true, file + "." + region: true, "ns=t=" + region + "-" + file: true,
		"x" + file: false, "ns=t=" + region[1:] + "-" + file: false, "dfe5073aa60b416e8168c054abeb777f": false,
	} {
		if got := LeadsTo(name, region, file); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOutlive checks that an outliving context ends only after the grace period, with the cause of the original.
func TestOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		long, stop := withGrace(ctx, 10*time.Second)
		defer stop()
		cancel(reason)
		<-time.After(9 * time.Second)
		synctest.Wait()
		if long.Err() != nil {
			t.Error("it ended within the grace")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if !errors.Is(context.Cause(long), reason) {
			t.Errorf("it ended by %v", context.Cause(long))
		}
		other, stop := withGrace(t.Context(), time.Second)
		stop()
		if other.Err() == nil {
			t.Error("it did not end when it was stopped")
		}
	})
}

func TestToken(t *testing.T) {
	for token, ok := range map[string]bool{
		"hdfs://h:1/hbase/staging/u__ns_t__abc": true, "/hbase/staging/x": true, "hdfs://h/a/b/staging/x": true,
		"/hbase/staging": false, "hdfs://h:1/hbase/staging": false, "/hbase/data/x": false, "/": false, "": false, "hdfs://h": false,
		"/hbase/staging/../data": false, "/hbase/staging/x/y": false, "/staging/x": false, "/hbase/staging/x/": false,
	} {
		if err := checkToken(token); (err == nil) != ok {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\x00": "a\x01", "": "", "\xff\xff": ""} {
		if got := PrefixEnd([]byte(in)); string(got) != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// TestPrefixEndOfBytes checks for all prefixes of two bytes that the end is after the last row with the prefix and before the first row without it.
func TestPrefixEndOfBytes(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			prefix := []byte{byte(a), byte(b)}
			want := []byte{byte(a), byte(b + 1)}
			switch {
			case a == 255 && b == 255:
				want = nil
			case b == 255:
				want = []byte{byte(a + 1)}
			}
			if got := PrefixEnd(prefix); !bytes.Equal(got, want) {
				t.Fatalf("%x: %x, want %x", prefix, got, want)
			}
		}
	}
}

// TestMisfitNamesNoRow checks that the message has no rows, which include the bounds of a region that HBase has split.
func TestMisfitNamesNoRow(t *testing.T) {
	e := &MisfitError{File: HFile{Path: "/f/0", First: []byte("ann"), Last: []byte("bob")}, Region: Region{Encoded: "0123", Start: []byte("ada"), End: []byte("axel")}}
	for _, row := range []string{"ann", "bob", "ada", "axel"} {
		if strings.Contains(e.Error(), row) || !strings.Contains(string(e.Data()), row) {
			t.Errorf("%v, for who may show rows %s", e, e.Data())
		}
	}
}

func TestEncodedName(t *testing.T) {
	for in, want := range map[string]string{"t,a.b,1.0123abcd.": "0123abcd", "hbase:meta,,1": "", "": "", ".": ""} {
		if got := encodedName([]byte(in)); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestTableSpec(t *testing.T) {
	name := TableName{"default", "t"}
	f := []Family{{Name: "f"}}
	for want, spec := range map[string]TableSpec{
		"table t: no column family":                            {Name: name},
		"table t: split key 1 is empty":                        {Name: name, Families: f, SplitKeys: [][]byte{{}}},
		`table t: split key 2, \x02, does not come after \x02`: {Name: name, Families: f, SplitKeys: [][]byte{{2}, {2}}},
		`table t: split key 3, \x02, does not come after \x03`: {Name: name, Families: f, SplitKeys: [][]byte{{1}, {3}, {2}}},
		"table t: family f is there twice":                     {Name: name, Families: []Family{{Name: "f"}, {Name: "g"}, {Name: "f"}}},
		"a table needs a name":                                 {Families: f},
		"<nil>":                                                {Name: name, Families: f, SplitKeys: [][]byte{{1}, {2}}},
	} {
		if got := fmt.Sprint(spec.Validate()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// appendCell encodes a cell like KeyValueCodec.
func appendCell(b []byte, row string, c Cell) []byte {
	keyLen := 2 + len(row) + 1 + len(c.Family) + len(c.Qualifier) + 9
	b = binary.BigEndian.AppendUint32(b, uint32(8+keyLen+len(c.Value)))
	b = binary.BigEndian.AppendUint32(b, uint32(keyLen))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Value)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(row)))
	b = append(b, row...)
	b = append(b, byte(len(c.Family)))
	b = append(b, c.Family...)
	b = append(b, c.Qualifier...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Timestamp))
	b = append(b, 4)
	return append(b, c.Value...)
}

// TestAssembler checks that each row is returned once and whole, however the server cuts rows into results and answers, and wherever a scan breaks
// and is resumed.
func TestAssembler(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		type flat struct {
			row  string
			cell Cell
		}
		rows := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c]{1,4}`), 0, 8, rapid.ID[string]).Draw(t, "rows")
		slices.Sort(rows)
		var want []string
		cellsOf := map[string][]flat{}
		for _, row := range rows {
			line := row
			for i := range rapid.IntRange(1, 5).Draw(t, "cells") {
				c := Cell{
					Family: []byte("f"), Qualifier: fmt.Append(nil, i), Timestamp: int64(i),
					Value: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "value"),
				}
				cellsOf[row] = append(cellsOf[row], flat{row, c})
				line += fmt.Sprintf(" %s=%x@%d", c.Qualifier, c.Value, c.Timestamp)
			}
			want = append(want, line)
		}
		var got []string
		a := assembler{emit: func(r Row) error {
			line := string(r.Key)
			for _, c := range r.Cells {
				line += fmt.Sprintf(" %s=%x@%d", c.Qualifier, c.Value, c.Timestamp)
			}
			got = append(got, line)
			return nil
		}}
		pos := ""
		for broken := true; broken; {
			broken = false
			for _, row := range rows {
				if row < pos || broken {
					continue
				}
				cells := cellsOf[row]
				for len(cells) > 0 {
					n := rapid.IntRange(1, len(cells)).Draw(t, "result")
					var block []byte
					for _, c := range cells[:n] {
						block = appendCell(block, row, c.cell)
					}
					cells = cells[n:]
					// The last part of a row may also be marked as partial, if the server has not read any further.
					partial := len(cells) > 0 || rapid.Bool().Draw(t, "partial")
					if _, err := a.add(block, uint32(n), partial); err != nil {
						t.Fatal(err)
					}
					if rapid.IntRange(0, 9).Draw(t, "break") == 0 {
						broken = true
						break
					}
				}
				if broken {
					break
				}
			}
			if broken {
				if next, read := a.resume(); read {
					pos = string(next)
				}
			}
		}
		if err := a.flush(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

// FuzzCell checks that no block causes a panic, and that parsed cells equal the encoded ones.
func FuzzCell(f *testing.F) {
	f.Add(appendCell(nil, "row", Cell{Family: []byte("f"), Qualifier: []byte("q"), Value: []byte("v"), Timestamp: 1}))
	f.Add([]byte{0, 0, 0, 20, 0, 0, 0, 12, 0, 0, 0, 0, 255, 255})
	f.Fuzz(func(t *testing.T, block []byte) {
		for len(block) > 0 {
			var c Cell
			row, rest, err := nextCell(block, &c)
			if err != nil {
				return
			}
			if len(row)+len(c.Family)+len(c.Qualifier)+len(c.Value) > len(block) || len(rest) >= len(block) {
				t.Fatal("more was parsed than there is")
			}
			block = rest
		}
	})
}
