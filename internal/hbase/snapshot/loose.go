package snapshot

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"bulkload/pkg/hdfsio"
)

// A LooseFile is an HFile that does not belong to a table.
type LooseFile struct {
	Family      string
	Path        string // absolute, on the file system
	Size        int64
	First, Last []byte // rows, both inclusive
}

// OfFiles presents HFiles as the snapshot of a table that has loaded all of them, whose families keep every version and whose cells do not
// expire. Files that share rows are in the same region; every other file has a region of its own. All regions but the first begin at first rows
// of files; the first begins at the start of the table. In errors, dir stands for the name of the snapshot. Files are not opened before a Scan.
func OfFiles(fsys hdfsio.FS, dir string, files []LooseFile) (*Snapshot, error) {
	s := &Snapshot{Name: dir, fsys: fsys, loose: true}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b LooseFile) int { return bytes.Compare(a.First, b.First) })
	var last []byte
	for i, f := range files {
		if bytes.Compare(f.First, f.Last) > 0 {
			return nil, fmt.Errorf("%s: %w: its first row is after its last", f.Path, ErrDamaged)
		}
		if i == 0 || bytes.Compare(f.First, last) > 0 {
			r := Region{Encoded: f.Path, Start: []byte{}, stores: map[string][]storeFile{}}
			if i > 0 {
				r.Start = f.First
				s.Regions[len(s.Regions)-1].End = f.First
			}
			s.Regions = append(s.Regions, r)
		}
		if bytes.Compare(f.Last, last) > 0 {
			last = f.Last
		}
		r := &s.Regions[len(s.Regions)-1]
		r.stores[f.Family] = append(r.stores[f.Family], storeFile{name: f.Path, size: f.Size})
		r.Files++
		r.Bytes += f.Size
		if !slices.ContainsFunc(s.Families, func(have Family) bool { return have.Name == f.Family }) {
			s.Families = append(s.Families, Family{Name: f.Family, Versions: math.MaxInt, TTL: math.MaxInt64, BlockSize: 64 << 10})
		}
	}
	slices.SortFunc(s.Families, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	if len(s.Regions) == 0 {
		s.Regions = []Region{{Start: []byte{}}}
	}
	return s, nil
}
