package build

import (
	"context"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/source"
)

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
