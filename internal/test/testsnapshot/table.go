package testsnapshot

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tsuna/gohbase/pb"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// Options describe a table. The zero value is table t of the namespace default, with family f, one region and HBase's default settings,
// below /hbase on a file system in memory.
type Options struct {
	FS       hdfsio.FS     // a file system in memory when nil
	Root     string        // HBase's root directory; /hbase when empty
	Table    string        // with the namespace before a colon, unless that is default; t when empty
	Families []string      // f when nil
	Splits   []string      // start rows of the regions after the first
	Versions int           // number that each family keeps; when 0, the table does not set it
	TTL      int           // of each family, in seconds; when 0, the table does not set it
	HFiles   hfile.Options // options of the files that Load writes
	Snapshot string        // the name of its snapshot; s when empty
	Created  int64         // when the snapshot is taken, in milliseconds; 1000 when 0
}

// Table is a table with the snapshot that Save writes. A test may change its fields before Save, also to values that
// HBase never writes.
type Table struct {
	Options
	Schema  *pb.TableSchema
	Regions []Region
	Tail    []byte // follows the description of the snapshot in its file
	Apart   bool   // Save writes a manifest for each region, as HBase does before it consolidates them

	t     testing.TB
	files int
}

// Region is a region in the manifest of a snapshot.
type Region struct {
	Start, End string // End is empty in the last region
	Offline    bool   // a parent that was split
	Files      []File
	Tail       []byte // follows the region in the manifest
}

// File is a store file in the manifest of a snapshot: a file, a link, or a half of one of them.
type File struct {
	Family, Name string
	Size         int
	Cut          string // the row at which a half begins or ends; empty for a whole file
	Top          bool   // the half from Cut on, instead of the one before it
}

// New returns a table without files.
func New(t testing.TB, o Options) *Table {
	o.Root, o.Table = cmp.Or(o.Root, "/hbase"), cmp.Or(o.Table, "t")
	o.Snapshot, o.Created = cmp.Or(o.Snapshot, "s"), cmp.Or(o.Created, 1000)
	if o.FS == nil {
		o.FS = hdfsio.NewMemory()
	}
	if o.Families == nil {
		o.Families = []string{"f"}
	}
	tb := &Table{Options: o, t: t}
	for i, start := range append([]string{""}, o.Splits...) {
		r := Region{Start: start}
		if i < len(o.Splits) {
			r.End = o.Splits[i]
		}
		tb.Regions = append(tb.Regions, r)
	}
	namespace, qualifier := tb.names()
	tb.Schema = &pb.TableSchema{TableName: &pb.TableName{Namespace: []byte(namespace), Qualifier: []byte(qualifier)}}
	var attributes []*pb.BytesBytesPair
	if o.Versions > 0 {
		attributes = append(attributes, &pb.BytesBytesPair{First: []byte("VERSIONS"), Second: fmt.Append(nil, o.Versions)})
	}
	if o.TTL > 0 {
		attributes = append(attributes, &pb.BytesBytesPair{First: []byte("TTL"), Second: fmt.Append(nil, o.TTL)})
	}
	for _, f := range o.Families {
		tb.Schema.ColumnFamilies = append(tb.Schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f), Attributes: slices.Clone(attributes)})
	}
	return tb
}

// names returns the namespace and the qualifier of the table.
func (tb *Table) names() (namespace, qualifier string) {
	namespace, qualifier, ok := strings.Cut(tb.Table, ":")
	if !ok {
		return "default", tb.Table
	}
	return namespace, qualifier
}

// Encoded returns the encoded name of the region that begins at a row, which is also the name of its directory.
func (tb *Table) Encoded(start string) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s,%s,%d", tb.Table, start, regionID))
	return hex.EncodeToString(sum[:])
}

// RegionOf returns the index of the region that contains a row.
func (tb *Table) RegionOf(row []byte) int {
	return slices.IndexFunc(tb.Regions, func(r Region) bool { return r.has(row) })
}

func (r *Region) has(row []byte) bool {
	return string(row) >= r.Start && (r.End == "" || string(row) < r.End)
}

// Load adds cells to the table like a bulk load with a sequence id: one file for each region and family that has
// cells.
func (tb *Table) Load(sequence int, cells ...hfile.Cell) {
	tb.t.Helper()
	for i := range tb.Regions {
		for _, family := range tb.Families {
			part := slices.DeleteFunc(slices.Clone(cells), func(c hfile.Cell) bool { return string(c.Family) != family || !tb.Regions[i].has(c.Row) })
			if len(part) > 0 {
				tb.Add(i, family, sequence, HFile(tb.t, tb.HFiles, part...))
			}
		}
	}
}

// Add adds a file to a region: one that was loaded with a sequence id, or for 0, one without a sequence id in its
// name.
func (tb *Table) Add(region int, family string, sequence int, b []byte) {
	tb.t.Helper()
	tb.files++
	name := fmt.Sprintf("%032x", tb.files)
	if sequence > 0 {
		name += fmt.Sprintf("_SeqId_%d_", sequence)
	}
	r := &tb.Regions[region]
	namespace, qualifier := tb.names()
	tb.Write(path.Join("data", namespace, qualifier, tb.Encoded(r.Start), family, name), b)
	r.Files = append(r.Files, File{Family: family, Name: name, Size: len(b)})
}

// Write writes a file of any name below the root directory. It is in no manifest.
func (tb *Table) Write(name string, b []byte) {
	tb.t.Helper()
	name = path.Join(tb.Root, name)
	testcheck.Must(tb.t, tb.FS.MkdirAll(tb.t.Context(), path.Dir(name), 0o755))
	out, err := tb.FS.Create(tb.t.Context(), name, hdfsio.CreateOptions{})
	testcheck.Must(tb.t, err)
	_, err = out.Write(b)
	testcheck.Must(tb.t, err)
	testcheck.Must(tb.t, out.Finish())
}

// HFile returns an HFile of cells, which it sorts stably.
func HFile(t testing.TB, o hfile.Options, cells ...hfile.Cell) []byte {
	t.Helper()
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, o)
	testcheck.Must(t, err)
	for i := range cells {
		testcheck.Must(t, w.Append(&cells[i]))
	}
	_, err = w.Finish()
	testcheck.Must(t, err)
	return b.Bytes()
}

// Put returns a cell with a value.
func Put(row, family, qualifier string, timestamp int64, value string) hfile.Cell {
	return hfile.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: timestamp, Type: hfile.Put, Value: []byte(value)}
}
