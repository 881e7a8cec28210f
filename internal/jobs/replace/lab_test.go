package replace

import (
	"fmt"
	"path"
	"testing"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// labStamp is the timestamp of the load of these tests.
const labStamp = 200

// lab is a table t with two regions on a file system in memory.
type lab struct {
	*testsnapshot.Table
	t testing.TB
}

func newLab(t testing.TB, versions int, families ...string) *lab {
	return &lab{t: t, Table: testsnapshot.New(t, testsnapshot.Options{Families: families, Versions: versions, Splits: []string{"c"},
		HFiles: hfile.Options{Encoding: hfile.EncodingFastDiff, BlockSize: 200}})}
}

// open takes a snapshot.
func (l *lab) open() *snapshot.Snapshot {
	l.t.Helper()
	l.Save()
	s, err := snapshot.Open(l.t.Context(), l.FS, l.Root, l.Snapshot)
	testcheck.Must(l.t, err)
	return s
}

// stage writes the cells of an export, which are in order, into files of one family each, cut before the given rows.
func (l *lab) stage(cells []hfile.Cell, cuts ...string) *Export {
	e := &Export{FS: l.FS}
	for _, family := range l.Families {
		var rest []hfile.Cell
		for _, c := range cells {
			if string(c.Family) == family {
				rest = append(rest, c)
			}
		}
		for n, cut := range append(cuts, "~") {
			var part, after []hfile.Cell
			for _, c := range rest {
				if string(c.Row) < cut {
					part = append(part, c)
				} else {
					after = append(after, c)
				}
			}
			if rest = after; len(part) == 0 {
				continue
			}
			name := fmt.Sprintf("export/%s/%d", family, n)
			l.Write(name, testsnapshot.HFile(l.t, l.HFiles, part...))
			e.Files = append(e.Files, File{Family: family, Path: path.Join(l.Root, name), First: part[0].Row, Last: part[len(part)-1].Row})
		}
	}
	return e
}
