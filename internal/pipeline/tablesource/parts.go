package tablesource

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/keygen/rowkey"
)

// region is a file that represents a region or a part of one, or the directory.
type region struct {
	snap *snapshot.Snapshot
	number
	part, parts int // of a region that is cut into parts
	start, stop []byte
	none        bool // no row of it is read
	ordinal     int  // among all files
}

// number is the number of a file's region or part; −1: the directory of all files.
type number int

func (n number) IsDir() bool { return n < 0 }
func (number) Sys() any      { return nil }

func (n number) Mode() fs.FileMode {
	if n < 0 {
		return fs.ModeDir | 0o500
	}
	return 0o400
}

// partBytes is the number of bytes of a region's HFiles that one file represents:
// two seconds' work, so that the cores finish at about the same time.
const partBytes = 32 << 20

// layout opens the snapshot and cuts its regions into parts. It reads the index of one
// file of each large region, once per manifest. The cuts depend on the
// snapshot, never on the number of workers.
func (f *Files) layout(ctx context.Context) (*snapshot.Snapshot, []region, error) {
	snap, err := f.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parts != nil && f.of == snap.Checksum {
		return snap, f.parts, nil
	}
	var parts []region
	for i := range snap.Regions {
		cuts, err := f.cutsOf(ctx, snap, i)
		if err != nil {
			return nil, nil, err
		}
		var start []byte
		for k := range len(cuts) + 1 {
			r := region{snap: snap, number: number(i), part: k, parts: len(cuts) + 1, start: start, ordinal: len(parts)}
			if k < len(cuts) {
				r.stop = cuts[k]
			}
			r.none = !f.hasRows(r)
			parts, start = append(parts, r), r.stop
		}
	}
	f.of, f.parts = snap.Checksum, parts
	return snap, parts, nil
}

// hasRows reports whether a part may have rows that are read.
func (f *Files) hasRows(r region) bool {
	part, ok := keyrange.Range{Start: r.start, Stop: r.stop}.Intersect(keyrange.Range{Start: r.snap.Regions[r.number].Start, Stop: r.snap.Regions[r.number].End})
	return ok && len(keyrange.Within(f.Choice.Ranges, part)) > 0
}

// cutsOf returns the rows at which region i is cut: from the plan, else from its
// largest file.
func (f *Files) cutsOf(ctx context.Context, snap *snapshot.Snapshot, i int) ([]rowkey.Key, error) {
	if f.held != nil {
		return f.cuts[i], nil
	}
	most := cmp.Or(f.PartBytes, partBytes)
	rows, err := snap.Cuts(ctx, i, int((snap.Regions[i].Bytes+most-1)/most))
	return rowkey.Keys(rows), err
}

// Part is the rows of a region from Start (inclusive) to Stop (exclusive); nil: the region's bound.
type Part struct {
	Name        string // of its file
	Region      int
	Start, Stop []byte
}

// Parts returns the snapshot, and the parts that its files represent, in order.
func (f *Files) Parts(ctx context.Context) (*snapshot.Snapshot, []Part, error) {
	snap, regions, err := f.layout(ctx)
	var parts []Part
	for _, r := range regions {
		parts = append(parts, Part{r.Name(), int(r.number), r.start, r.stop})
	}
	return snap, parts, err
}

// Name returns a name that sorts files in the order of their rows.
func (r region) Name() string {
	switch {
	case r.number < 0:
		return r.snap.Name
	case r.parts > 1:
		return fmt.Sprintf("%05d-%s-%05d", r.number, r.snap.Regions[r.number].Encoded, r.part)
	}
	return fmt.Sprintf("%05d-%s", r.number, r.snap.Regions[r.number].Encoded)
}

// Size is 0 for a region without files, which has no rows, and for a part without rows to read. The sizes of a
// region's parts add up to the region's bytes.
func (r region) Size() int64 {
	if r.number < 0 || r.none {
		return 0
	}
	s := r.snap.Regions[r.number]
	all, k, n := max(s.Bytes, int64(s.Files)), int64(r.part), int64(max(r.parts, 1))
	return all*(k+1)/n - all*k/n
}

func (r region) ModTime() time.Time { return r.snap.Created }

// FileID returns an id that differs between the files of different manifests.
func (r region) FileID() (uint64, bool) {
	return (binary.BigEndian.Uint64(r.snap.Checksum[:])>>1 + uint64(r.ordinal+1)) & math.MaxInt64, true // JSON numbers have 63 bits everywhere
}

// Planned is a plan's description of a snapshot: all processes that read an input
// by the plan read this one.
type Planned struct {
	Input   string    `json:"input"`
	Name    string    `json:"snapshot"`
	Table   string    `json:"table"`
	Created time.Time `json:"created"`
	// Cuts are the rows at which large regions are cut into files, by the number of
	// the region. A reader that has them opens only the files that it reads.
	Cuts map[int][]rowkey.Key `json:"cuts,omitempty"`
	// Choice selects the cells to read.
	Choice choice.Choice `json:"choice,omitzero"`
}

// Plan describes the snapshot for other processes, which read it as an input.
// The snapshot must exist as long as they read.
func (f *Files) Plan(ctx context.Context, input string) (Planned, error) {
	snap, parts, err := f.layout(ctx)
	if err != nil {
		return Planned{}, fail.With(fail.Input, err)
	}
	p := Planned{Input: input, Name: f.name, Table: snap.Table, Created: snap.Created.UTC(), Cuts: map[int][]rowkey.Key{}, Choice: f.Choice}
	for _, r := range parts {
		if r.part > 0 {
			p.Cuts[int(r.number)] = append(p.Cuts[int(r.number)], r.start)
		}
	}
	return p, nil
}

// Mount makes env read the input through the snapshot. It returns an error if
// another snapshot has the name.
func (p Planned) Mount(ctx context.Context, env *cluster.Env, parser Parser) (*Files, error) {
	ref, _, err := Parse(p.Input)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	s, err := Open(ctx, env, Ref{Snapshot: p.Name}, Options{})
	if err != nil {
		return nil, err
	}
	if is := s.Snapshot; is.Table != p.Table || !is.Created.Equal(p.Created) {
		return nil, fail.Errorf(fail.Input, "snapshot %s is of table %s at %s, the plan's of %s at %s: make another plan", p.Name, is.Table, is.Created.UTC().Format(time.RFC3339Nano), p.Table, p.Created.Format(time.RFC3339Nano))
	}
	files := NewFiles(s.fsys, s.root, p.Name, ref, parser)
	files.held, files.cuts, files.Choice = s.Snapshot, p.Cuts, p.Choice
	env.Mount(p.Input, files, files.dir)
	return files, nil
}
