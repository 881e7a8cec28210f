package build

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// A Part is the range of an input's splits from From (inclusive) to To (exclusive). Each part of an input is read by a process
// of its own with [ReadPart]; [MergeParts] writes the HFiles of all parts, with the same result as [RunTables].
type Part struct {
	From, To int
}

// PartRead is the result of pass 1 on a part. Descriptions of parts have a checksum over their fields in this order: a field that moves makes those of
// earlier versions unreadable.
type PartRead struct {
	Records      int64         `json:"records"`            // good and bad
	Rejected     int64         `json:"rejected"`           // included in Records
	Filtered     int64         `json:"filtered,omitempty"` // included in Records; left out by the job's filter
	RejectFile   string        `json:"reject_file,omitempty"`
	FilteredFile string        `json:"filtered_file,omitempty"`
	SpillBytes   int64         `json:"spill_bytes"`
	SpillRuns    int64         `json:"spill_runs"`
	Took         time.Duration `json:"took_ns"`
	Sums         SplitSums     `json:"sums"`              // of the part's splits
	Regions      []PartRegion  `json:"regions"`           // regions that have rows of the part, in order, of all tables
	Lacking      []string      `json:"lacking,omitempty"` // chosen columns that no record of the part has

	FilteredOwn []int64         `json:"filtered_own,omitempty"` // as in sortTotals
	RowSum      manifest.RowSum `json:"row_sum,omitzero"`       // of packed rows that are not rejected

	Expect *expectation.Counts `json:"expect,omitempty"`

	// KeyFamilies has, for new keys of rows, the family of each column that the key names without one, if a row of the part has it. Nil: the key
	// names none, or an earlier version has read the part.
	KeyFamilies map[string]string `json:"key_families,omitzero"`
}

// Agrees reports whether two attempts at a part have read the same records with the same outcome; the caller compares the regions.
func (p *PartRead) Agrees(o *PartRead) bool {
	return p.Records == o.Records && p.Rejected == o.Rejected && p.Filtered == o.Filtered && slices.Equal(p.FilteredOwn, o.FilteredOwn) && p.RowSum == o.RowSum && p.Expect.Same(o.Expect) && slices.Equal(p.Sums, o.Sums) &&
		(p.KeyFamilies == nil || o.KeyFamilies == nil || maps.Equal(p.KeyFamilies, o.KeyFamilies))
}

// PartRegion holds the counts of a part's rows in a region.
type PartRegion struct {
	Region int `json:"region"` // its ordinal in the sort, as in [WrittenRecord]
	chunk.Counts
	LeftOut int64 `json:"left_out,omitempty"` // rows that are duplicates of other rows of the part
}

// Sink receives the chunks of a part, region after region.
type Sink interface {
	chunk.Sink
	// Finish is called after the last chunk.
	Finish() error
}

// ReadPart is pass 1 on a part of the input: it sorts its rows, resolves its duplicates, and passes the rows of each region to the sink
// in chunks. With several tables every record has a row in each, and the regions of further tables follow those of the first. A budget
// of bad records that is a number ends the part; a budget that is a share is left to the caller, who knows the other parts.
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

// ReadPackedPart is [ReadPart] for rows that src packs. src must read only the rows of the part, and pack them so that the plan's decoders
// need no notes.
func ReadPackedPart(ctx context.Context, plan *cells.Plan, src PackedSource, memory int64, sink Sink, c chunk.Options, o Options) (*PartRead, error) {
	o = o.WithDefaults()
	return readPart(ctx, []*cells.Plan{plan}, packedRows{src, o}, memory, sink, c, o)
}

// inputPart produces the rows of a part of an input.
type inputPart struct {
	inputRows
	part Part
}

func (p inputPart) read(ctx context.Context, sorter *extsort.Sorter) (sortTotals, error) {
	p.options.Events.Phase("read")
	t, err := readSplits(ctx, p.plans, p.in, p.part, sorter, p.options, func(sortTotals) error { return nil })
	if err == nil {
		t.FilteredFile, err = p.options.finish(p.options.Filtered, t.Filtered)
	}
	return t, err
}

// readPart sorts the rows of a part and passes the rows of each region to the sink.
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

// write passes the rows of all regions to the sink.
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

// chunkError distinguishes rows that cannot be written from a failing output.
func chunkError(err error) error {
	if _, ok := errors.AsType[*extsort.DuplicateError](err); ok || errors.Is(err, extsort.ErrCorrupt) {
		return err
	}
	return fail.With(fail.HDFS, err)
}

// Check returns an error if the record of a part is not consistent with itself and with these tables.
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

// balance checks that every record of the part is a row of each table in its chunks, or is counted as left out.
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
