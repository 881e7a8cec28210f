package rekey

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/testcheck"
	"bulkload/pkg/build"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition"
	"bulkload/pkg/snapshot"
	"bulkload/pkg/spec"
)

// labNow is when the snapshots of the tests are read.
var labNow = time.UnixMilli(2_000_000)

// lab is a table's snapshot on a file system in memory: regions with the start
// rows given, one file for each call of load.
type lab struct {
	t        testing.TB
	fs       *hdfsio.Memory
	families []string
	versions int
	ttl      int // seconds
	starts   []string
	files    map[string]map[string][]string // by start and family
}

func newLab(t testing.TB, starts []string, families ...string) *lab {
	return &lab{t: t, fs: hdfsio.NewMemory(), families: families, versions: 3, ttl: 1<<31 - 1, starts: append([]string{""}, starts...), files: map[string]map[string][]string{}}
}

func put(row, family, qualifier string, timestamp int64, value string) *hfile.Cell {
	return &hfile.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: timestamp, Type: hfile.Put, Value: []byte(value)}
}

func (l *lab) encoded(start string) string {
	sum := md5.Sum(fmt.Appendf(nil, "n:old,%s,7", start))
	return hex.EncodeToString(sum[:])
}

// load adds files with these cells, which hide equal ones of earlier calls.
func (l *lab) load(cells ...*hfile.Cell) {
	l.t.Helper()
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, hfile.Compare)
	for i, start := range l.starts {
		for _, family := range l.families {
			var b bytes.Buffer
			w, err := hfile.NewWriter(&b, hfile.Options{Family: []byte(family), Encoding: hfile.EncodingFastDiff, Compression: hfile.CompressionSnappy, BlockSize: 4096})
			testcheck.Must(l.t, err)
			n := 0
			for _, c := range cells {
				if string(c.Family) != family || string(c.Row) < start || i+1 < len(l.starts) && string(c.Row) >= l.starts[i+1] {
					continue
				}
				testcheck.Must(l.t, w.Append(c))
				n++
			}
			if _, err = w.Finish(); n == 0 {
				continue
			}
			testcheck.Must(l.t, err)
			if l.files[start] == nil {
				l.files[start] = map[string][]string{}
			}
			number := len(l.files[start][family]) + 1
			name := fmt.Sprintf("%02x_SeqId_%d_", number, number)
			l.files[start][family] = append(l.files[start][family], name)
			l.write("/hbase/data/n/old/"+l.encoded(start)+"/"+family+"/"+name, b.Bytes())
		}
	}
}

func (l *lab) write(name string, b []byte) {
	l.t.Helper()
	testcheck.Must(l.t, l.fs.MkdirAll(context.Background(), path.Dir(name), 0o755))
	out, err := l.fs.Create(context.Background(), name, hdfsio.CreateOptions{})
	testcheck.Must(l.t, err)
	_, err = out.Write(b)
	testcheck.Must(l.t, err)
	testcheck.Must(l.t, out.Finish())
}

func (l *lab) read(name string) []byte {
	l.t.Helper()
	f, err := l.fs.Open(context.Background(), name)
	testcheck.Must(l.t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	testcheck.Must(l.t, err)
	return b
}

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

// open writes the manifest and opens the snapshot.
func (l *lab) open() *snapshot.Snapshot {
	l.t.Helper()
	table := &pb.TableName{Namespace: []byte("n"), Qualifier: []byte("old")}
	schema := &pb.TableSchema{TableName: table}
	for _, f := range l.families {
		schema.ColumnFamilies = append(schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f), Attributes: []*pb.BytesBytesPair{
			{First: []byte("VERSIONS"), Second: fmt.Append(nil, l.versions)}, {First: []byte("TTL"), Second: fmt.Append(nil, l.ttl)}}})
	}
	text, err := proto.Marshal(schema)
	testcheck.Must(l.t, err)
	data := field(nil, 1, text)
	for i, start := range l.starts {
		end := ""
		if i+1 < len(l.starts) {
			end = l.starts[i+1]
		}
		info, err := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(7), TableName: table, StartKey: []byte(start), EndKey: []byte(end)})
		testcheck.Must(l.t, err)
		region := field(field(nil, 1, 0), 2, info)
		for _, family := range l.families {
			for _, name := range l.files[start][family] {
				region = field(region, 3, field(field(nil, 1, family), 2, field(nil, 1, name)))
			}
		}
		data = field(data, 2, region)
	}
	l.write("/hbase/.hbase-snapshot/s/.snapshotinfo", field(field(field(field(nil, 1, "s"), 2, "n:old"), 3, 1000), 5, 2))
	l.write("/hbase/.hbase-snapshot/s/data.manifest", data)
	s, err := snapshot.Open(context.Background(), l.fs, "/hbase", "s")
	testcheck.Must(l.t, err)
	return s
}

// plan is one for the lab's table.
func (l *lab) plan(key string, splits ...string) *Plan {
	l.t.Helper()
	e, err := keygen.Parse(key)
	testcheck.Must(l.t, err)
	var points [][]byte
	for _, s := range splits {
		points = append(points, []byte(s))
	}
	ranges, err := partition.New(points)
	testcheck.Must(l.t, err)
	p := &Plan{Table: "n:new", Key: e, Ranges: ranges, Now: labNow}
	for _, f := range l.families {
		p.Families = append(p.Families, spec.Family{Name: f, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow, BlockSize: 64 << 10})
	}
	return p
}

// build builds into a directory of its own.
func (l *lab) build(s *snapshot.Snapshot, p *Plan, o Options) (*manifest.Manifest, string, error) {
	l.t.Helper()
	const dir = "/out"
	testcheck.Must(l.t, l.fs.RemoveAll(context.Background(), dir))
	testcheck.Must(l.t, l.fs.MkdirAll(context.Background(), dir, 0o755))
	if o.SpillDir == "" {
		o.SpillDir = l.t.TempDir()
	}
	m, err := Build(l.t.Context(), s, p, build.Output{FS: l.fs, Dir: dir, FileMode: 0o644, DirMode: 0o755}, o)
	return m, dir, err
}

// line is a cell as text.
func line(row []byte, c *hfile.Cell) string {
	return fmt.Sprintf("%q %s:%q %d %s %q %x", row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value, c.Tags)
}

// cells are those of the files of a manifest, in the order of rows and families,
// each file within the bounds of its region.
func (l *lab) cells(m *manifest.Manifest, p *Plan, dir string) (lines []string) {
	l.t.Helper()
	for _, f := range m.Files {
		b := l.read(path.Join(dir, f.Name))
		r, err := hfile.Open(bytes.NewReader(b), int64(len(b)), hfile.ReaderOptions{})
		testcheck.Must(l.t, err)
		rows, last := int64(0), ""
		sc := r.Scan()
		for sc.Next() {
			c := sc.Cell()
			if p.Ranges.Find(c.Row) != f.Region {
				l.t.Errorf("row %q is in a file of region %d", c.Row, f.Region)
			}
			if rows == 0 || last != string(c.Row) {
				rows, last = rows+1, string(c.Row)
			}
			lines = append(lines, line(c.Row, c))
		}
		testcheck.Must(l.t, sc.Err())
		if rows != f.Rows {
			l.t.Errorf("%s has %d rows, not %d", f.Name, rows, f.Rows)
		}
	}
	slices.Sort(lines)
	return lines
}

// ttlTag is a cell's own lifetime in milliseconds.
func ttlTag(ms int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0, 9, tagTTL}, uint64(ms))
}
