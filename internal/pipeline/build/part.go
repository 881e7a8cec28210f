package build

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// A Part is a range of splits of an input, from one on and before another. Each part of an input is read by another process,
// by [ReadPart]; [MergeParts] writes the HFiles of the rows of all parts, the same as [RunTables] does.
type Part struct {
	From, To int
}

// PartRead is the result of pass 1 for a part.
type PartRead struct {
	Records      int64         `json:"records"`            // good and bad
	Rejected     int64         `json:"rejected"`           // of them
	Filtered     int64         `json:"filtered,omitempty"` // of them, left out by the job's filter
	RejectFile   string        `json:"reject_file,omitempty"`
	FilteredFile string        `json:"filtered_file,omitempty"`
	SpillBytes   int64         `json:"spill_bytes"`
	SpillRuns    int64         `json:"spill_runs"`
	Took         time.Duration `json:"took_ns"`
	Sums         SplitSums     `json:"sums"`              // of the part's splits
	Regions      []PartRegion  `json:"regions"`           // that have rows of the part, in order, of all tables
	Lacking      []string      `json:"lacking,omitempty"` // chosen columns that no record of the part has

	FilteredOwn []int64         `json:"filtered_own,omitempty"` // as of sortTotals
	RowSum      manifest.RowSum `json:"row_sum,omitzero"`       // of packed rows that are not rejected

	Expect *expectation.Counts `json:"expect,omitempty"`
}

// Agrees reports whether two attempts of a part have read the same records with the same results; the caller compares regions.
func (p *PartRead) Agrees(o *PartRead) bool {
	return p.Records == o.Records && p.Rejected == o.Rejected && p.Filtered == o.Filtered && slices.Equal(p.FilteredOwn, o.FilteredOwn) && p.RowSum == o.RowSum && p.Expect.Same(o.Expect) && slices.Equal(p.Sums, o.Sums)
}

// PartRegion counts the rows of a part in a region.
type PartRegion struct {
	Region int `json:"region"` // its ordinal in the sort, as of [WrittenRecord]
	chunk.Counts
	LeftOut int64 `json:"left_out,omitempty"` // rows that are duplicates of others of the part
}

// Sink receives the chunks of a part, region by region.
type Sink interface {
	chunk.Sink
	// Finish is called after the last chunk.
	Finish() error
}

// ReadPart is pass 1 on a part of the input: its rows are sorted, its duplicates decided, and the rows of each region go to the
// sink in chunks. Of several tables every record has a row in each, and the regions of further ones follow those of the first. A budget
// of bad records that is a number ends it; one that is a share is checked by the caller, which knows the other parts.
func ReadPart(ctx context.Context, plans []*cells.Plan, in *source.Input, part Part, sink Sink, c chunk.Options, o Options) (p *PartRead, err error) {
	o = o.WithDefaults()
	o.Budget.Part = true
	memory, err := o.SortMemory(in, plans...)
	if err != nil {
		return nil, err
	}
	if p, err = readPart(ctx, plans, inputPart{inputRows{in, plans, o}, part}, memory, sink, c, o); err != nil {
		return nil, err
	}
	p.Sums, p.Lacking = sumsOf(in)[part.From:part.To], in.Lacking()
	return p, nil
}

// ReadPackedPart is [ReadPart] of rows that src packs. It reads those of the part alone, and packs them so that the plan's decoders need no notes.
func ReadPackedPart(ctx context.Context, plan *cells.Plan, src PackedSource, memory int64, sink Sink, c chunk.Options, o Options) (*PartRead, error) {
	o = o.WithDefaults()
	return readPart(ctx, []*cells.Plan{plan}, packedRows{src, o}, memory, sink, c, o)
}

// inputPart is a part of an input's records.
type inputPart struct {
	inputRows
	part Part
}

func (p inputPart) read(ctx context.Context, sorter *extsort.Sorter) (sortTotals, error) {
	p.o.Events.Phase("read")
	t, err := readSplits(ctx, p.plans, p.in, p.part, sorter, p.o, func(sortTotals) error { return nil })
	if err == nil {
		t.FilteredFile, err = p.o.finish(p.o.Filtered, t.Filtered)
	}
	return t, err
}

// readPart sorts the rows of a part, and gives those of each region to the sink.
func readPart(ctx context.Context, plans []*cells.Plan, rows rowSource, memory int64, sink Sink, c chunk.Options, o Options) (p *PartRead, err error) {
	floor := o.newFloor()
	defer runtime.KeepAlive(floor)
	so := sortOptions(o, plans)
	so.Memory = memory
	sorter, err := extsort.New(so)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	defer func() { err = rows.explain(errors.Join(err, sorter.Close())) }()
	start := time.Now()
	t, err := rows.read(ctx, sorter)
	if err != nil {
		return nil, err
	}
	p = &PartRead{Records: t.Records, Rejected: t.Rejected, Filtered: t.Filtered, FilteredOwn: t.FilteredOwn, RejectFile: t.RejectFile, FilteredFile: t.FilteredFile, SpillBytes: t.SpillBytes, SpillRuns: t.SpillRuns, Sums: SplitSums{}, Regions: []PartRegion{}, RowSum: t.RowSum, Expect: t.Expect}
	o.Events.Phase("write")
	if err := p.write(ctx, plans, sorter, chunk.NewWriter(sink, c), o); err != nil {
		return nil, rows.locate(ctx, err)
	}
	if err := sink.Finish(); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	p.Took = time.Since(start)
	return p, p.balance(plans)
}

// write gives the rows of all regions to the sink.
func (p *PartRead) write(ctx context.Context, plans []*cells.Plan, sorter *extsort.Sorter, w *chunk.Writer, o Options) error {
	for i := range sorter.Regions() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rows, _ := sorter.Size(i)
		if rows == 0 {
			continue
		}
		m, err := sorter.Region(i)
		if err != nil {
			return err
		}
		c, err := w.Region(i, m)
		left := m.Duplicates()
		m.Close()
		if err != nil {
			t, _ := tableOf(plans, i)
			return ofTable(plans, t, chunkError(err))
		}
		o.Events.Merged(c.Rows + left)
		p.Regions = append(p.Regions, PartRegion{Region: i, Counts: c, LeftOut: left})
	}
	return nil
}

// chunkError distinguishes errors of the rows from errors of the destination.
func chunkError(err error) error {
	if _, ok := errors.AsType[*extsort.DuplicateError](err); ok || errors.Is(err, extsort.ErrCorrupt) {
		return err
	}
	return fail.With(fail.HDFS, err)
}

// Check returns an error if the recorded counts of a part do not add up, for these tables.
func (p *PartRead) Check(plans []*cells.Plan) error {
	before, regions := -1, RegionsOf(plans)
	for _, r := range p.Regions {
		if r.Region <= before || r.Region >= regions || r.Rows <= 0 || r.Chunks <= 0 || r.LeftOut < 0 {
			return fmt.Errorf("it says that region %d of %d has %s in %d chunks, and %d left out", r.Region, regions, setting.Count(r.Rows, "row"), r.Chunks, r.LeftOut)
		}
		before = r.Region
	}
	return p.balance(plans)
}

// balance checks that every record of the part is a row of each table in its chunks, or was left out for a counted reason.
func (p *PartRead) balance(plans []*cells.Plan) error {
	rows, left := make([]int64, len(plans)), make([]int64, len(plans))
	for _, r := range p.Regions {
		t, _ := tableOf(plans, r.Region)
		rows[t], left[t] = rows[t]+r.Rows, left[t]+r.LeftOut
	}
	totals := totalsOf([]*PartRead{p})
	for t := range plans {
		filtered := totals.of(t).Filtered
		if p.Records-p.Rejected-filtered != rows[t]+left[t] {
			return ofTable(plans, t, fail.Errorf(fail.Unexpected, "the rows do not add up: %s read, %d rejected, %d filtered, %s written, %d left out as duplicates (a fault of bulkload or of this machine: report it)",
				setting.Count(p.Records, "record"), p.Rejected, filtered, setting.Count(rows[t], "row"), left[t]))
		}
	}
	return nil
}
