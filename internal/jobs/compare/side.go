package compare

import (
	"bytes"
	"context"
	"slices"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
)

// opened is a side that can be read: exactly one of snap and scan is set. Safe for concurrent use.
type opened struct {
	Side
	snap *snapshot.Snapshot
	scan *tablesource.Scanned
	as   string // read_as in results
	at   time.Time
	sum  string // checksum of a side of HFiles: of what they were built from, or of the files in the directory

	rejected   int64  // bad records of an export that were set aside: their rows are not compared
	rejectFile string // has them; empty: there are none

	close func(context.Context) error // nil: nothing to close
}

// result returns the description of the side before it is read.
func (o *opened) result() result.ComparedSide {
	return result.ComparedSide{Name: o.name(), As: o.as, Time: o.at.UTC(), Conf: o.Conf, Rejected: o.rejected, RejectFile: o.rejectFile}
}

// families returns the families of the side.
func (o *opened) families() []string {
	if o.scan != nil {
		return o.scan.Families
	}
	return o.snap.FamilyNames()
}

// bytes returns the size of the side's HFiles, 0 if unknown.
func (o *opened) bytes() int64 {
	if o.snap == nil {
		return 0
	}
	return o.snap.Bytes()
}

// room returns the approximate memory for reading a range: that of its largest region, since a range is read one region at a time.
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

// check refuses a choice with families that the side does not have, unless it has no files.
func (o *opened) check(v view) error {
	if have := o.families(); len(have) > 0 {
		return v.choice.CheckFamilies(o.name(), have)
	}
	return nil
}

// read starts reading a range of rows. ctx bounds the life of the returned cells, which must be closed.
func (o *opened) read(ctx context.Context, r keyrange.Range, v view) cells {
	if o.scan != nil {
		v.choice.Ranges = []keyrange.Range{r}
		return o.scan.ScanRows(ctx, tablesource.RowView{Choice: v.choice})
	}
	return o.snap.ScanRange(ctx, snapshot.View{Versions: v.versions, Now: v.now, Choice: v.choice, Start: r.Start, Stop: r.Stop})
}

// divide cuts all rows into ranges of about the given number of bytes of the larger side, at its region boundaries and at blocks of its files. A
// scanned side is cut at its region boundaries.
func divide(ctx context.Context, a, b *opened, most int64) (cuts [][]byte, err error) {
	larger := a
	if b.bytes() > a.bytes() {
		larger = b
	}
	if larger.snap == nil {
		return larger.scan.Starts[1:], nil
	}
	gathered := int64(0)
	for i := range larger.snap.Regions {
		r := &larger.snap.Regions[i]
		if gathered += r.Bytes; i > 0 && (gathered > most || r.Bytes > most/2) {
			cuts, gathered = append(cuts, r.Start), r.Bytes
		}
		if r.Bytes <= most {
			continue
		}
		rows, err := larger.snap.Cuts(ctx, i, int((r.Bytes+most-1)/most))
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, rows...)
		gathered = most
	}
	return cuts, nil
}

// within returns the ranges between cuts, intersected with in. An empty in is all rows.
func within(cuts [][]byte, in []keyrange.Range) (out []keyrange.Range) {
	if len(in) == 0 {
		in = []keyrange.Range{{}}
	}
	for _, r := range in {
		start := r.Start
		for _, cut := range cuts {
			if bytes.Compare(cut, start) <= 0 {
				continue
			}
			if len(r.Stop) > 0 && bytes.Compare(cut, r.Stop) >= 0 {
				break
			}
			out, start = append(out, keyrange.Range{Start: start, Stop: cut}), cut
		}
		out = append(out, keyrange.Range{Start: start, Stop: r.Stop})
	}
	return slices.Clip(out)
}
