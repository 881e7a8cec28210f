package compare

import (
	"context"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
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

// result returns the description of the side before it is read.
func (o *opened) result() result.ComparedSide {
	return result.ComparedSide{Name: o.name(), As: o.as, Time: o.at.UTC(), Conf: o.Conf}
}

// families returns the families that the side has.
func (o *opened) families() []string {
	if o.scan != nil {
		return o.scan.Families
	}
	return o.snap.FamilyNames()
}

// bytes returns how many the side's HFiles have, 0 if that is not known.
func (o *opened) bytes() int64 {
	if o.snap == nil {
		return 0
	}
	return o.snap.Bytes()
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

// read begins to read a range of rows. The result lives as long as ctx, and must be closed.
func (o *opened) read(ctx context.Context, r keyrange.Range, v view) cells {
	if o.scan != nil {
		v.choice.Ranges = []keyrange.Range{r}
		return o.scan.ScanRows(ctx, tablesource.RowView{Choice: v.choice})
	}
	return o.snap.ScanRange(ctx, snapshot.View{Versions: v.versions, Now: v.now, Choice: v.choice, Start: r.Start, Stop: r.Stop})
}
