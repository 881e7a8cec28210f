package compare

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hfile"
)

// opened is a side that can be read: one of snap and scan is not nil. Safe for concurrent use.
type opened struct {
	Side
	snap *snapshot.Snapshot
	scan *tablesource.Scanned
	as   string // read_as of results
	at   time.Time
	sum  string // of what was built; empty: nothing was

	close func(context.Context) error // nil: nothing is to be closed
}

// result is what a comparison says of the side before it is read.
func (o *opened) result() result.ComparedSide {
	return result.ComparedSide{Name: o.name(), As: o.as, Time: o.at.UTC(), Conf: o.Conf}
}

// families are those that the side has.
func (o *opened) families() (names []string) {
	if o.scan != nil {
		return o.scan.Families
	}
	for _, f := range o.snap.Families {
		names = append(names, f.Name)
	}
	return names
}

// bytes is how many the side's HFiles have, 0 if that is not known.
func (o *opened) bytes() (n int64) {
	if o.snap != nil {
		for _, r := range o.snap.Regions {
			n += r.Bytes
		}
	}
	return n
}

// room is about how many bytes reading a range takes: what its largest region takes, since a range is read region after region.
func (o *opened) room() int64 {
	if o.scan != nil {
		return tablesource.ScanMemory
	}
	most := int64(1)
	for i := range o.snap.Regions {
		most = max(most, o.snap.ScanMemory(i))
	}
	return most
}

// check sees that the families of the choice are there, unless the side has no file.
func (o *opened) check(v view) error {
	if have := o.families(); len(have) > 0 {
		return v.choice.CheckFamilies(o.name(), have)
	}
	return nil
}

// read begins to read a range of rows. ctx bounds the life of what it gives, which must be closed.
func (o *opened) read(ctx context.Context, r keyrange.Range, v view) (cells, error) {
	if v.choice.Ranges = []keyrange.Range{r}; o.scan != nil {
		return o.scan.ScanRows(ctx, tablesource.RowView{Choice: v.choice}), nil
	}
	sv := snapshot.View{Versions: v.versions, Now: v.now, Choice: v.choice}
	return &regionCells{ctx: ctx, snap: o.snap, view: sv, stop: r.Stop, next: firstRegion(o.snap, r.Start)}, nil
}

// firstRegion is the index of the region that has a row.
func firstRegion(s *snapshot.Snapshot, row []byte) int {
	at, found := slices.BinarySearchFunc(s.Regions, row, func(r snapshot.Region, row []byte) int { return bytes.Compare(r.Start, row) })
	if !found && at > 0 {
		at--
	}
	return at
}

// regionCells are the cells of a range that several regions may have.
type regionCells struct {
	ctx  context.Context
	snap *snapshot.Snapshot
	view snapshot.View
	stop []byte // where the range ends
	next int    // region
	sc   *snapshot.Scan
	err  error
}

func (c *regionCells) Next() bool {
	for c.err == nil {
		if c.sc != nil {
			if c.sc.Next() {
				return true
			}
			if c.err = errors.Join(c.sc.Err(), c.Close()); c.err != nil {
				return false
			}
		}
		if c.next == len(c.snap.Regions) {
			return false
		}
		r := &c.snap.Regions[c.next]
		if c.next++; len(c.stop) > 0 && bytes.Compare(r.Start, c.stop) >= 0 {
			c.next = len(c.snap.Regions)
			return false
		}
		if r.Files > 0 {
			c.sc, c.err = c.snap.Scan(c.ctx, c.next-1, c.view)
		}
	}
	return false
}

func (c *regionCells) Cell() *hfile.Cell { return c.sc.Cell() }
func (c *regionCells) NewRow() bool      { return c.sc.NewRow() }
func (c *regionCells) Err() error        { return c.err }

func (c *regionCells) Close() error {
	if c.sc == nil {
		return nil
	}
	err := c.sc.Close()
	c.sc = nil
	return err
}
