package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"bulkload/internal/workers"
	"bulkload/pkg/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/progress"
	"bulkload/pkg/source"
)

// MaxCell is the greatest cell that clients and servers take
// (hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize, 2.6.4).
// A bulk load is not checked by the server, so it is here.
const MaxCell = 10 << 20

// Sequence numbers are a split's ordinal and an offset, so that they follow
// the input and name a record's place.
const offsetBits = 40

func sequence(split int, offset int64) uint64 {
	return uint64(split)<<offsetBits | uint64(offset)&(1<<offsetBits-1)
}

// place says where the record of a sequence number lies.
func place(in Places, seq uint64) string {
	split := int(seq >> offsetBits)
	offset := seq & (1<<offsetBits - 1)
	if split >= len(in.Splits()) {
		return fmt.Sprintf("split %d, offset %d", split, offset)
	}
	return in.Place(split, int64(offset))
}

// readers is pass 1: workers take splits in order and fill the sort.
type readers struct {
	plan   *Plan
	in     *source.Input
	sort   *extsort.Sorter
	budget *source.Budget
	events progress.Events
	gate   progress.Gate         // before each batch
	skip   func(region int) bool // regions whose file is written already; nil: none
	resume *Resume               // what an earlier attempt has read; may be nil
	next   atomic.Int64          // the split to be read next
	end    int                   // behind the last one to be read; 0: all are
	got    readCount
}

// run reads all splits with the given number of workers.
func (r *readers) run(ctx context.Context, n int) error {
	return workers.Run(ctx, n, func(ctx context.Context, _ int) error {
		w, err := r.newWorker()
		if err != nil {
			return err
		}
		return w.run(ctx)
	})
}

// readWorker turns records into rows of the sort. It belongs to one goroutine.
type readWorker struct {
	*readers
	ctx     context.Context
	key     *keygen.Program
	keyCols []int // columns of the key's fields
	reader  *source.Reader
	out     *extsort.Writer
	keyBuf  []byte
	fields  [][]byte
	lengths []int    // of a record's values, in the order of slots
	offsets []uint32 // and where they lie in the batch, or in values
	values  []byte   // those of a mapped record
	kept    []kept   // by slot, what becomes a cell without a byte, in files that have NULL if nulls
	nulls   bool
}

func (r *readers) newWorker() (*readWorker, error) {
	key, err := keygen.Compile(r.plan.Key, keygen.Options{Regions: r.plan.Modulus})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	w := &readWorker{readers: r, key: key, reader: r.in.NewReader(),
		lengths: make([]int, r.plan.values()), offsets: make([]uint32, r.plan.values())}
	for _, c := range key.Columns() {
		w.keyCols = append(w.keyCols, slices.Index(r.plan.Columns, c))
	}
	w.fields = make([][]byte, len(w.keyCols))
	w.kept = r.plan.kept(nil, false)
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

// batch adds the rows of one batch.
func (w *readWorker) batch(b *source.Batch) error {
	if err := progress.Pass(w.ctx, w.gate); err != nil {
		return err
	}
	w.got.add(b)
	if nulls := b.Nulls(); nulls != w.nulls {
		w.nulls, w.kept = nulls, w.plan.kept(w.kept[:0], nulls)
	}
	for row := range b.Rows {
		if err := w.row(b, row); err != nil {
			return err
		}
	}
	w.budget.Count(int64(b.Rows))
	w.events.Rows(int64(b.Rows), b.Bytes)
	return nil
}

func (w *readWorker) row(b *source.Batch, row int) error {
	for i, c := range w.keyCols {
		w.fields[i] = b.Field(row, c)
	}
	key, err := w.key.Append(w.keyBuf[:0], w.fields)
	if err != nil {
		return w.bad(b, row, err)
	}
	if len(key) == 0 {
		return w.bad(b, row, NoKey())
	}
	w.keyBuf = key
	data := b.Data
	if w.plan.mapped {
		err = w.mappedRow(b, row)
		data = w.values
	} else {
		err = w.textRow(b, row)
	}
	if err != nil {
		return w.bad(b, row, err)
	}
	region := w.plan.Ranges.Find(key)
	if w.skip != nil && w.skip(region) {
		return nil
	}
	return w.add(region, sequence(b.Split, b.Offsets[row]), key, data)
}

// bad sets a record aside, or gives the error that ends the job.
func (w *readWorker) bad(b *source.Batch, row int, err error) error {
	return w.budget.Reject(RowError(b, row, err))
}

// RowError says why a record has no row.
func RowError(b *source.Batch, row int, err error) source.RowError {
	e := b.RowError(row)
	e.Reason = err.Error()
	if f, ok := errors.AsType[*keygen.FieldError](err); ok {
		e.Column, e.Reason, err = f.Column, f.Reason(), f.Err
	}
	e.Err = err
	return e
}
