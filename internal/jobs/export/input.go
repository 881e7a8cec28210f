package export

import (
	"context"
	"time"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/choice"
	"bulkload/internal/pipeline/tablesource"
)

// An Input is a table to export.
type Input struct {
	Table    string
	Families []string
	// Snapshot is the name of the snapshot that is read. Empty: the table is scanned.
	Snapshot string
	// Created is the creation time of the snapshot, or the start of reading a table.
	Created time.Time
	// Splits are the start keys of all regions but the first.
	Splits [][]byte
	// Regions are the encoded names of the regions, in order, "" if unknown.
	Regions []string
	// Room is the memory in bytes for reading a region.
	Room int
	// Each reads all regions, up to n concurrently. It reads the cells of a choice in the given families; no families mean all. The first error stops it.
	Each func(ctx context.Context, n int, families []string, c choice.Choice, do func(ctx context.Context, region int, c tablesource.Cells) error) error

	// Check refuses a choice that does not fit the table, before reading. Nil: every choice fits.
	Check func(context.Context, choice.Choice) error

	snap  *snapshot.Snapshot
	files int // maximum number of files in a region
}

// OfSnapshot returns a snapshot as an input.
func OfSnapshot(s *snapshot.Snapshot) Input {
	in := Input{Table: s.Table, Snapshot: s.Name, Created: s.Created, Families: s.FamilyNames(), Splits: s.Splits(), snap: s, files: 1}
	for i := range s.Regions {
		in.Regions = append(in.Regions, s.Regions[i].Encoded)
		in.files = max(in.files, s.Regions[i].Files)
	}
	in.Room = in.files * (minAhead + blockRoom)
	return in
}

// each reads all regions.
func (w *writing) each(ctx context.Context) error {
	if w.in.snap == nil {
		return w.in.Each(ctx, w.workers, w.plan.family, w.choice, w.region)
	}
	view := snapshot.View{Versions: max(1, w.choice.Versions), Families: w.plan.family, Choice: w.choice, Now: w.now, ReadAhead: w.ahead}
	return w.in.snap.Each(ctx, w.workers, view, func(ctx context.Context, i int, sc *snapshot.Scan) error { return w.region(ctx, i, sc) })
}

// name returns the name of the input in errors.
func (in *Input) name(region int) string {
	if in.Snapshot == "" {
		return "table " + in.Table
	}
	return "snapshot " + in.Snapshot + ", region " + in.Regions[region]
}
