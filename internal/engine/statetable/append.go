package statetable

import (
	"context"
	"slices"
	"time"

	"bulkload/pkg/loader"
)

// gather is the delay before a record that is to be written soon is sent, so that one call can send several.
const gather = 5 * time.Millisecond

// patience is how long a caller waits for a running background write before it cancels that write: the table may never answer it, and the caller's
// own call needs the remaining time.
const patience = time.Second

// turn waits for the right to call the table; done releases it.
func (o *Owner) turn() (done func()) {
	late := time.AfterFunc(patience, func() {
		if end := o.aside.Load(); end != nil {
			(*end)()
		}
	})
	o.calls.Lock()
	late.Stop()
	return o.calls.Unlock
}

// writeAside runs a background write. A later call writes the records that it does not write, since a record has the same column in
// each call. write notes the loss of the job; if the table is out of reach, the next record fails.
func (o *Owner) writeAside(ctx context.Context, write func(context.Context) error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	o.aside.Store(&end)
	o.calls.Lock()
	defer o.calls.Unlock()
	_ = write(ctx)
}

// Append adds a record. When it returns, the record and all records before it are durable. The line must not be modified.
func (o *Owner) Append(ctx context.Context, line []byte) error {
	defer o.turn()()
	place, err := o.add(line)
	if err != nil {
		return err
	}
	if err := o.write(ctx); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.waiting = slices.Delete(o.waiting, place, place+1) // the action that it announces does not follow
		return err
	}
	return nil
}

// Queue adds a record that becomes durable with the next [Owner.Append], with the next beat, or when the job is released; with soon, within
// milliseconds, while the caller continues. It waits for no call to the table. The line must not be modified.
func (o *Owner) Queue(line []byte, soon bool) error {
	if _, err := o.add(line); err != nil {
		return err
	}
	if soon {
		select {
		case o.hurry <- struct{}{}:
		default: // a flush is already requested
		}
	}
	return nil
}

// add adds a record to the waiting ones, and returns its index among them.
func (o *Owner) add(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return 0, o.lost
	}
	o.waiting = append(o.waiting, line)
	return len(o.waiting) - 1, nil
}

// flush writes the waiting records, if any.
func (o *Owner) flush(ctx context.Context) error {
	if cells, _ := o.waitingCells(); len(cells) == 0 {
		return nil
	}
	return o.write(ctx)
}

// waitingCells returns the cells of the n waiting records.
func (o *Owner) waitingCells() (cells []loader.Cell, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, line := range o.waiting {
		cells = append(cells, recordCells(o.holder.Generation, o.records+int64(i)+1, line)...)
	}
	return cells, len(o.waiting)
}

// write writes the waiting records and the cells, all or none, if this process is still the owner.
func (o *Owner) write(ctx context.Context, cells ...loader.Cell) error {
	if lost := o.Lost(); lost != nil || o.released {
		return lost
	}
	records, n := o.waitingCells()
	began := time.Now()
	done, err := o.table.cluster.Mutate(ctx, o.table.name, loader.Mutation{Row: []byte(o.job), If: ownerCell(o.value), Cells: append(records, cells...)})
	if err != nil {
		return o.table.unfit(err)
	}
	if !done {
		c, err := o.table.read(ctx, o.job, ownerFamily)
		if err != nil {
			return err
		}
		return o.lose(c.Holder)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrote, o.records, o.waiting = began, o.records+int64(n), o.waiting[n:]
	return nil
}

func (o *Owner) lose(to Holder) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = &LostError{to}
	close(o.gone)
	return o.lost
}
