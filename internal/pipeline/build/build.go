package build

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// Options are the settings of a build. They do not affect its outcome.
type Options struct {
	Workers  int                // goroutines of each pass, default the number of cores
	Memory   spec.Size          // total of sort, merge and buffers, default 512 MiB
	SpillDir string             // default the system's temporary directory
	Budget   *source.Budget     // for bad records; default: the first one ends the job
	Filtered *source.RejectFile // for records that the filter leaves out; nil: they are only counted
	// Duplicates are, by table, the files for records that were replaced by another record with the same key; nil: they are only counted.
	Duplicates []*source.RejectFile
	Sample     int // number of rows to sample from each region for a later verification
	Events     progress.Events
	// Gate is passed before each batch of records and before each region's files. Default: no waiting.
	Gate progress.Gate
	// SpillLimit is the maximum number of bytes of sorted runs in SpillDir at a time. Default: no limit but the disk.
	SpillLimit spec.Size
	// Expect is the expected number of records. Default: any number.
	Expect *int64
	// Checks are the expectations on the records. A build that cannot be resumed fails if they are not met; otherwise the caller
	// evaluates them with [Met].
	Checks []*expectation.Check
	// AllowEmpty accepts an input without rows.
	AllowEmpty bool
	// Missing determines whether every chosen column must be in some record, see [source.Options].
	Missing source.Missing
	// Allowed is as in [WorkOptions].
	Allowed func() error

	resume *Resume // nil: the build cannot be continued
}

func (o Options) WithDefaults() Options {
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Memory = cmp.Or(o.Memory, spec.DefaultMemory)
	if o.Budget == nil {
		o.Budget, _ = source.NewBudget("")
	}
	return o
}

// allowed returns nil if finished files may get their final names.
func (o Options) allowed() error {
	if o.Allowed == nil {
		return nil
	}
	return o.Allowed()
}

// SortMemory returns the sort's part of the memory budget: what remains after
// the buffers of the workers of either pass.
func (o Options) SortMemory(in *source.Input, plans ...*cells.Plan) (int64, error) {
	var space syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil {
		if err := o.addressable(space.Cur); err != nil {
			return 0, err
		}
	}
	room := max(in.ReaderMemory(), encode.WriterRoom(plans...))
	m := int64(o.Memory) - int64(o.Workers)*room - o.HeapFloor()/2 - o.distinctRoom()
	if m < int64(o.Workers)*extsort.MinMemory {
		return 0, memoryError{fail.Errorf(fail.Config, "memory of %s is too little for %s on this input: each needs %.0f MiB (give more %s or fewer %s)",
			o.Memory, setting.Count(o.Workers, "worker"), float64(room+extsort.MinMemory)/(1<<20), setting.Memory, setting.Workers)}
	}
	return m, nil
}

// HeapFloor is the size of a slice that is never touched. It takes no memory, but
// makes the garbage collector assume a heap that is larger by this size, and
// therefore run less often: HDFS's packets produce garbage of twice the files'
// size, while the live heap apart from the sort is a few megabytes. Up to half of
// this size may accumulate as garbage; a small budget has no room for that, and
// more than 1 GiB saves nothing.
func (o Options) HeapFloor() int64 { return min(max(0, int64(o.Memory)-32<<20)/16, 1<<30) }

// newFloor allocates the slice. It uses a builder, whose memory is not cleared: make clears a slice if the heap has a page that
// was used before, which touches 30 MB and takes 15 ms in a job of 512 MiB.
func (o Options) newFloor() *strings.Builder {
	b := &strings.Builder{}
	b.Grow(int(o.HeapFloor()))
	return b
}

// sortOptions returns the options, apart from the memory, of one sort for all tables. The tables' regions follow one another in it.
func sortOptions(o Options, plans []*cells.Plan) extsort.Options {
	so := extsort.Options{Workers: o.Workers, Dir: o.SpillDir, Limit: int64(o.SpillLimit), OnSpill: o.Events.OnSpill}
	for _, p := range plans {
		for i := range p.Ranges.Len() {
			so.Shared, so.Policies = append(so.Shared, p.Ranges.Shared(i)), append(so.Policies, p.RowPolicy())
		}
	}
	so.Regions, so.Displaced = len(so.Shared), o.displaced(plans)
	loses := slices.Contains([]extsort.Policy{extsort.KeepFirst, extsort.KeepLast}, plans[0].RowPolicy())
	if loses && slices.ContainsFunc(plans[1:], (*cells.Plan).IsIndex) {
		so.Leading = plans[0].Ranges.Len()
		for _, p := range plans {
			so.Follows = append(so.Follows, slices.Repeat([]bool{p.IsIndex()}, p.Ranges.Len())...)
		}
	}
	return so
}

// RunTables reads the whole input once, within the memory of one build, and writes an HFile for every table, region and family that has rows. It
// leaves nothing under a final name unless the whole input was read without an error; files that a failed build has written are removed. Every
// record has a row in each table whose filter accepts it; a record without a row in one of them is a bad record and has no row in the others. The
// plans have the same columns and timestamp. The manifests are in the order of the tables.
func RunTables(ctx context.Context, tables []Table, in *source.Input, o Options) ([]*manifest.Manifest, error) {
	o = o.WithDefaults()
	setDefaults(tables)
	plans := plansOf(tables)
	memory, err := o.SortMemory(in, plans...)
	if err != nil {
		return nil, err
	}
	return run(ctx, tables, inputRows{in, plans, o}, memory, o)
}

// rowSource is the source of a build's rows.
type rowSource interface {
	// read is pass 1: it sorts all rows and records that in the checkpoint.
	read(ctx context.Context, sorter *extsort.Sorter) (sortTotals, error)
	// locate adds the places of the records to an error about two rows with the same key.
	locate(ctx context.Context, err error) error
	// duplicates writes the records of each table's file of duplicates.
	duplicates(ctx context.Context, sorter *extsort.Sorter, all []*manifest.Manifest) error
	// recheck returns an error if the source of the rows has changed since it was read.
	recheck(ctx context.Context) error
	// spilled adds advice to an error about sorted rows of earlier attempts, and explain adds advice to any error.
	spilled(err error) error
	explain(err error) error
}

// inputRows produces the rows of an input's records.
type inputRows struct {
	in      *source.Input
	plans   []*cells.Plan
	options Options
}

func (r inputRows) read(ctx context.Context, sorter *extsort.Sorter) (sortTotals, error) {
	return readAndSort(ctx, r.plans, r.in, sorter, r.options)
}
func (r inputRows) locate(_ context.Context, err error) error { return Locate(err, r.in) }
func (r inputRows) recheck(ctx context.Context) error         { return Recheck(ctx, r.in) }
func (r inputRows) spilled(err error) error                   { return (&readers{in: r.in}).explainSpill(err) }
func (r inputRows) explain(err error) error                   { return explainLimits(err, r.options) }

// run executes both passes, or the rest of them when an attempt resumes.
func run(ctx context.Context, tables []Table, rows rowSource, memory int64, o Options) (m []*manifest.Manifest, err error) {
	floor := o.newFloor()
	defer runtime.KeepAlive(floor)
	sort := sortOptions(o, plansOf(tables))
	sort.Memory = memory
	if err := o.resume.forgetLosing(sort.Leading, o); err != nil {
		return nil, err
	}
	if o.resume.complete(o) {
		m, err := o.resume.Manifests(tables)
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(ExpectedEarlier(m[0].Records, o.Expect), SomeRowsEarlier(m, o.AllowEmpty)); err != nil {
			return nil, err
		}
		return m, o.resume.replaceManifests(ctx, tables, m)
	}
	sorter, reopened, err := o.resume.openSort(sort, o)
	if err != nil {
		return nil, rows.explain(rows.spilled(err))
	}
	defer func() { err = rows.explain(errors.Join(err, sorter.Close())) }()
	var totals sortTotals
	if reopened {
		totals = o.resume.Sorted.sortTotals
		o.Events.Records(totals.counts())
		if err := ExpectedEarlier(totals.Records, o.Expect); err != nil {
			return nil, err
		}
	} else if totals, err = rows.read(ctx, sorter); err != nil {
		return nil, err
	}
	return writeTables(ctx, tables, rows, sorter, totals, o)
}

// readAndSort is pass 1. The bad records, and the filtered ones, are in their files before pass 1 is recorded as done.
func readAndSort(ctx context.Context, plans []*cells.Plan, in *source.Input, sorter *extsort.Sorter, o Options) (t sortTotals, err error) {
	start := time.Now()
	o.Events.Phase("read")
	reportExtent(ctx, in, o.Events)
	if err := o.resume.sameSplits(in); err != nil {
		return t, err
	}
	t, err = readSplits(ctx, plans, in, Part{0, len(in.Splits())}, sorter, o, func(t sortTotals) error {
		return errors.Join(SomeRecords(t.Records, t.Rejected, t.Filtered, o), fail.With(fail.Input, expected(t.Records, o.Expect)), o.AllColumns(in.Lacking(), t.Records-t.Rejected))
	})
	if err != nil {
		return t, err
	}
	t.Took = time.Since(start)
	if t.RejectFile, err = o.finish(o.Budget.File, t.Rejected); err != nil {
		return t, err
	}
	if o.resume == nil {
		t.Expect, err = judgeExpectations(t.Expect, o.Checks, nil, o.Events)
	} else { // another attempt may not read the input again
		t.FilteredFile, err = o.finish(o.Filtered, t.Filtered)
	}
	if err != nil {
		return t, err
	}
	return t, o.resume.afterSort(sorter, t, sumsOf(in))
}

// readSplits reads the splits of a part and sorts their rows. After reading and before sorting, it calls whole, which returns an error if
// the input must not be built.
func readSplits(ctx context.Context, plans []*cells.Plan, in *source.Input, part Part, sorter *extsort.Sorter, o Options, whole func(sortTotals) error) (t sortTotals, err error) {
	r := &readers{plans: plans, own: make([]atomic.Int64, len(plans)), in: in, sort: sorter, end: part.To, budget: o.Budget, filtered: o.Filtered, events: o.Events, gate: o.Gate, skip: o.resume.skip(), resume: o.resume}
	r.next.Store(int64(part.From))
	if r.counter, err = o.counter(in, time.Now()); err != nil {
		return t, err
	}
	if err = r.run(ctx, o.Workers); err == nil {
		err = o.Budget.Finish(in.RecordsOf(part.From, part.To))
	}
	o.Events.Records(r.counts())
	if err != nil {
		in.AddLine(err)
		return t, o.ReadError(r.explainSpill(err))
	}
	t = sortTotals{Records: in.RecordsOf(part.From, part.To) + o.Budget.Extra(), Rejected: o.Budget.Bad()}
	r.countFiltered(&t)
	if err := errors.Join(Recheck(ctx, in), whole(t)); err != nil {
		return t, err
	}
	o.Events.Phase("sort")
	if err := sorter.Finish(); err != nil {
		return t, r.explainSpill(err)
	}
	stats := sorter.Stats()
	t.SpillBytes, t.SpillRuns, t.Expect = stats.SpillBytes, stats.Runs, r.counter.Counts()
	return t, nil
}

// reportExtent reports the amount to read: in rows if the input is Parquet. It
// serves only the progress display, so errors are ignored here.
func reportExtent(ctx context.Context, in *source.Input, e progress.Events) {
	if e.OnTotal == nil {
		return
	}
	if extent, err := in.RoughExtent(ctx); err == nil && extent.Text > 0 {
		e.Total("read", progress.Amount{Bytes: extent.Text})
	} else if err == nil {
		e.Total("read", progress.Amount{Rows: extent.Rows})
	}
}

// ReadError returns an error of pass 1 with its kind.
func (o Options) ReadError(err error) error {
	if errors.Is(err, source.ErrBudget) {
		return fail.With(fail.BadRows, err)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, extsort.ErrMemory) {
		return fail.With(fail.Config, err)
	}
	return fail.With(fail.Input, o.inputMemory(err))
}

// Places describes the positions of an input's records.
type Places interface {
	Splits() []source.Split
	Place(split int, offset int64) string
}

// Locate adds the positions of the records to an error about duplicates; a single one if a record collides with itself.
func Locate(err error, in Places) error {
	d, ok := errors.AsType[*extsort.DuplicateError](err)
	if !ok {
		return err
	}
	if d.First == d.Second {
		return fail.With(fail.BadRows, setting.Errorf("%w: %s (one of them takes its qualifier from a column)", err, place(in, d.First)))
	}
	return fail.With(fail.BadRows, setting.Errorf("%w: %s, and %s (%s first or last keeps one)",
		err, place(in, d.First), place(in, d.Second), setting.Duplicates))
}
