package statetable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/retry"
	"bulkload/pkg/loader"
)

// A BusyError reports that another process works on a job.
type BusyError struct{ Holder Holder }

func (e *BusyError) Error() string { return "another process works on this job: " + e.Holder.String() }

// A LostError reports that another process has taken over the job, because the owner gave no sign of life.
type LostError struct{ Holder Holder }

func (e *LostError) Error() string {
	if e.Holder.Epoch == 0 {
		return "the state of this job was removed while this process worked on it: bulkload clean ran elsewhere, or the state table was emptied"
	}
	return fmt.Sprintf("%s has taken over this job: this process was silent for %s", e.Holder, silentFor)
}

// An Owner is the process that works on a job: only it can record. Its methods are safe for concurrent use.
type Owner struct {
	table  *Table
	job    string
	holder Holder
	value  []byte // the holder, as it is stored
	live   func() []byte

	hurry chan struct{} // signals that waiting records are to be written soon

	calls    sync.Mutex                         // is held while the table is called, and guards the fields below
	aside    atomic.Pointer[context.CancelFunc] // cancels the running background write
	records  int64                              // number of records in the table
	beats    int64
	stop     context.CancelFunc
	stopped  chan struct{}
	released bool

	mu      sync.Mutex // is held briefly, and guards the fields below
	waiting [][]byte   // records that are not in the table yet: the next write includes them
	wrote   time.Time  // when this process was last known to be the owner
	lost    *LostError
	gone    chan struct{} // closed when the job is lost
}

// Take makes this process the owner of a job, and returns the job's content. An owner that may be alive is watched until it gives a sign of life,
// which returns a *[BusyError], or has given none for 20 seconds. live is called every two seconds for this process's report; nil: no report.
// watching is called once when the watch of a silent owner begins; nil: it is not called. The table is created if it does not exist.
func (t *Table) Take(ctx context.Context, job string, live func() []byte, watching func(Holder)) (*Owner, *Content, error) {
	self, err := thisProcess()
	if err != nil {
		return nil, nil, err
	}
	c, err := t.Read(ctx, job)
	if errors.Is(err, loader.ErrTableNotFound) { // nothing is written to a table that lacks a family
		c, err = &Content{}, t.create(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	var beat []byte
	var since time.Time
	for looks := 0; ; looks++ {
		sign := append(bytes.Clone(c.owner), c.beat...)
		silent := beat != nil && bytes.Equal(beat, sign) && looks >= minLooks && time.Since(since) >= t.silentFor
		switch {
		case c.owner == nil || c.Holder.Released || c.Holder.ended(self) || silent:
			o, content, err := t.takeFrom(ctx, job, c, self)
			if err != nil || o != nil {
				return o.begin(ctx, live), content, err
			}
			looks, beat = -1, nil // another process was faster
		case beat == nil:
			if beat, since = sign, time.Now(); watching != nil {
				watching(c.Holder)
			}
		case !bytes.Equal(beat, sign):
			return nil, nil, &BusyError{c.Holder}
		}
		if err := retry.Sleep(ctx, t.lookEvery); err != nil {
			return nil, nil, err
		}
		if c, err = t.read(ctx, job, ownerFamily); err == nil && c.Holder.Epoch == 0 {
			c, err = t.Read(ctx, job) // its records have the generation
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// takeFrom makes this process the owner, unless another process has become the owner since the read of was. Then it returns nil.
func (t *Table) takeFrom(ctx context.Context, job string, was *Content, self Holder) (*Owner, *Content, error) {
	self.Epoch, self.Generation = was.Holder.Epoch+1, was.Holder.Generation
	o := &Owner{table: t, job: job, holder: self, hurry: make(chan struct{}, 1), gone: make(chan struct{})}
	if err := o.become(ctx, self, was.owner, nil); err != nil {
		if _, lost := errors.AsType[*LostError](err); lost {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	c := was
	if len(was.cells) > 0 {
		var err error
		if c, err = t.Read(ctx, job); err != nil {
			return nil, nil, err
		}
		if !bytes.Equal(c.owner, o.value) {
			return nil, nil, nil
		}
	}
	o.records = int64(len(c.Records))
	return o, c, nil
}

// become writes the holder together with cells, if before is still the stored holder. It handles a lost answer correctly: the holder that is found in
// the table decides.
func (o *Owner) become(ctx context.Context, h Holder, before []byte, cells []loader.Cell) error {
	value, err := json.Marshal(h)
	if err != nil {
		return err
	}
	done, err := o.table.cluster.Mutate(ctx, o.table.name, loader.Mutation{Row: []byte(o.job), If: ownerCell(before), Cells: append(cells, ownerCell(value))})
	if err != nil {
		return o.table.unfit(err)
	}
	if !done {
		c, err := o.table.read(ctx, o.job, ownerFamily)
		if err != nil {
			return err
		}
		if !bytes.Equal(c.owner, value) {
			return &LostError{c.Holder}
		}
	}
	o.holder, o.value = h, value
	return nil
}

func ownerCell(value []byte) loader.Cell {
	return loader.Cell{Family: []byte(ownerFamily), Qualifier: ownerColumn, Value: value}
}

// begin starts the beats.
func (o *Owner) begin(ctx context.Context, live func() []byte) *Owner {
	if o == nil {
		return nil
	}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	o.live, o.stopped = live, make(chan struct{})
	go func() {
		defer close(o.stopped)
		beat := time.NewTicker(o.table.beatEvery)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				o.writeAside(ctx, o.beat)
			case <-o.hurry:
				if retry.Sleep(ctx, gather) == nil {
					o.writeAside(ctx, o.flush)
				}
			}
		}
	}()
	return o
}

// Gone returns a channel that is closed when another process has taken over the job.
func (o *Owner) Gone() <-chan struct{} { return o.gone }

// Lost returns a *[LostError] if another process has taken over the job, else nil.
func (o *Owner) Lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil {
		return nil
	}
	return o.lost
}

// Check returns a *[LostError] if the job is lost. It calls the table unless this process was the owner a moment ago, also if ctx is cancelled: a process
// that is stopped cleans up what it still owns.
func (o *Owner) Check(ctx context.Context) error {
	o.mu.Lock()
	recent := o.lost == nil && time.Since(o.wrote) < o.table.lookEvery
	o.mu.Unlock()
	if recent {
		return nil
	}
	if ctx.Err() != nil {
		var end context.CancelFunc
		ctx, end = cleanup.Context(ctx)
		defer end()
	}
	defer o.turn()()
	return o.beat(ctx)
}

// beat writes a sign of life. The caller must have the right to call the table.
func (o *Owner) beat(ctx context.Context) error {
	o.beats++
	beat := fmt.Appendf(nil, "%d %d\n", o.holder.Epoch, o.beats)
	if o.live != nil {
		beat = append(beat, o.live()...)
	}
	return o.write(ctx, loader.Cell{Family: []byte(ownerFamily), Qualifier: beatColumn, Value: beat})
}

// Restart discards the records, and begins again with others, which take their place in the same call.
func (o *Owner) Restart(ctx context.Context, records ...[]byte) error {
	defer o.turn()()
	if lost := o.Lost(); lost != nil {
		return lost
	}
	h := o.holder
	h.Generation++
	var cells []loader.Cell
	for i, line := range records {
		cells = append(cells, recordCells(h.Generation, int64(i)+1, line)...)
	}
	if err := o.become(ctx, h, o.value, cells); err != nil {
		if e, lost := errors.AsType[*LostError](err); lost {
			return o.lose(e.Holder)
		}
		return err
	}
	o.mu.Lock()
	o.records, o.waiting = int64(len(records)), nil
	o.mu.Unlock()
	return o.sweep(ctx, false)
}

// sweep deletes the discarded records; with all, the whole row, which may be gone already: by an earlier attempt of the same call, whose answer was lost, or
// by a process that removed the job too.
func (o *Owner) sweep(ctx context.Context, all bool) error {
	c, err := o.table.Read(ctx, o.job)
	if err != nil {
		return err
	}
	var cells []loader.Cell
	for _, cell := range c.cells {
		if all || o.discarded(cell) {
			cells = append(cells, cell)
		}
	}
	if len(cells) == 0 {
		return nil
	}
	done, err := o.table.cluster.Mutate(ctx, o.table.name, loader.Mutation{Row: []byte(o.job), Delete: true, If: ownerCell(o.value), Cells: cells})
	if err != nil || done {
		return err
	}
	now, err := o.table.read(ctx, o.job, ownerFamily)
	if err != nil || all && now.owner == nil {
		return err
	}
	return o.lose(now.Holder)
}

// discarded reports whether a cell is of a record, and not of one of the owner's generation.
func (o *Owner) discarded(c loader.Cell) bool {
	r, err := parseRecord(c.Qualifier)
	return string(c.Family) == recordFamily && (err != nil || r.generation != o.holder.Generation)
}

// Release ends the ownership: all records are durable, and the next process can take the job immediately. It does nothing for a job that is lost.
func (o *Owner) Release(ctx context.Context) error { return o.end(ctx, false) }

// Delete ends the ownership and removes the job from the table.
func (o *Owner) Delete(ctx context.Context) error { return o.end(ctx, true) }

func (o *Owner) end(ctx context.Context, remove bool) error {
	o.stop()
	<-o.stopped
	defer o.turn()()
	if o.released || o.Lost() != nil {
		return nil
	}
	o.released = true
	if remove {
		return o.sweep(ctx, true)
	}
	h := o.holder
	h.Released = true
	records, _ := o.waitingCells()
	err := o.become(ctx, h, o.value, records)
	if e, lost := errors.AsType[*LostError](err); lost {
		_ = o.lose(e.Holder) // for the error of the command
		return nil
	}
	return err
}
