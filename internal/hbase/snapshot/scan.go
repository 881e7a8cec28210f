package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/choice"
	"bulkload/pkg/hfile"
)

// View selects the cells that a scan returns. The zero value selects all
// versions that the families keep.
type View struct {
	// Versions is the number of versions per column, at most the number that its
	// family keeps; 0: that number. A raw scan is limited by this field only, 0: all.
	Versions int
	// Raw returns delete markers and the cells that they hide too, and ignores the families' TTL.
	Raw bool
	// Doubles makes a raw scan return a cell once for each file that has it, beginning with the one that readers see.
	Doubles bool
	// Now is the time that decides which cells have expired, default the time of
	// the call. Scans of one job that use the same Now return the same cells.
	Now time.Time
	// Families are the families to read, default all.
	Families []string
	// Choice selects cells. Versions counts only versions within its time range.
	Choice choice.Choice
	// Newest makes a scan that is not raw also return the newest cell of each column, even if it is not chosen: see [Scan.Chosen].
	Newest bool
	// Start (inclusive) and Stop (exclusive) bound the rows, default the bounds of
	// the region. Several scans can read parts of a large region.
	Start, Stop []byte
	// ReadAhead is the number of bytes fetched at a time from each file, default
	// 256 KiB and less in regions of many files.
	ReadAhead int
}

// A Scan iterates over the cells of one region.
//
//	for s.Next() { use s.Cell() }
//	if err := s.Err(); err != nil { … }
//
// It must be closed.
type Scan struct {
	ctx    context.Context
	of     string // what is scanned, for errors
	region *Region
	files  []*fileCells
	merge  *merge
	choice choice.Choice
	rules  []visible // of each family
	heads  []visible // that accept only the newest cell of each column; nil: not requested
	chosen bool      // the current cell is chosen
	newest bool      // the current cell is the newest of its column
	row    []byte
	inRow  bool
	family int // of the last cell
	cell   *hfile.Cell
	place  *place // of the current cell
	given  bool   // a cell of the row was returned
	fresh  bool
	before int64 // bytes of the files that are skipped, because the scan reads only a part of the region
	stats  Stats
	ended  bool // ctx has ended the scan
	err    error
}

// checkEvery is the number of read cells between checks for cancellation.
const checkEvery = 1 << 12

// Stats counts what a scan has read and returned.
type Stats struct {
	Read  int64 // cells in the files
	Rows  int64 // with cells that were returned
	Cells int64 // that were returned
}

// aheadInAll limits the read-ahead of all files of a region together, unless there
// are so many files that each gets aheadLeast.
const (
	aheadInAll = 8 << 20
	aheadMost  = 256 << 10
	aheadLeast = 64 << 10
)

// readAhead returns the number of bytes fetched at a time from each file of a region.
func (r *Region) readAhead() int {
	return min(max(aheadInAll/max(r.Files, 1), aheadLeast), aheadMost)
}

// ScanMemory returns the approximate number of bytes that a scan of region i takes:
// for each file a block, compressed and uncompressed, and the read-ahead buffer.
func (s *Snapshot) ScanMemory(i int) (n int64) {
	r := &s.Regions[i]
	for _, f := range s.Families {
		n += int64(len(r.stores[f.Name])) * int64(2*f.BlockSize+r.readAhead())
	}
	return n
}

// Scan opens the files of region i of s.Regions and is positioned before its
// first cell. ctx limits its lifetime.
func (s *Snapshot) Scan(ctx context.Context, i int, v View) (*Scan, error) {
	r := &s.Regions[i]
	sc := &Scan{ctx: ctx, of: s.place(r), region: r}
	if err := sc.open(ctx, s, v); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", sc.of, err), sc.Close())
	}
	return sc, nil
}

func (sc *Scan) open(ctx context.Context, s *Snapshot, v View) (err error) {
	for _, name := range v.Families {
		if !slices.ContainsFunc(s.Families, func(f Family) bool { return f.Name == name }) {
			return fmt.Errorf("table %s has no family %s", s.Table, name)
		}
	}
	if v.Now.IsZero() {
		v.Now = time.Now()
	}
	v.ReadAhead = cmp.Or(v.ReadAhead, sc.region.readAhead())
	var places []place
	sc.choice = v.Choice
	chosen := v.Choice.Families()
	for i, family := range s.Families {
		sc.rules = append(sc.rules, newVisible(family, v.Versions, v.Raw, v.Now.UnixMilli()))
		sc.rules[i].doubles = v.Doubles
		sc.rules[i].between(v.Choice.Since, v.Choice.Until)
		if v.Newest {
			sc.heads = append(sc.heads, newVisible(family, 1, false, v.Now.UnixMilli()))
		}
		if len(v.Families) > 0 && !slices.Contains(v.Families, family.Name) || chosen != nil && !v.Newest && !slices.Contains(chosen, family.Name) {
			continue
		}
		store := sc.region.stores[family.Name]
		from := len(sc.files)
		for j := range store {
			f, err := s.openCells(ctx, sc.region, family.Name, &store[j], &v)
			if err != nil {
				return err
			}
			if f != nil {
				sc.files = append(sc.files, f)
			}
		}
		files := sc.files[from:]
		slices.SortFunc(files, func(a, b *fileCells) int { return compareAge(&a.ids, &b.ids) })
		for rank, f := range files {
			places = append(places, place{cells: f, family: i, rank: rank})
		}
	}
	if len(v.Start) > 0 {
		sc.before = sc.offset()
	}
	sc.merge, err = newMerge(places)
	return err
}

// Next moves to the next visible cell. It returns false at the end and on an error.
func (sc *Scan) Next() bool {
	for sc.err == nil {
		if sc.stats.Read%checkEvery == 0 && sc.ctx.Err() != nil {
			sc.ended, sc.err = true, context.Cause(sc.ctx)
			break
		}
		p := sc.merge.next()
		if p == nil {
			sc.err = sc.merge.err
			break
		}
		sc.stats.Read++
		c := p.cell
		if !sc.inRow || !p.same && !bytes.Equal(c.Row, sc.row) {
			if sc.err = sc.startRow(c.Row); sc.err != nil {
				break
			}
			sc.startFamily(p.family)
		} else if p.family != sc.family {
			sc.startFamily(p.family)
		}
		if sc.chosen, sc.err = sc.rules[p.family].shows(c); sc.err != nil {
			break
		}
		sc.chosen = sc.chosen && sc.choice.Has(c.Family, c.Qualifier)
		if sc.heads != nil {
			sc.newest, sc.err = sc.heads[p.family].shows(c)
		}
		if sc.chosen || sc.newest {
			sc.fresh = !sc.given
			sc.given = true
			if sc.fresh {
				sc.stats.Rows++
			}
			sc.stats.Cells++
			sc.cell, sc.place = c, p
			return true
		}
	}
	sc.cell = nil
	return false
}

// startRow begins a row. It returns an error if the row is outside the region.
func (sc *Scan) startRow(row []byte) error {
	r := sc.region
	if bytes.Compare(row, r.Start) < 0 || len(r.End) > 0 && bytes.Compare(row, r.End) >= 0 {
		return fmt.Errorf("%w: a file has a row of %d bytes that is outside the region", ErrDamaged, len(row))
	}
	sc.row = append(sc.row[:0], row...)
	sc.inRow, sc.given = true, false
	return nil
}

// startFamily begins the cells of a family within a row.
func (sc *Scan) startFamily(family int) {
	sc.family = family
	sc.rules[family].row()
	if sc.heads != nil {
		sc.heads[family].row()
	}
}

// Chosen reports whether the current cell is one of the view's choice. It is for scans that also return the newest cell of each column.
func (sc *Scan) Chosen() bool { return sc.chosen }

// Newest reports whether the current cell is the newest of its column. It requires a view with Newest.
func (sc *Scan) Newest() bool { return sc.newest }

// Cell returns the current cell. Its slices are valid until the next call of Next.
func (sc *Scan) Cell() *hfile.Cell { return sc.cell }

// NewRow reports whether the current cell is the first of its row that is returned.
func (sc *Scan) NewRow() bool { return sc.fresh }

// Loaded reports whether the current cell is in a bulk-loaded file whose cells all have the same timestamp, like the files of a
// load. Then the cell was not written again by a compaction, nor by an undo, which loads older cells together with its markers.
func (sc *Scan) Loaded() bool {
	f, ok := sc.place.cells.(*fileCells)
	return ok && f.ids.loaded && f.ids.single
}

// Err returns the error that ended the scan, nil at its regular end.
func (sc *Scan) Err() error {
	if sc.err == nil || sc.ended {
		return sc.err
	}
	return fmt.Errorf("%s: %w", sc.of, sc.err)
}

func (s *Snapshot) place(r *Region) string {
	if s.loose {
		return "directory " + s.Name
	}
	return fmt.Sprintf("snapshot %s, region %s", s.Name, r.Encoded)
}

// Stats returns the statistics so far.
func (sc *Scan) Stats() Stats { return sc.stats }

// Position returns the approximate number of bytes of the region's files that were read.
func (sc *Scan) Position() int64 { return sc.offset() - sc.before }

func (sc *Scan) offset() (n int64) {
	for _, f := range sc.files {
		n += f.Offset()
	}
	return n
}

// Close closes the files.
func (sc *Scan) Close() error {
	var errs []error
	for _, f := range sc.files {
		errs = append(errs, f.file.close())
	}
	sc.files = nil
	return errors.Join(errs...)
}

// FamilyNames returns the names of the table's families, in their order.
func (s *Snapshot) FamilyNames() (names []string) {
	for _, f := range s.Families {
		names = append(names, f.Name)
	}
	return names
}

// Splits returns the start rows of all regions but the first.
func (s *Snapshot) Splits() (rows [][]byte) {
	for _, r := range s.Regions[1:] {
		rows = append(rows, r.Start)
	}
	return rows
}

// Bytes returns the total size of the HFiles of all regions.
func (s *Snapshot) Bytes() (n int64) {
	for _, r := range s.Regions {
		n += r.Bytes
	}
	return n
}

// Each scans all regions, up to n at a time. It calls do with each region's
// number and its scan, from up to n goroutines; do need not close the scan. Scans
// are started in the order of the regions. The first error ends all scans.
func (s *Snapshot) Each(ctx context.Context, n int, v View, do func(ctx context.Context, region int, sc *Scan) error) error {
	if v.Now.IsZero() {
		v.Now = time.Now()
	}
	return workers.Each(ctx, n, len(s.Regions), func(ctx context.Context, i int) error {
		sc, err := s.Scan(ctx, i, v)
		if err != nil {
			return err
		}
		if err = do(ctx, i, sc); err == nil {
			err = sc.Err()
		}
		return errors.Join(err, sc.Close())
	})
}
