package tablesource_test

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// lab is a snapshot of the table n:t with the families f and g, in a local
// directory, as HBase lays it out.
type lab struct {
	t       testing.TB
	root    string
	created int
	regions [][]byte
}

func newLab(t testing.TB) *lab { return &lab{t: t, root: t.TempDir(), created: 1_000_000} }

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

func tableName() *pb.TableName {
	return &pb.TableName{Namespace: []byte("n"), Qualifier: []byte("t")}
}

// regionFiles are the HFiles of a region: family and content.
type regionFiles [][2]string

// region adds a region with files of these contents, by family.
func (l *lab) region(start, end string, files regionFiles) {
	l.t.Helper()
	info, err := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(7), TableName: tableName(), StartKey: []byte(start), EndKey: []byte(end)})
	testcheck.Must(l.t, err)
	sum := md5.Sum(fmt.Appendf(nil, "n:t,%s,7", start))
	b := field(field(nil, 1, 0), 2, info)
	for i, f := range files {
		name := fmt.Sprintf("%032x", i+1)
		dir := filepath.Join(l.root, "data/n/t", hex.EncodeToString(sum[:]), f[0])
		testcheck.Must(l.t, os.MkdirAll(dir, 0o755))
		testcheck.Must(l.t, os.WriteFile(filepath.Join(dir, name), []byte(f[1]), 0o644))
		b = field(b, 3, field(field(nil, 1, f[0]), 2, field(field(nil, 1, name), 3, len(f[1]))))
	}
	l.regions = append(l.regions, b)
}

// save writes the manifest of snapshot s.
func (l *lab) save() {
	l.t.Helper()
	schema := &pb.TableSchema{TableName: tableName()}
	for _, f := range []string{"f", "g"} {
		schema.ColumnFamilies = append(schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f),
			Attributes: []*pb.BytesBytesPair{{First: []byte("VERSIONS"), Second: []byte("3")}}})
	}
	l.saveOf(schema)
}

func (l *lab) saveOf(schema *pb.TableSchema) {
	l.t.Helper()
	b, err := proto.Marshal(schema)
	testcheck.Must(l.t, err)
	b = field(nil, 1, b)
	for _, r := range l.regions {
		b = field(b, 2, r)
	}
	dir := filepath.Join(l.root, ".hbase-snapshot/s")
	testcheck.Must(l.t, os.MkdirAll(dir, 0o755))
	testcheck.Must(l.t, os.WriteFile(filepath.Join(dir, ".snapshotinfo"), field(field(field(field(nil, 1, "s"), 2, "n:t"), 3, l.created), 5, 2), 0o644))
	testcheck.Must(l.t, os.WriteFile(filepath.Join(dir, "data.manifest"), b, 0o644))
}

// hfileOf writes cells, which are in order.
func hfileOf(t testing.TB, o hfile.Options, cells ...hfile.Cell) string {
	t.Helper()
	var name = filepath.Join(t.TempDir(), "x")
	out, err := hdfsio.Local{}.Create(t.Context(), name, hdfsio.CreateOptions{})
	testcheck.Must(t, err)
	w, err := hfile.NewWriter(out, o)
	testcheck.Must(t, err)
	for i := range cells {
		testcheck.Must(t, w.Append(&cells[i]))
	}
	_, err = w.Finish()
	testcheck.Must(t, err)
	testcheck.Must(t, out.Finish())
	b, err := os.ReadFile(name)
	testcheck.Must(t, err)
	return string(b)
}

// put is a cell of a value, or with del a marker that hides the column.
func put(row, family, qualifier string, ts int64, value string) hfile.Cell {
	return hfile.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: ts, Type: hfile.Put, Value: []byte(value)}
}

func del(row, family, qualifier string, ts int64) hfile.Cell {
	c := put(row, family, qualifier, ts, "")
	c.Type = hfile.DeleteColumn
	return c
}
