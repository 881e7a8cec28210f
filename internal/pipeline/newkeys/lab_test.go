package newkeys

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"slices"
	"testing"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
)

// labNow is the time at which the tests read snapshots.
var labNow = time.UnixMilli(2_000_000)

// lab is the table n:old on an in-memory file system.
type lab struct {
	*testsnapshot.Table
	t     testing.TB
	loads int
}

func newLab(t testing.TB, starts []string, families ...string) *lab {
	return newLabOf(t, 3, starts, families...)
}

// newLabOf makes a table whose families keep some versions.
func newLabOf(t testing.TB, versions int, starts []string, families ...string) *lab {
	return &lab{t: t, Table: testsnapshot.New(t, testsnapshot.Options{Table: "n:old", Families: families, Splits: starts, Versions: versions, TTL: math.MaxInt32,
		HFiles: hfile.Options{Encoding: hfile.EncodingFastDiff, Compression: hfile.CompressionSnappy, BlockSize: 4096}})}
}

// load adds files with these cells, which hide equal ones of earlier calls.
func (l *lab) load(cells ...hfile.Cell) {
	l.t.Helper()
	l.loads++
	l.Load(l.loads, cells...)
}

// open takes a snapshot.
func (l *lab) open() *snapshot.Snapshot {
	l.t.Helper()
	l.Save()
	s, err := snapshot.Open(l.t.Context(), l.FS, l.Root, l.Snapshot)
	testcheck.Must(l.t, err)
	return s
}

// plan returns a plan for the lab's table.
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
	for _, f := range l.Families {
		p.Families = append(p.Families, spec.Family{Name: f, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow, BlockSize: 64 << 10})
	}
	return p
}

// build builds into a directory of its own.
func (l *lab) build(s *snapshot.Snapshot, p *Plan, o Options) (*manifest.Manifest, string, error) {
	l.t.Helper()
	const dir = "/out"
	testcheck.Must(l.t, l.FS.RemoveAll(context.Background(), dir))
	testcheck.Must(l.t, l.FS.MkdirAll(context.Background(), dir, 0o755))
	if o.SpillDir == "" {
		o.SpillDir = l.t.TempDir()
	}
	m, err := Build(l.t.Context(), s, p, build.Output{FS: l.FS, Dir: dir, FileMode: 0o644, DirMode: 0o755}, o, nil)
	return m, dir, err
}

// line formats a cell as text.
func line(row []byte, c *hfile.Cell) string {
	return fmt.Sprintf("%q %s:%q %d %s %q %x", row, c.Family, c.Qualifier, c.Timestamp, c.Type, c.Value, c.Tags)
}

// cells returns the cells in the files of a manifest, in the order of rows and
// families, and checks that each file is within the bounds of its region.
func (l *lab) cells(m *manifest.Manifest, p *Plan, dir string) (lines []string) {
	l.t.Helper()
	for _, f := range m.Files {
		b := jobtest.ReadWhole(l.t, l.FS, path.Join(dir, f.Name))
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

// ttlTag returns a TTL tag, in milliseconds.
func ttlTag(ms int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0, 9, tagTTL}, uint64(ms))
}
