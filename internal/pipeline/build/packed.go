package build

import (
	"context"
	"fmt"
	"time"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

// Packed says how a plan's rows are written if their reader has packed whole cells into the sort, which have
// timestamps of their own.
type Packed struct {
	FileName func(family string, region int) string // of the HFile of a region
	Decoder  func(notes string) RowDecoder          // for the rows of one region
	// Locate is that of the [PackedSource], for merges of what parts have read.
	Locate func(ctx context.Context, err error) error
}

// A RowDecoder unpacks the rows of one region. It belongs to one goroutine.
type RowDecoder interface {
	// Row calls add for each cell of a row, in the order of cells, with the number of its family in the plan. The cell needs neither
	// row nor family, and is add's until add returns.
	Row(payload []byte, add func(family int, c *hfile.Cell) error) error
	// Total is what all rows came to; times are nil if there were none.
	Total() (sum manifest.RowSum, times *manifest.CellTimes)
}

// NewPackedPlan makes the plan of packed rows. Its timestamp stands for each clock.
func NewPackedPlan(table string, key keygen.Expr, families []spec.Family, ranges *partition.Ranges, timestamp int64, duplicates extsort.Policy, how Packed) *Plan {
	p := &Plan{Table: table, Family: families[0], Ranges: ranges, Key: key, Columns: []string{}, Timestamp: timestamp, Duplicates: duplicates,
		packed: &how, timing: timing{stamp: -1, ttl: -1}}
	for _, f := range families {
		p.Families = append(p.Families, familySpan{Family: f})
	}
	return p
}

// ReadTotals are what was read of rows that are packed.
type ReadTotals struct {
	Records, Rejected int64
	RejectFile        string          // absolute; if there are rejected rows
	Sum               manifest.RowSum // of the others
	Notes             string          // what decoders need to know of all rows; text
}

// A PackedSource reads rows and packs them.
type PackedSource interface {
	// Read adds all rows to the sort but those of regions that skip selects, which are counted only. It does not finish the sort.
	Read(ctx context.Context, sorter *extsort.Sorter, skip func(region int) bool) (ReadTotals, error)
	// Locate adds to an error about two rows of one key where they are.
	Locate(ctx context.Context, err error) error
	// Explain adds to an error of the sort what to do about it.
	Explain(err error) error
}

// RunPacked writes an HFile for every region and family that has cells, as [Run] does. Sorted rows may take memory bytes. A
// resume that is not nil keeps what is finished, and continues from what an earlier attempt has.
func RunPacked(ctx context.Context, plan *Plan, src PackedSource, memory int64, out Output, o Options, resume *Resume) (*manifest.Manifest, error) {
	o = o.WithDefaults()
	o.resume, o.AllowEmpty = resume, true
	m, err := run(ctx, []Table{{plan, out.withDefaults()}}, packedRows{src, o}, memory, o)
	if err != nil {
		return nil, err
	}
	return m[0], nil
}

// packedRows are the rows of a packed source.
type packedRows struct {
	src PackedSource
	o   Options
}

func (r packedRows) read(ctx context.Context, sorter *extsort.Sorter) (t sortTotals, err error) {
	start := time.Now()
	r.o.Events.Phase("read")
	got, err := r.src.Read(ctx, sorter, r.o.resume.skip())
	if err != nil {
		return t, err
	}
	r.o.Events.Phase("sort")
	if err := sorter.Finish(); err != nil {
		return t, err
	}
	stats := sorter.Stats()
	t = sortTotals{Records: got.Records, Rejected: got.Rejected, RejectFile: got.RejectFile, SpillBytes: stats.SpillBytes, SpillRuns: stats.Runs, Took: time.Since(start), RowSum: got.Sum, Notes: got.Notes}
	return t, r.o.resume.afterSort(sorter, t, nil)
}

func (r packedRows) locate(ctx context.Context, err error) error { return r.src.Locate(ctx, err) }
func (packedRows) duplicates(context.Context, *extsort.Sorter, []*manifest.Manifest) error {
	return nil
}
func (r packedRows) recheck(context.Context) error { return nil }
func (r packedRows) spilled(err error) error       { return err }
func (r packedRows) explain(err error) error       { return r.src.Explain(err) }

// locate adds to an error of a merge about two rows of one key where they are.
func (p *Plan) locate(ctx context.Context, err error, places Places) error {
	if p.packed != nil {
		return p.packed.Locate(ctx, err)
	}
	return Locate(err, places)
}

// decoder is what unpacks the rows of a region, nil of rows that are not packed.
func (p *Plan) decoder(notes string) func() RowDecoder {
	if p.packed == nil {
		return nil
	}
	return func() RowDecoder { return p.packed.Decoder(notes) }
}

// encodePacked is encode for packed rows.
func (p *regionPart) encodePacked(ctx context.Context, m *extsort.Merge, plan *Plan, sinks []*cellSink) error {
	rows := p.decoder()
	last := -1 // family of the cell before in the row
	add := func(family int, c *hfile.Cell) error {
		if family >= len(sinks) {
			return fmt.Errorf("%w: a cell of family %d", extsort.ErrCorrupt, family)
		}
		s := sinks[family]
		if family != last {
			last = family
			s.rows++
		}
		c.Row, c.Family = m.Key(), s.name
		return sinkError(s.cell.Append(c))
	}
	n := 0
	for ; m.Next(); n++ {
		if err := p.tell(ctx, n); err != nil {
			return err
		}
		if len(m.Payload()) == 0 {
			p.noCells++
			continue
		}
		last = -1
		if err := rows.Row(m.Payload(), add); err != nil {
			return err
		}
	}
	p.end(int64(n))
	p.sum, p.times = rows.Total()
	p.digest = p.sum.Digest()
	return m.Err()
}

// balancePacked proves that what was written is what was read, where all of it was to be.
func (w *writers) balancePacked(m *manifest.Manifest, read manifest.RowSum) error {
	m.RowSum = w.sum.Sum()
	if m.Duplicates > 0 || w.sum == read {
		return nil
	}
	return fail.Errorf(fail.Unexpected, "%s were read, %s written; nothing was loaded (a fault of bulkload or of this machine: report it)", read, w.sum)
}
