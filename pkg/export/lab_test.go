package export

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/jobtest"
	"bulkload/internal/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/manifest"
	"bulkload/pkg/snapshot"
	"bulkload/pkg/source"
	"bulkload/pkg/spec"
)

// labRegion is a region of a table that was never in HBase: the HFiles of its families.
type labRegion struct {
	start, end string
	files      map[string][]byte
}

// labSnapshot writes a snapshot as HBase does, and opens it.
func labSnapshot(t testing.TB, families []string, regions []labRegion) *snapshot.Snapshot {
	t.Helper()
	message := func(b []byte, number protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
	}
	number := func(b []byte, number protowire.Number, v int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
	}
	fsys := hdfsio.NewMemory()
	write := func(name string, b []byte) {
		testcheck.Must(t, fsys.MkdirAll(t.Context(), path.Dir(name), 0o755))
		w, err := fsys.Create(t.Context(), name, hdfsio.CreateOptions{})
		testcheck.Must(t, err)
		_, err = w.Write(b)
		testcheck.Must(t, err)
		testcheck.Must(t, w.Finish())
	}
	table := &pb.TableName{Namespace: []byte("default"), Qualifier: []byte("t")}
	schema := &pb.TableSchema{TableName: table}
	for _, f := range families {
		schema.ColumnFamilies = append(schema.ColumnFamilies, &pb.ColumnFamilySchema{Name: []byte(f),
			Attributes: []*pb.BytesBytesPair{{First: []byte("VERSIONS"), Second: []byte("3")}}})
	}
	b, err := proto.Marshal(schema)
	testcheck.Must(t, err)
	all := message(nil, 1, b)
	for _, r := range regions {
		info, err := proto.Marshal(&pb.RegionInfo{RegionId: proto.Uint64(7), TableName: table, StartKey: []byte(r.start), EndKey: []byte(r.end)})
		testcheck.Must(t, err)
		sum := md5.Sum(fmt.Appendf(nil, "t,%s,7", r.start))
		m := message(number(nil, 1, 0), 2, info)
		for family, file := range r.files {
			write(path.Join("/hbase/data/default/t", hex.EncodeToString(sum[:]), family, "ab_SeqId_3_"), file)
			m = message(m, 3, message(message(nil, 1, []byte(family)), 2, number(message(nil, 1, []byte("ab_SeqId_3_")), 3, len(file))))
		}
		all = message(all, 2, m)
	}
	write("/hbase/.hbase-snapshot/s/data.manifest", all)
	write("/hbase/.hbase-snapshot/s/.snapshotinfo", number(number(message(message(nil, 1, []byte("s")), 2, []byte("t")), 3, 1000), 5, 2))
	s, err := snapshot.Open(t.Context(), fsys, "/hbase", "s")
	testcheck.Must(t, err)
	return s
}

// labCells is a table of these cells, with regions that begin at the given rows beside the first.
func labCells(t testing.TB, cells []hfile.Cell, splits ...string) *snapshot.Snapshot {
	t.Helper()
	var families []string
	for _, c := range cells {
		if !slices.Contains(families, string(c.Family)) {
			families = append(families, string(c.Family))
		}
	}
	if families == nil {
		families = []string{"f"}
	}
	slices.SortStableFunc(cells, func(a, b hfile.Cell) int {
		return cmp.Or(bytes.Compare(a.Family, b.Family), hfile.Compare(&a, &b))
	})
	var regions []labRegion
	for i, start := range append([]string{""}, splits...) {
		r := labRegion{start: start, files: map[string][]byte{}}
		if i < len(splits) {
			r.end = splits[i]
		}
		for _, family := range families {
			var b bytes.Buffer
			w, err := hfile.NewWriter(&b, hfile.Options{})
			testcheck.Must(t, err)
			n := 0
			for _, c := range cells {
				if string(c.Family) == family && string(c.Row) >= r.start && (r.end == "" || string(c.Row) < r.end) {
					testcheck.Must(t, w.Append(&c))
					n++
				}
			}
			_, err = w.Finish()
			testcheck.Must(t, err)
			if n > 0 {
				r.files[family] = b.Bytes()
			}
		}
		regions = append(regions, r)
	}
	return labSnapshot(t, families, regions)
}

// labBuild is a table that was loaded with the files of a build.
func labBuild(t testing.TB, dir string, m *manifest.Manifest, splits [][]byte) *snapshot.Snapshot {
	t.Helper()
	regions := make([]labRegion, len(splits)+1)
	for i := range regions {
		regions[i].files = map[string][]byte{}
		if i > 0 {
			regions[i].start = string(splits[i-1])
		}
		if i < len(splits) {
			regions[i].end = string(splits[i])
		}
	}
	for _, f := range m.Files {
		regions[f.Region].files[f.Family] = jobtest.ReadWhole(t, hdfsio.Local{}, path.Join(dir, f.Name))
	}
	return labSnapshot(t, m.Families(), regions)
}

// put is a cell of text row family:qualifier value.
func put(row, column, value string) hfile.Cell {
	family, qualifier, _ := strings.Cut(column, ":")
	return hfile.Cell{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Timestamp: 1000, Type: hfile.Put, Value: []byte(value)}
}

// exported runs an export into a directory in memory.
func exported(t testing.TB, s *snapshot.Snapshot, o Options) (*hdfsio.Memory, *Manifest) {
	t.Helper()
	p, err := Compile(o)
	testcheck.Must(t, err)
	fsys := hdfsio.NewMemory()
	m, err := p.Run(t.Context(), s, fsys, "/out")
	testcheck.Must(t, err)
	return fsys, m
}

// fileText is a file of a directory in memory.
func fileText(t testing.TB, fsys *hdfsio.Memory, name string) string {
	t.Helper()
	f, err := fsys.Open(t.Context(), name)
	testcheck.Must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	testcheck.Must(t, err)
	return string(b)
}

// resolve is a job of a spec without a key.
func resolve(t testing.TB, s spec.Spec) *spec.Job {
	t.Helper()
	j, err := s.ResolveTable()
	testcheck.Must(t, err)
	return &j
}

// readBack reads files as package source does: values as text, NULL as nil.
func readBack(t testing.TB, fsys hdfsio.FS, dir string, o source.Options) ([]map[string]any, error) {
	t.Helper()
	in, err := source.Open(t.Context(), func(name string) (source.FS, string, error) { return fsys, name, nil }, []string{dir}, o)
	if err != nil {
		return nil, err
	}
	return jobtest.Texts(context.WithoutCancel(t.Context()), in)
}

// writeOver writes a file of the disk, whatever it has been.
func writeOver(t testing.TB, name string, b []byte) {
	t.Helper()
	testcheck.Must(t, os.WriteFile(name, b, 0o600))
}

// readerOptions are those of CSV with a header.
func readerOptions(columns []string) source.Options {
	return source.Options{Format: source.FormatCSV, Columns: columns}
}
