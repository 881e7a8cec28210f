package tablesource

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/keygen/rowkey"
)

// region is a region as a file, a part of one, or the directory of them all.
type region struct {
	snap        *snapshot.Snapshot
	number      int // −1: the directory
	part, parts int // of a region that is cut
	start, stop []byte
	none        bool // it has no row that is read
	ordinal     int  // of all files
}

// partBytes is the size of the part of a region's HFiles that is one file of the input: two seconds'
// work, so that the cores end at about the same time.
const partBytes = 32 << 20

// layout cuts the regions of a snapshot. It reads the index of one file of each
// large region, once for a manifest. Where a region is cut follows from the
// snapshot, never from the number of workers.
func (f *Files) layout(ctx context.Context, snap *snapshot.Snapshot) ([]region, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parts != nil && f.of == snap.Checksum {
		return f.parts, nil
	}
	var parts []region
	for i := range snap.Regions {
		cuts, err := f.cutsOf(ctx, snap, i)
		if err != nil {
			return nil, err
		}
		var start []byte
		for k := range len(cuts) + 1 {
			r := region{snap: snap, number: i, part: k, parts: len(cuts) + 1, start: start, ordinal: len(parts)}
			if k < len(cuts) {
				r.stop = cuts[k]
			}
			r.none = !f.hasRows(r)
			parts, start = append(parts, r), r.stop
		}
	}
	f.of, f.parts = snap.Checksum, parts
	return parts, nil
}

// hasRows reports whether rows of a part may be among those that are read.
func (f *Files) hasRows(r region) bool {
	part, ok := keyrange.Range{Start: r.start, Stop: r.stop}.Intersect(keyrange.Range{Start: r.snap.Regions[r.number].Start, Stop: r.snap.Regions[r.number].End})
	return ok && len(keyrange.Within(f.Choice.Ranges, part)) > 0
}

// cutsOf returns the rows before which region i is cut: those of a plan, else those of
// its largest file.
func (f *Files) cutsOf(ctx context.Context, snap *snapshot.Snapshot, i int) ([]rowkey.Key, error) {
	if f.held != nil {
		return f.cuts[i], nil
	}
	most := cmp.Or(f.PartBytes, partBytes)
	rows, err := snap.Cuts(ctx, i, int((snap.Regions[i].Bytes+most-1)/most))
	return rowkey.Keys(rows), err
}

// Part is the rows of a region from Start on and before Stop, nil: from its first or to its last.
type Part struct {
	Name        string // of its file
	Region      int
	Start, Stop []byte
}

// Parts returns the snapshot, and what its files stand for in their order.
func (f *Files) Parts(ctx context.Context) (*snapshot.Snapshot, []Part, error) {
	snap, err := f.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	regions, err := f.layout(ctx, snap)
	var parts []Part
	for _, r := range regions {
		parts = append(parts, Part{r.Name(), r.number, r.start, r.stop})
	}
	return snap, parts, err
}

// Name orders files as rows are.
func (r region) Name() string {
	switch {
	case r.number < 0:
		return r.snap.Name
	case r.parts > 1:
		return fmt.Sprintf("%05d-%s-%05d", r.number, r.snap.Regions[r.number].Encoded, r.part)
	}
	return fmt.Sprintf("%05d-%s", r.number, r.snap.Regions[r.number].Encoded)
}

// Size is 0 of a region without files, which has no rows, and of a part without a row that is read. The parts of a region
// have its bytes together.
func (r region) Size() int64 {
	if r.number < 0 || r.none {
		return 0
	}
	s := r.snap.Regions[r.number]
	all, k, n := max(s.Bytes, int64(s.Files)), int64(r.part), int64(max(r.parts, 1))
	return all*(k+1)/n - all*k/n
}

func (r region) Mode() fs.FileMode {
	if r.number < 0 {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

func (r region) ModTime() time.Time { return r.snap.Created }
func (r region) IsDir() bool        { return r.number < 0 }
func (r region) Sys() any           { return nil }

// FileID distinguishes the files of one manifest from those of another.
func (r region) FileID() (uint64, bool) {
	return binary.BigEndian.Uint64(r.snap.Checksum[:])>>1 + uint64(r.ordinal+1), true // JSON has 63 bits everywhere
}
