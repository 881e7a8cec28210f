package statetable

import (
	"context"
	"slices"
	"time"

	"bulkload/pkg/loader"
)

// gather is how long a record that is to be written soon waits for others, which one call takes along.
const gather = 5 * time.Millisecond

// patience is how long a caller waits for a call of the table that no caller waits for. Then that call is ended: the table may answer
// none, and the caller's own call is to have all the time that there is for it.
const patience = time.Second

// turn waits for the right to call the table, which done gives back.
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

// writeAside has a function call the table for which no caller waits. What it does not write, a later call does: a record has the same
// column in each. A loss is noted; a table out of reach stops the next record.
func (o *Owner) writeAside(ctx context.Context, write func(context.Context) error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	o.aside.Store(&end)
	o.calls.Lock()
	defer o.calls.Unlock()
	_ = write(ctx)
}

// Append adds a record after those that there are. It is durable when Append returns, with all before it. The line must stay as it is.
func (o *Owner) Append(ctx context.Context, line []byte) error {
	defer o.turn()()
	place, err := o.add(line)
	if err != nil {
		return err
	}
	if err := o.write(ctx); err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.waiting = slices.Delete(o.waiting, place, place+1) // its act does not follow
		return err
	}
	return nil
}

// Queue adds a record that is durable with the next one of [Owner.Append], with the next beat, or when the job is released; soon: within
// milliseconds, while the caller continues. It waits for no call of the table. The line must stay as it is.
func (o *Owner) Queue(line []byte, soon bool) error {
	if _, err := o.add(line); err != nil {
		return err
	}
	if soon {
		select {
		case o.hurry <- struct{}{}:
		default: // others wait already
		}
	}
	return nil
}

// add adds a record to those that wait, and gives its place among them.
func (o *Owner) add(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return 0, o.lost
	}
	o.waiting = append(o.waiting, line)
	return len(o.waiting) - 1, nil
}

// flush writes the records that wait, if any do.
func (o *Owner) flush(ctx context.Context) error {
	if cells, _ := o.waitingCells(); len(cells) == 0 {
		return nil
	}
	return o.write(ctx)
}

// waitingCells makes cells of the n records that wait.
func (o *Owner) waitingCells() (cells []loader.Cell, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, line := range o.waiting {
		cells = append(cells, recordCells(o.holder.Generation, o.records+int64(i)+1, line)...)
	}
	return cells, len(o.waiting)
}

// write writes the records that wait, and cells, if this process is still the owner: all or none.
func (o *Owner) write(ctx context.Context, cells ...loader.Cell) error {
	if lost := o.Lost(); lost != nil || o.released {
		return lost
	}
	records, n := o.waitingCells()
	began := time.Now()
	done, err := o.t.c.Mutate(ctx, o.t.name, loader.Mutation{Row: []byte(o.job), If: ownerCell(o.value), Cells: append(records, cells...)})
	if err != nil {
		return o.t.foreign(err)
	}
	if !done {
		c, err := o.t.read(ctx, o.job, ownerFamily)
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
