package export

import (
	"context"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/pipeline/tablesource"
)

// An Input is the table whose rows are exported.
type Input struct {
	Table    string
	Families []string
	// Snapshot is the name of the one that is read. Empty: the table is, by scans.
	Snapshot string
	// Created is the time of the snapshot, of a table that when its reading began.
	Created time.Time
	// Splits are the rows at which regions after the first begin.
	Splits [][]byte
	// Regions are the encoded names of the regions, in order, "" where they are not known.
	Regions []string
	// Room is how many bytes reading a region takes.
	Room int
	// Each reads all regions, of some families, none for all, the cells of a choice, up to n at a time. The first error
	// ends all.
	Each func(ctx context.Context, n int, families []string, c choice.Choice, do func(ctx context.Context, region int, c tablesource.Cells) error) error

	// Check refuses a choice that does not fit the table, before it is read. Nil: all fit.
	Check func(context.Context, choice.Choice) error

	snap  *snapshot.Snapshot
	files int // of the region with the most
}

// OfSnapshot returns a snapshot as an input.
func OfSnapshot(s *snapshot.Snapshot) Input {
	in := Input{Table: s.Table, Snapshot: s.Name, Created: s.Created, Families: s.FamilyNames(), Splits: s.Splits(), snap: s, files: 1}
	for i := range s.Regions {
		in.Regions = append(in.Regions, s.Regions[i].Encoded)
		in.files = max(in.files, s.Regions[i].Files)
	}
	in.Room = in.files * (leastAhead + blockRoom)
	return in
}

// each reads all regions.
func (w *writing) each(ctx context.Context) error {
	if w.in.snap == nil {
		return w.in.Each(ctx, w.workers, w.p.family, w.choice, w.region)
	}
	view := snapshot.View{Versions: max(1, w.choice.Versions), Families: w.p.family, Choice: w.choice, Now: w.now, ReadAhead: w.ahead}
	return w.in.snap.Each(ctx, w.workers, view, func(ctx context.Context, i int, sc *snapshot.Scan) error { return w.region(ctx, i, sc) })
}

// name returns the name of the input in errors.
func (in *Input) name(region int) string {
	if in.Snapshot == "" {
		return "table " + in.Table
	}
	return "snapshot " + in.Snapshot + ", region " + in.Regions[region]
}
