package snapshot

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// lab is a table on an in-memory file system.
type lab struct {
	*testsnapshot.Table
	t     testing.TB
	cells []*aged
}

const labTable = "n:t.x"

func newLab(t testing.TB, families ...string) *lab {
	l := &lab{Table: testsnapshot.New(t, testsnapshot.Options{Table: labTable, Families: families, Versions: 3, TTL: math.MaxInt32}), t: t}
	l.Regions = nil
	return l
}

// file writes an HFile with cells of one family below the root directory and returns its size.
func (l *lab) file(name string, o hfile.Options, cells []*aged) int {
	l.t.Helper()
	var plain []hfile.Cell
	for _, c := range slices.SortedStableFunc(slices.Values(cells), compareAged) {
		plain = append(plain, c.Cell)
	}
	b := testsnapshot.HFile(l.t, o, plain...)
	l.Write(name, b)
	return len(b)
}

// region adds a region to the manifest.
func (l *lab) region(start, end string, offline bool, files ...testsnapshot.File) {
	l.Regions = append(l.Regions, testsnapshot.Region{Start: start, End: end, Offline: offline, Files: files})
}

// wholeFile returns the entry of a file or of a link to one.
func wholeFile(family, name string, size int) testsnapshot.File {
	return testsnapshot.File{Family: family, Name: name, Size: size}
}

// halfFile returns the entry of a half of a file or of a link, cut at row g.
func halfFile(family, name string, size int, top bool) testsnapshot.File {
	return testsnapshot.File{Family: family, Name: name, Size: size, Cut: "g", Top: top}
}

// save writes the snapshot and opens it.
func (l *lab) save() (*Snapshot, error) {
	l.t.Helper()
	l.Save()
	return Open(l.t.Context(), l.FS, l.Root, l.Snapshot)
}

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

// within returns the cells with rows in a range.
func within(cells []*aged, start, end string) []*aged {
	return slices.DeleteFunc(slices.Clone(cells), func(c *aged) bool {
		return string(c.Row) < start || end != "" && string(c.Row) >= end
	})
}

// splitLab creates a table whose first region was split at g, from a to m. It has halves of a file and of a link, a
// link to another table, files in the archive, each encoding, and equal cells that sequence ids order.
func splitLab(t testing.TB) *lab {
	l := newLab(t, "f", "g")
	parent, last := l.Encoded("-"), l.Encoded("m")
	data, archive := "data/n/t.x/", "archive/data/n/t.x/"
	file := func(name string, e hfile.Encoding, c hfile.Compression, cells []*aged) int {
		return l.file(name, hfile.Options{Encoding: e, Compression: c, BlockSize: 200}, cells)
	}
	f2, f9, g5, g6 := l.family(0, 0, 2), l.family(0, 1, 9), l.family(1, 0, 5), l.family(1, 1, 6)
	a := file(data+parent+"/f/ab_SeqId_2_", hfile.EncodingFastDiff, hfile.CompressionSnappy, within(f2, "", "m"))
	b := file(archive+parent+"/f/0c_SeqId_9_", hfile.EncodingDiff, hfile.CompressionGZ, within(f9, "", "m"))
	c := file("archive/data/default/o/1234/g/ff_SeqId_5_", hfile.EncodingPrefix, hfile.CompressionNone, within(g5, "", "m"))
	d := file(data+last+"/f/ab_SeqId_2_", hfile.EncodingRowIndexV1, hfile.CompressionLZ4, within(f2, "m", ""))
	e := file(data+last+"/f/01_SeqId_9_", hfile.EncodingNone, hfile.CompressionZSTD, within(f9, "m", ""))
	f := file("data/p/q.r/1234/g/ee_SeqId_5_", hfile.EncodingNone, hfile.CompressionNone, within(g5, "m", ""))
	g := file(archive+last+"/g/ee_SeqId_6_", hfile.EncodingFastDiff, hfile.CompressionNone, within(g6, "m", ""))
	h := file(".tmp/data/n/t.x/"+l.Encoded("")+"/g/dd_SeqId_6_", hfile.EncodingNone, hfile.CompressionNone, within(g6, "", "g"))
	i := file("data/n/t.x/"+parent+"/g/dd_SeqId_6_", hfile.EncodingNone, hfile.CompressionNone, within(g6, "g", "m"))
	l.region("", "m", true, wholeFile("f", "ab_SeqId_2_", a))
	l.region("m", "", false, wholeFile("f", "ab_SeqId_2_", d), wholeFile("f", "01_SeqId_9_", e),
		wholeFile("g", "p=q.r=1234-ee_SeqId_5_", f), wholeFile("g", "ee_SeqId_6_", g))
	l.region("", "g", false, halfFile("f", "ab_SeqId_2_."+parent, a, false), halfFile("f", "0c_SeqId_9_."+parent, b, false),
		halfFile("g", "o=1234-ff_SeqId_5_."+parent, c, false), wholeFile("g", "dd_SeqId_6_", h))
	l.region("g", "m", false, halfFile("f", "ab_SeqId_2_."+parent, a, true), halfFile("f", "0c_SeqId_9_."+parent, b, true),
		halfFile("g", "o=1234-ff_SeqId_5_."+parent, c, true), wholeFile("g", "n=t.x="+parent+"-dd_SeqId_6_", i))
	return l
}
