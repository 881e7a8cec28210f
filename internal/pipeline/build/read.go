package build

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// Sequence numbers consist of a split's ordinal and an offset, so they follow
// the order of the input and identify a record's position.
const offsetBits = 40

func sequence(split int, offset int64) uint64 {
	return uint64(split)<<offsetBits | uint64(offset)&(1<<offsetBits-1)
}

// maxSplits is the number of splits that sequence numbers can distinguish.
const maxSplits = 1 << (64 - offsetBits)

// RefuseSplits refuses an input with more splits than sequence numbers have room for.
func RefuseSplits(n int) error {
	if n > maxSplits {
		return fail.Errorf(fail.Input, "the input has %d splits, and a job can have %d: load its files by several jobs", n, maxSplits)
	}
	return nil
}

// tooLong reports whether the offsets of a split's records do not ascend in sequence numbers: last is the offset of one of them, or the greatest
// that one can have.
func tooLong(s source.Split, last int64) bool { return s.Start>>offsetBits != last>>offsetBits }

// errTooLong is the error of a file with such a split.
func errTooLong(s source.Split) error {
	return fail.Errorf(fail.Input, "%s: it has a split that ends 1 TiB or more after the beginning of the text: load it as several files", s.Path)
}

// refuseLong refuses files whose splits are too long, as far as their length is known, and too many splits.
func (r *readers) refuseLong() error {
	if err := RefuseSplits(r.end); err != nil {
		return err
	}
	splits := r.in.Splits()
	for i := int(r.next.Load()); i < r.end; i++ {
		if s := splits[i]; s.End != math.MaxInt64 && r.in.PlaceOf(i, 0).Record == 0 && tooLong(s, s.End-1) {
			return errTooLong(s)
		}
	}
	return nil
}

// place describes the position of the record with a sequence number.
func place(in Places, seq uint64) string {
	split := int(seq >> offsetBits)
	offset := seq & (1<<offsetBits - 1)
	if split >= len(in.Splits()) {
		return fmt.Sprintf("split %d, offset %d", split, offset)
	}
	return in.Place(split, int64(offset))
}

// readers is pass 1: workers take splits in order and add their rows to the sort.
type readers struct {
	plans    []*cells.Plan // of all tables; every record has a row in each, and their regions follow one another in the sort
	in       *source.Input
	sort     *extsort.Sorter
	budget   *source.Budget
	filtered *source.RejectFile // for records that the filter leaves out; nil: they are only counted
	events   progress.Events
	gate     progress.Gate         // passed before each batch
	skip     func(region int) bool // regions whose files are already written; nil: none
	resume   *Resume               // the earlier attempt's work; may be nil
	next     atomic.Int64          // the next split to read
	end      int                   // after the last split to read; 0: all are read
	got      readCount
	left     atomic.Int64   // records that the job's filter leaves out
	own      []atomic.Int64 // by table, records that only the table's own filter leaves out
	noRow    atomic.Int64   // bad records that the batches have

	counter *expectation.Counter // nil: no expectations
}

// run reads all splits with the given number of workers.
func (r *readers) run(ctx context.Context, n int) error {
	if err := r.refuseLong(); err != nil {
		return err
	}
	return workers.Run(ctx, n, func(ctx context.Context, _ int) error {
		w, err := r.newWorker()
		if err != nil {
			return err
		}
		defer w.tally.End()
		return w.run(ctx)
	})
}

// readWorker turns records into rows of the sort. It belongs to one goroutine.
type readWorker struct {
	*readers
	ctx    context.Context
	tables []*cells.RowMaker
	reader *source.Reader
	out    *extsort.Writer
	nulls  bool // the file distinguishes NULL from empty text

	filter *cells.Filter // the job's, nil if it has none
	passed int64         // records of the batch that the filter leaves out
	tally  *expectation.Tally
}

func (r *readers) newWorker() (*readWorker, error) {
	w := &readWorker{readers: r, reader: r.in.NewReader(), tally: r.counter.Tally()}
	var err error
	if w.tables, err = cells.NewRowMakers(r.plans); err != nil {
		return nil, err
	}
	if w.filter, err = r.plans[0].NewFilter(); err != nil {
		return nil, err
	}
	w.out, err = r.sort.Writer()
	return w, err
}

func (w *readWorker) run(ctx context.Context) error {
	w.ctx = ctx
	for {
		split := int(w.next.Add(1)) - 1
		if split >= w.end {
			return nil
		}
		if err := w.reader.Read(ctx, split, w.batch); err != nil {
			return err
		}
		if err := w.resume.sameSplit(w.in, split); err != nil {
			return err
		}
		w.got.splits.Add(1)
		w.events.Split()
	}
}

// counts returns the numbers of records so far, also of a pass that has failed.
func (r *readers) counts() progress.Records {
	bad := r.budget.Bad()
	c := progress.Records{Read: r.got.rows.Load() + bad - r.noRow.Load(), Filtered: r.left.Load()}
	if !r.budget.None() {
		c.Rejected = bad
	}
	return c
}

// countFiltered stores the numbers of filtered records in totals.
func (r *readers) countFiltered(t *sortTotals) {
	t.Filtered, t.FilteredOwn = r.left.Load(), nil
	for i, p := range r.plans {
		if p.OwnFilter(r.plans[0]) && t.FilteredOwn == nil {
			t.FilteredOwn = make([]int64, len(r.plans))
		}
		if t.FilteredOwn != nil {
			t.FilteredOwn[i] = r.own[i].Load()
		}
	}
}

// batch adds the rows of one batch.
func (w *readWorker) batch(b *source.Batch) error {
	if err := progress.Pass(w.ctx, w.gate); err != nil {
		return err
	}
	if s := w.in.Splits()[b.Split]; s.End == math.MaxInt64 && b.Rows > 0 && tooLong(s, b.Offsets[b.Rows-1]) {
		return errTooLong(s) // packed text, whose length is not known before
	}
	w.got.add(b)
	w.budget.Count(int64(b.Rows))
	if nulls := b.Nulls(); nulls != w.nulls {
		w.nulls = nulls
		cells.SetNulls(w.tables, nulls)
	}
	for row := range b.Rows {
		if err := w.row(b, row); err != nil {
			return err
		}
	}
	w.left.Add(w.passed)
	w.passed = 0
	for i, m := range w.tables {
		w.own[i].Add(m.Passed)
		m.Passed = 0
	}
	w.events.Rows(int64(b.Rows), b.Bytes)
	return nil
}

// row adds the rows of a record to all tables or to none.
func (w *readWorker) row(b *source.Batch, row int) error {
	if w.filter != nil {
		if keep, err := w.filter.Keeps(b, row); err != nil {
			return w.bad(b, row, err)
		} else if !keep {
			w.passed++
			return w.leaveOut(b, row)
		}
	}
	for _, m := range w.tables {
		if err := m.Make(b, row); err != nil {
			return w.bad(b, row, err)
		}
	}
	if w.tally != nil {
		Count(w.tally, b, row, w.nulls)
	}
	seq := sequence(b.Split, b.Offsets[row])
	var last *cells.RowMaker // whose values of this record were added to the sort last
	for _, m := range w.tables {
		if m.Passes {
			m.Passed++
			continue
		}
		if w.skip != nil && w.skip(m.Region) {
			continue
		}
		var err error
		if last, err = m.Add(w.out, seq, last); err != nil {
			return fmt.Errorf("%s: %w", place(w.in, seq), err)
		}
	}
	return nil
}

// leaveOut records a record that the filter leaves out.
func (w *readWorker) leaveOut(b *source.Batch, row int) error {
	if w.filtered == nil {
		return nil
	}
	e := b.RowError(row)
	e.Reason = "the filter leaves it out"
	return w.filtered.Write(e)
}

// bad rejects a record, or returns the error that ends the job.
func (w *readWorker) bad(b *source.Batch, row int, err error) error {
	w.noRow.Add(1)
	return w.budget.Reject(RowError(b, row, err))
}

// RowError returns the reason why a record has no row.
func RowError(b *source.Batch, row int, err error) source.RowError {
	e := b.RowError(row)
	e.Reason = err.Error()
	if f, ok := errors.AsType[*keygen.FieldError](err); ok {
		e.Column, e.Reason, err = f.Column, f.Reason(), f.Err
	}
	e.Err = err
	return e
}

// RowKeys makes the row of every record as a build does, and passes on its key, in no
// particular order. It passes the keys of records whose row has a cell; a key of
// several records is passed several times. Nothing is sorted or written. Each worker
// calls take once for the function that receives its keys; a key is valid until that
// function returns. Records without a row count against the budget, as in a build.
func RowKeys(ctx context.Context, plan *cells.Plan, in *source.Input, o Options, take func() func(key []byte) error) error {
	o = o.WithDefaults()
	o.Budget.Reset()
	var next atomic.Int64
	err := workers.Run(ctx, o.Workers, func(ctx context.Context, _ int) error {
		tables, err := cells.NewRowMakers([]*cells.Plan{plan})
		if err != nil {
			return err
		}
		filter, err := plan.NewFilter()
		if err != nil {
			return err
		}
		w := keyWorker{tables: tables, filter: filter, take: take(), options: o}
		reader := in.NewReader()
		for split := int(next.Add(1) - 1); split < len(in.Splits()) && ctx.Err() == nil; split = int(next.Add(1) - 1) {
			if err := reader.Read(ctx, split, w.batch); err != nil {
				return err
			}
			o.Events.Split()
		}
		return context.Cause(ctx)
	})
	if err == nil {
		err = o.Budget.Finish(in.Records())
	}
	if err != nil {
		return o.ReadError(err)
	}
	return nil
}

// keyWorker passes on the keys of batches. It belongs to one goroutine.
type keyWorker struct {
	tables  []*cells.RowMaker // one
	filter  *cells.Filter
	take    func(key []byte) error
	options Options
	nulls   bool // the file distinguishes NULL from empty text
}

func (w *keyWorker) batch(b *source.Batch) error {
	if nulls := b.Nulls(); nulls != w.nulls {
		w.nulls = nulls
		cells.SetNulls(w.tables, nulls)
	}
	w.options.Budget.Count(int64(b.Rows))
	m := w.tables[0]
	for row := range b.Rows {
		keep, err := w.filter.Keeps(b, row)
		if err == nil && keep {
			err = m.Make(b, row)
		}
		switch {
		case err == nil && !keep:
		case err != nil:
			err = w.options.Budget.Reject(RowError(b, row, err))
		case m.HasCell():
			err = w.take(m.Key)
		}
		if err != nil {
			return err
		}
	}
	w.options.Events.Rows(int64(b.Rows), b.Bytes)
	return nil
}
