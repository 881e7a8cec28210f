package newkeys

import (
	"context"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/tablesource"
)

// Divided holds the common settings of processes that each read a part of a snapshot's rows.
type Divided struct {
	Parts   []tablesource.Part // of the snapshot, in the order of rows: regions, or parts of them
	Columns string             // numbered columns, see [Columns]
}

// parts returns the parts of the snapshot.
func (p *Plan) parts(s *snapshot.Snapshot) []part {
	if p.Divided == nil {
		return wholeParts(s)
	}
	parts := make([]part, len(p.Divided.Parts))
	for i, d := range p.Divided.Parts {
		parts[i] = part{region: d.Region, start: d.Start, stop: d.Stop, stands: 1}
	}
	return parts
}

// ReadPart reads a part of the rows and passes the sorted rows of each region to the sink: [build.MergeParts] makes the same files from
// all parts as [Build] does, if [OneFamily] permits it. A budget of bad rows that is a share is left to the caller, who knows the other parts.
func ReadPart(ctx context.Context, s *snapshot.Snapshot, p *Plan, which build.Part, sink build.Sink, c chunk.Options, o Options) (*build.PartRead, error) {
	r, err := newReader(s, p, o)
	if err != nil {
		return nil, err
	}
	r.from, r.end, r.reject, r.options.Budget.Part = which.From, which.To, &rejectFile{path: o.RejectFile, keep: true}, true
	read, err := build.ReadPackedPart(ctx, p.Build(s), r, r.room.sort, sink, c, r.options.Options)
	if err != nil {
		return nil, err
	}
	read.KeyFamilies = r.keys.keyFamilies()
	return read, nil
}

// columnRows is the number of rows that [Columns] reads of a region, and columnRegions the maximum number of regions.
const (
	columnRows    = 100
	columnRegions = 64
)

// Columns returns the columns in the first rows of regions, as text: all parts assign them the same numbers. Cells of other columns carry
// their names.
func Columns(ctx context.Context, s *snapshot.Snapshot, p *Plan) (string, error) {
	names := &columnNames{}
	n := min(len(s.Regions), columnRegions)
	for i := range n {
		if err := names.first(ctx, s, i*len(s.Regions)/n, p.view()); err != nil {
			return "", tablesource.InputFailure(err)
		}
	}
	return names.text(), nil
}

// first numbers the columns in a region's first rows.
func (n *columnNames) first(ctx context.Context, s *snapshot.Snapshot, region int, view snapshot.View) error {
	sc, err := s.Scan(ctx, region, view)
	if err != nil {
		return err
	}
	defer sc.Close()
	for rows := 0; sc.Next(); {
		c := sc.Cell()
		if sc.NewRow() {
			if rows++; rows > columnRows {
				return nil
			}
		}
		for i, f := range s.Families {
			if f.Name == string(c.Family) {
				n.number(i, c.Qualifier)
			}
		}
	}
	return sc.Err()
}
