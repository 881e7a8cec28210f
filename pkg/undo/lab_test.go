package undo

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/snapshot"
	"bulkload/pkg/spec"
	"bulkload/pkg/verify"
)

// The load of these tests.
const (
	labStamp = 200
	labRoot  = "/hbase"
)

// labRegions begin at these rows.
var labRegions = []string{"", "c"}

// lab is a table t of families on a file system in memory, with its store files as HBase names them.
type lab struct {
	t        testing.TB
	fs       *hdfsio.Memory
	families []string
	versions string
	files    []labFile
}

type labFile struct {
	region, size int
	family, name string
}

func newLab(t testing.TB, versions string, families ...string) *lab {
	return &lab{t: t, fs: hdfsio.NewMemory(), families: families, versions: versions}
}

// encodedRegion is a region's directory.
func encodedRegion(i int) string {
	sum := md5.Sum(fmt.Appendf(nil, "t,%s,7", labRegions[i]))
	return hex.EncodeToString(sum[:])
}

// field appends a field with bytes or a number to a message.
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

func (l *lab) put(name string, b []byte) {
	l.t.Helper()
	testcheck.Must(l.t, l.fs.MkdirAll(l.t.Context(), path.Dir(name), 0o755))
	out, err := l.fs.Create(l.t.Context(), name, hdfsio.CreateOptions{})
	testcheck.Must(l.t, err)
	_, err = out.Write(b)
	testcheck.Must(l.t, err)
	testcheck.Must(l.t, out.Finish())
}

// add writes cells into files of the table, one for each region and family, of one sequence id.
func (l *lab) add(sequence int, cells []hfile.Cell) {
	for region, start := range labRegions {
		for _, family := range l.families {
			part := slices.DeleteFunc(slices.Clone(cells), func(c hfile.Cell) bool {
				return string(c.Family) != family || string(c.Row) < start || region == 0 && string(c.Row) >= labRegions[1]
			})
			if len(part) == 0 {
				continue
			}
			slices.SortFunc(part, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
			var b bytes.Buffer
			w, err := hfile.NewWriter(&b, hfile.Options{Encoding: hfile.EncodingFastDiff, BlockSize: 200})
			testcheck.Must(l.t, err)
			for i := range part {
				testcheck.Must(l.t, w.Append(&part[i]))
			}
			_, err = w.Finish()
			testcheck.Must(l.t, err)
			l.file(region, family, sequence, b.Bytes())
		}
	}
}

// file puts a file into a region.
func (l *lab) file(region int, family string, sequence int, b []byte) {
	name := fmt.Sprintf("%032x_SeqId_%d_", len(l.files)+1, sequence)
	l.put(path.Join(labRoot, "data/default/t", encodedRegion(region), family, name), b)
	l.files = append(l.files, labFile{region, len(b), family, name})
}

// open takes a snapshot.
func (l *lab) open() *snapshot.Snapshot {
	l.t.Helper()
	schema := &pb.TableSchema{TableName: &pb.TableName{Namespace: []byte("default"), Qualifier: []byte("t")}}
	for _, f := range l.families {
		schema.ColumnFamilies = append(schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f), Attributes: []*pb.BytesBytesPair{{First: []byte("VERSIONS"), Second: []byte(l.versions)}}})
	}
	b, err := proto.Marshal(schema)
	testcheck.Must(l.t, err)
	data := field(nil, 1, b)
	for i, start := range labRegions {
		end := ""
		if i+1 < len(labRegions) {
			end = labRegions[i+1]
		}
		info, err := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(7), TableName: schema.TableName, StartKey: []byte(start), EndKey: []byte(end)})
		testcheck.Must(l.t, err)
		region := field(field(nil, 1, 0), 2, info)
		for _, f := range l.files {
			if f.region == i {
				region = field(region, 3, field(field(nil, 1, f.family), 2, field(field(nil, 1, f.name), 3, f.size)))
			}
		}
		data = field(data, 2, region)
	}
	name := fmt.Sprintf("s%d", len(l.files))
	dir := labRoot + "/.hbase-snapshot/" + name
	testcheck.Must(l.t, l.fs.RemoveAll(l.t.Context(), dir))
	l.put(dir+"/.snapshotinfo", field(field(field(field(nil, 1, name), 2, "t"), 3, 1000), 5, 2))
	l.put(dir+"/data.manifest", data)
	s, err := snapshot.Open(l.t.Context(), l.fs, labRoot, name)
	testcheck.Must(l.t, err)
	return s
}

// of is the load of the lab, of which these cells were written.
func (l *lab) of(written []hfile.Cell) *load {
	m := &manifest.Manifest{Schema: 1, Timestamp: labStamp, Family: l.families[0]}
	for _, f := range l.families {
		for _, q := range []string{"p", "q"} {
			m.Cells = append(m.Cells, spec.CellName{Family: f, Qualifier: q})
		}
	}
	rows := map[string][]loader.Cell{}
	sorted := slices.Clone(written)
	slices.SortFunc(sorted, func(a, b hfile.Cell) int { return hfile.Compare(&a, &b) })
	for _, c := range sorted {
		rows[string(c.Row)] = append(rows[string(c.Row)], loader.Cell{Family: c.Family, Qualifier: c.Qualifier, Value: c.Value, Timestamp: c.Timestamp, Type: loader.CellPut})
	}
	digest := verify.NewRows(m)
	for key, cells := range rows {
		testcheck.Must(l.t, digest.Add(loader.Row{Key: []byte(key), Cells: cells}))
	}
	m.Digest = digest.Digest()
	return &load{job: "t-0123456789ab", table: loader.TableName{Namespace: "default", Qualifier: "t"}, stamp: labStamp, families: l.families, manifest: m}
}

// labReading reads with two goroutines at a time of the lab.
func labReading() reading { return reading{workers: 2, now: time.UnixMilli(10_000)} }
