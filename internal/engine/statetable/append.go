package statetable

import (
	"context"
	"time"

	"bulkload/pkg/loader"
)

// gather is how long a record that is to be written soon waits for others, which one call takes along.
const gather = 5 * time.Millisecond

// Append adds a record after those that there are. It is durable when Append returns, with all before it. The line must stay as it is.
func (o *Owner) Append(ctx context.Context, line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return o.lost
	}
	o.waiting = append(o.waiting, line)
	if err := o.write(ctx); err != nil {
		o.waiting = o.waiting[:len(o.waiting)-1] // its act does not follow
		return err
	}
	return nil
}

// Queue adds a record that is durable with the next one of [Owner.Append], with the next beat, or when the job is released; soon: within
// milliseconds, while the caller continues. The line must stay as it is.
func (o *Owner) Queue(line []byte, soon bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return o.lost
	}
	o.waiting = append(o.waiting, line)
	if soon {
		select {
		case o.hurry <- struct{}{}:
		default: // others wait already
		}
	}
	return nil
}

// flush writes the records that wait, if any do.
func (o *Owner) flush(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return nil
	}
	return o.write(ctx)
}

// waitingCells makes cells of the records that wait.
func (o *Owner) waitingCells() (cells []loader.Cell) {
	for i, line := range o.waiting {
		cells = append(cells, recordCells(o.holder.Generation, o.records+int64(i)+1, line)...)
	}
	return cells
}

// write writes the records that wait, and cells, if this process is still the owner: all or none.
func (o *Owner) write(ctx context.Context, cells ...loader.Cell) error {
	if o.lost != nil || o.released {
		return o.lostError()
	}
	began := time.Now()
	done, err := o.t.c.Mutate(ctx, o.t.name, loader.Mutation{Row: []byte(o.job), If: ownerCell(o.value), Cells: append(o.waitingCells(), cells...)})
	if err != nil {
		return err
	}
	if done {
		o.wrote = began
		o.records, o.waiting = o.records+int64(len(o.waiting)), nil
		return nil
	}
	c, err := o.t.read(ctx, o.job, ownerFamily)
	if err != nil {
		return err
	}
	return o.lose(c.Holder)
}

func (o *Owner) lose(to Holder) error {
	o.lost = &LostError{to}
	close(o.gone)
	return o.lost
}
