package build

import (
	"context"
	"slices"
	"sort"
	"sync"

	"bulkload/internal/base/abilities"
	"bulkload/internal/base/workers"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// CheckDuplicatesFile refuses a file of duplicates for a job in which several records make a row: such a job leaves out cells, not records.
func CheckDuplicatesFile(s spec.Job) error {
	for _, t := range s.Targets() {
		if t.Policy() == extsort.KeepAll || slices.ContainsFunc(t.Mapping.Cells, func(c spec.CellSpec) bool { return c.QualifierFrom != "" }) {
			return fail.With(fail.Config, setting.Errorf("%s: where several records make a row, cells are left out, not records: leave the setting out", setting.DuplicatesFile))
		}
	}
	return nil
}

// refuseTables refuses a file of duplicates if an input is a table: its rows have no position from which they can be read again.
func (k *Input) refuseTables() error {
	for _, f := range k.Source.Files() {
		if k.Duplicates != nil && f.Format.Traits().Table {
			return fail.Errorf(fail.Config, "input %s: %w", f.Path, abilities.Refusal(abilities.Input, abilities.Duplicates))
		}
	}
	return nil
}

// losers reports whether duplicates were left out of the region, or may have been.
func (w WrittenRecord) losers() bool { return w.Dups > 0 || w.Records == 0 }

// displaced returns, for each region of the sort, the index of the list that collects the duplicates of the region's table.
func (o Options) displaced(plans []*cells.Plan) (lists []int) {
	if o.Duplicates == nil {
		return nil
	}
	for i, p := range plans {
		lists = append(lists, slices.Repeat([]int{i}, p.Ranges.Len())...)
	}
	return lists
}

// duplicates writes the files of duplicates after all regions are written. It reads the records again.
func (r inputRows) duplicates(ctx context.Context, sorter *extsort.Sorter, all []*manifest.Manifest) error {
	for i, f := range r.options.Duplicates {
		lost, err := sorter.Displaced(i)
		if err != nil {
			return r.explain(err)
		}
		// Index entries are also left out if their records were left out of the first table.
		if n := int64(len(lost)); n != all[i].Duplicates && !r.plans[i].IsIndex() {
			return ofTable(r.plans, i, fail.Errorf(fail.Unexpected, "%d duplicates were left out, and %d are known; nothing was loaded (a fault of bulkload or of this machine: report it)", all[i].Duplicates, n))
		}
		if len(lost) == 0 {
			continue
		}
		r.options.Events.Note("the inputs are read again for the duplicates", "records", len(lost))
		again := &rereader{in: r.in, options: r.options, to: f, left: lost}
		if err := again.run(ctx); err != nil {
			return r.options.ReadError(err)
		}
	}
	return nil
}

// rereader reads left-out duplicates again. Workers take the splits that contain some, in the order of the input.
type rereader struct {
	in      *source.Input
	options Options
	to      *source.RejectFile

	mu   sync.Mutex
	left []extsort.Displaced // in the order of the input
}

func (r *rereader) run(ctx context.Context) error {
	if err := r.options.resume.sameSplits(r.in); err != nil {
		return err
	}
	return workers.Run(ctx, r.options.Workers, func(ctx context.Context, _ int) error {
		w := &rereadWorker{rereader: r, ctx: ctx}
		reader := r.in.NewReader()
		reader.PassOver()
		for w.next() {
			split := int(w.lost[0].Seq >> offsetBits)
			if err := reader.Read(ctx, split, w.batch); err != nil { // to its end: its checksum is that of the earlier read
				return err
			}
			if err := r.options.resume.sameSplit(r.in, split); err != nil {
				return err
			}
			if len(w.lost) > 0 {
				return w.recordMoved()
			}
		}
		return nil
	})
}

// rereadWorker belongs to one goroutine.
type rereadWorker struct {
	*rereader
	ctx  context.Context
	lost []extsort.Displaced // of the split, not found yet
}

// next takes the records of the next split. It returns false when none are left.
func (w *rereadWorker) next() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == 0 {
		return false
	}
	split := w.left[0].Seq >> offsetBits
	n := sort.Search(len(w.left), func(i int) bool { return w.left[i].Seq>>offsetBits > split })
	w.lost, w.left = w.left[:n], w.left[n:]
	return true
}

// batch finds the left-out records of one batch.
func (w *rereadWorker) batch(b *source.Batch) error {
	if err := progress.Pass(w.ctx, w.options.Gate); err != nil {
		return err
	}
	for row := range b.Rows {
		switch seq := sequence(b.Split, b.Offsets[row]); {
		case len(w.lost) == 0:
			return nil
		case seq > w.lost[0].Seq:
			return w.recordMoved()
		case seq == w.lost[0].Seq:
			e := b.RowError(row)
			e.Reason, e.Kept = "another record of its key is loaded", w.position(w.lost[0].By)
			if err := w.to.Write(e); err != nil {
				return err
			}
			w.lost = w.lost[1:]
		}
	}
	return nil
}

// position returns the position of a record by its sequence number.
func (w *rereadWorker) position(seq uint64) *source.Place {
	p := w.in.PlaceOf(int(seq>>offsetBits), int64(seq&(1<<offsetBits-1)))
	return &p
}

// recordMoved returns the error for a record that is no longer where it was read.
func (w *rereadWorker) recordMoved() error {
	return fail.Errorf(fail.Input, "%s: no record begins there any more: the file has changed since it was read; nothing was loaded", place(w.in, w.lost[0].Seq))
}
