package cells

import (
	"context"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// Packed determines how a plan's rows are written if their reader has packed whole cells, with their own
// timestamps, into the sort.
type Packed struct {
	FileName func(family string, region int) string // of the HFile of a region
	Decoder  func(notes string) RowDecoder          // for the rows of one region
	// Locate adds the positions of the records to an error about two rows with the same key, for merges of parts.
	Locate func(ctx context.Context, err error) error
}

// A RowDecoder unpacks the rows of one region. It belongs to one goroutine.
type RowDecoder interface {
	// Row calls add for each cell of a row, in the order of cells, with the number of the cell's family in the plan. The cell need
	// not have a row or family. It is valid, and may be changed, until add returns.
	Row(payload []byte, add func(family int, c *hfile.Cell) error) error
	// Total returns the totals of all rows; times is nil if there were no rows.
	Total() (sum manifest.RowSum, times *manifest.CellTimes)
}

// NewPackedPlan returns the plan of packed rows. Its timestamp replaces every clock.
func NewPackedPlan(table string, key keygen.Expr, families []spec.Family, ranges *partition.Ranges, timestamp int64, duplicates extsort.Policy, how Packed) *Plan {
	p := &Plan{Table: table, Family: families[0], Ranges: ranges, Key: key, Columns: []string{}, Timestamp: timestamp, Duplicates: duplicates,
		Packed: &how, timing: timing{stamp: -1, ttl: -1}}
	for _, f := range families {
		p.Families = append(p.Families, FamilySpan{Family: f})
	}
	return p
}

// Decoder returns a constructor of decoders for the rows of a region, nil if rows are not packed.
func (p *Plan) Decoder(notes string) func() RowDecoder {
	if p.Packed == nil {
		return nil
	}
	return func() RowDecoder { return p.Packed.Decoder(notes) }
}
