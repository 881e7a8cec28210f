package profiling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/formats/profile"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen"
	"bulkload/pkg/source"
)

// Options define how much is read, and with which resources.
type Options struct {
	Workers int       // default the number of cores
	Memory  spec.Size // default [spec.DefaultMemory]
	Share   float64   // share of the input; 0 and 1 mean all of it
	Expect  bool      // also derive expectations, which reads the input twice

	// Columns whose values are omitted, in addition to those that the job masks: Hide, where [HideAll] alone means all, and those that Secret selects by
	// name.
	Hide   []string
	Secret func(column string) bool

	splitSize int64 // for tests
}

// HideAll omits the values of all columns.
const HideAll = "all"

// sampleSplit is the size of parts of text if only some of them are read.
const sampleSplit = 1 << 20

// Result is the result of a profiling run.
type Result struct {
	Profile *profile.Profile
	Files   []source.FileInfo
	Expect  []expectation.Asked // expectations that the records met
}

// Run profiles the inputs of a job.
func Run(ctx context.Context, resolve source.Resolve, job spec.Job, o Options) (r *Result, err error) {
	w := build.WorkOptions{Workers: o.Workers, Memory: o.Memory, SplitSize: o.splitSize}
	if o.Share > 0 && o.Share < 1 && w.SplitSize == 0 {
		w.SplitSize = sampleSplit
	}
	in, err := build.OpenInput(ctx, resolve, job, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	all, columns := slices.Equal(o.Hide, []string{HideAll}), in.Source.Columns()
	for _, name := range o.Hide {
		if !all && !slices.Contains(columns, name) {
			return nil, fail.Errorf(fail.Config, "hide: the input has no column %q (it has %s)", name, keygen.ColumnList(columns))
		}
	}
	now := time.Now()
	rd := &reading{in: in, job: job, now: now, options: build.Options{Workers: o.Workers, Memory: o.Memory, Budget: in.Budget, Missing: source.Missing(job.Missing)}.WithDefaults()}
	rd.splits = chosen(len(in.Source.Splits()), o.Share)
	p, err := rd.profile(ctx)
	if err != nil {
		return nil, err
	}
	r = &Result{Profile: p, Files: in.Source.Files()}
	hidden := append(job.Masked(), o.Hide...)
	for i := range p.Columns {
		if name := p.Columns[i].Name; all || slices.Contains(hidden, name) || o.Secret != nil && o.Secret(name) {
			p.Columns[i].Hide()
		}
	}
	if o.Expect {
		r.Expect, err = rd.fulfilled(ctx, p.Expect(now))
	}
	return r, err
}

// chosen returns evenly distributed parts.
func chosen(n int, share float64) (list []int) {
	count := n
	if share > 0 && share < 1 {
		count = min(n, max(1, int(math.Round(float64(n)*share))))
	}
	for i := range count {
		list = append(list, (2*i+1)*n/(2*count))
	}
	return list
}

type reading struct {
	in       *build.Input
	job      spec.Job
	now      time.Time
	options  build.Options
	splits   []int
	filtered atomic.Int64
	bytes    atomic.Int64
}

// A counter counts the records of parts, one after the other. For one goroutine.
type counter interface {
	begin(ctx context.Context, part int) error
	batch(b *source.Batch, rows []int)
	end(part int)
}

// run reads the parts. Each worker has its own counter.
func (r *reading) run(ctx context.Context, again bool, newCounter func() counter) error {
	var next atomic.Int64
	r.filtered.Store(0)
	r.bytes.Store(0)
	err := workers.Run(ctx, min(r.options.Workers, max(len(r.splits), 1)), func(ctx context.Context, _ int) error {
		filter, err := r.filter()
		if err != nil {
			return err
		}
		reader, c := r.in.Source.NewReader(), newCounter()
		if again {
			reader.PassOver()
		}
		var rows []int
		for part := int(next.Add(1) - 1); part < len(r.splits); part = int(next.Add(1) - 1) {
			if err := c.begin(ctx, part); err != nil {
				return err
			}
			err := reader.Read(ctx, r.splits[part], func(b *source.Batch) (err error) {
				if rows, err = r.rows(rows[:0], b, filter, again); err == nil {
					c.batch(b, rows)
				}
				return err
			})
			if err != nil {
				return err
			}
			c.end(part)
		}
		return nil
	})
	if err == nil && !again {
		var records int64 // without the parts that were only read to number a bad record
		for _, split := range r.splits {
			records += r.in.Source.RecordsOf(split, split+1)
		}
		err = r.options.Budget.Finish(records)
	}
	if err != nil {
		r.in.Source.AddLine(err)
		return r.options.ReadError(err)
	}
	return build.Recheck(ctx, r.in.Source)
}

func (r *reading) filter() (_ *cells.Filter, err error) {
	f := r.job.RowFilter()
	if f == nil {
		return nil, nil
	}
	columns := r.in.Source.Columns()
	if err := keygen.CheckValue(f, columns); err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("filter: %w", err))
	}
	p := &cells.Plan{Columns: columns, Filter: f, Timestamp: r.job.Timestamp}
	p.Timestamp = cmp.Or(p.Timestamp, r.now.UnixMilli())
	if p.Salt, err = r.job.Salt(); err != nil {
		return nil, err
	}
	return p.NewFilter()
}

func (r *reading) rows(rows []int, b *source.Batch, f *cells.Filter, again bool) ([]int, error) {
	r.options.Budget.Count(int64(b.Rows))
	for row := range b.Rows {
		keep, err := f.Keeps(b, row)
		switch {
		case err == nil && keep:
			rows = append(rows, row)
		case err == nil:
			r.filtered.Add(1)
		case !again:
			if err := r.options.Budget.Reject(build.RowError(b, row, err)); err != nil {
				return nil, err
			}
		}
	}
	r.bytes.Add(b.Bytes)
	return rows, nil
}

// profile reads the parts and returns the profile.
func (r *reading) profile(ctx context.Context) (*profile.Profile, error) {
	columns := r.in.Source.Columns()
	m := newMerger(len(columns), openParts(len(columns), r.options))
	err := r.run(ctx, false, func() counter { return &columnCounter{merger: m, columns: len(columns)} })
	if err != nil {
		return nil, err
	}
	p := m.total.Profile(columns)
	p.Rejected, p.Filtered, p.Bytes = r.options.Budget.Bad(), r.filtered.Load(), r.bytes.Load()
	p.Parts, p.OfParts = len(r.splits), len(r.in.Source.Splits())
	if !p.Whole() {
		return p, nil
	}
	return p, r.options.AllColumns(r.in.Source.Lacking(), p.Records)
}

// fulfilled reads the same records again, and returns the expectations that they meet.
func (r *reading) fulfilled(ctx context.Context, list []expectation.Asked) ([]expectation.Asked, error) {
	checks, errs := expectation.Parse(list)
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	c, err := expectation.NewCounter(checks, r.in.Source.Columns(), int64(r.options.Memory)/4, r.now)
	if err != nil || c == nil {
		return nil, err
	}
	if err := r.run(ctx, true, func() counter { return &expectedCounter{of: c} }); err != nil {
		return nil, err
	}
	judged, err := c.Counts().Judge(checks, nil)
	if err != nil {
		return nil, err
	}
	at := 0
	for i := range list {
		own, _ := expectation.Parse(list[i : i+1])
		for _, check := range own {
			if judged.Findings[at].Bad() {
				list[i].Drop(check.Kind)
			}
			at++
		}
	}
	return slices.DeleteFunc(list, func(a expectation.Asked) bool { return !a.Expects() }), nil
}

type expectedCounter struct {
	of    *expectation.Counter
	total *expectation.Tally
}

func (c *expectedCounter) begin(context.Context, int) error {
	c.total = c.of.Tally()
	return nil
}

func (c *expectedCounter) end(int) { c.total.End() }

func (c *expectedCounter) batch(b *source.Batch, rows []int) {
	nulls := b.Nulls()
	for _, row := range rows {
		build.Count(c.total, b, row, nulls)
	}
}
