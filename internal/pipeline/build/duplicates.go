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

// CheckDuplicatesFile refuses a file of duplicates for a job that leaves out cells instead of records, because several records make a row.
func CheckDuplicatesFile(s spec.Job) error {
	for _, t := range s.Targets() {
		if t.Policy() == extsort.KeepAll || slices.ContainsFunc(t.Mapping.Cells, func(c spec.CellSpec) bool { return c.QualifierFrom != "" }) {
			return fail.With(fail.Config, setting.Errorf("%s: where several records make a row, cells are left out, not records: leave the setting out", setting.DuplicatesFile))
		}
	}
	return nil
}

// refuseTables refuses the setting for tables among the inputs, since their rows cannot be read again by place.
func (k *Input) refuseTables() error {
	for _, f := range k.Source.Files() {
		if k.Duplicates != nil && f.Format.Traits().Table {
			return fail.Errorf(fail.Config, "input %s: %w", f.Path, abilities.Refusal(abilities.Input, abilities.Duplicates))
		}
	}
	return nil
}

// losers reports whether a duplicate was left out of the region, or may have been.
func (w WrittenRecord) losers() bool { return w.Dups > 0 || w.Records == 0 }

// displaced returns the lists of the sort for the duplicates of each table.
func (o Options) displaced(plans []*cells.Plan) (lists []int) {
	if o.Duplicates == nil {
		return nil
	}
	for i, p := range plans {
		lists = append(lists, slices.Repeat([]int{i}, p.Ranges.Len())...)
	}
	return lists
}

// duplicates writes the files of duplicates when all regions are written. It reads their records again.
func (r inputRows) duplicates(ctx context.Context, sorter *extsort.Sorter, all []*manifest.Manifest) error {
	for i, f := range r.o.Duplicates {
		lost, err := sorter.Displaced(i)
		if err != nil {
			return r.explain(err)
		}
		// An index also lacks the entries of records that were left out of the first table.
		if n := int64(len(lost)); n != all[i].Duplicates && !r.plans[i].IsIndex() {
			return ofTable(r.plans, i, fail.Errorf(fail.Unexpected, "%d duplicates were left out, and %d are known; nothing was loaded (a fault of bulkload or of this machine: report it)", all[i].Duplicates, n))
		}
		if len(lost) == 0 {
			continue
		}
		r.o.Events.Note("the inputs are read again for the duplicates", "records", len(lost))
		again := &rereader{in: r.in, o: r.o, to: f, left: lost}
		if err := again.run(ctx); err != nil {
			return r.o.ReadError(err)
		}
	}
	return nil
}

// finishDuplicates gives the files of duplicates their final names, and records the names in the manifests.
func (o Options) finishDuplicates(all []*manifest.Manifest) (err error) {
	for i, f := range o.Duplicates {
		if all[i].DuplicatesFile, err = o.finish(f, all[i].Duplicates); err != nil {
			return err
		}
	}
	return nil
}

// rereader reads the records again that were left out as duplicates. Workers take the splits with such records in the order of the input.
type rereader struct {
	in *source.Input
	o  Options
	to *source.RejectFile

	mu   sync.Mutex
	left []extsort.Displaced // in the order of the input
}

func (r *rereader) run(ctx context.Context) error {
	if err := r.o.resume.sameSplits(r.in); err != nil {
		return err
	}
	return workers.Run(ctx, r.o.Workers, func(ctx context.Context, _ int) error {
		w := &rereadWorker{rereader: r, ctx: ctx}
		reader := r.in.NewReader()
		reader.PassOver()
		for w.take() {
			split := int(w.lost[0].Seq >> offsetBits)
			if err := reader.Read(ctx, split, w.batch); err != nil { // to its end, to compare its checksum with that of the first reading
				return err
			}
			if err := r.o.resume.sameSplit(r.in, split); err != nil {
				return err
			}
			if len(w.lost) > 0 {
				return w.gone()
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

// take takes the records of the next split; it returns false when none is left.
func (w *rereadWorker) take() bool {
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

// batch finds the records of one batch.
func (w *rereadWorker) batch(b *source.Batch) error {
	if err := progress.Pass(w.ctx, w.o.Gate); err != nil {
		return err
	}
	for row := range b.Rows {
		switch seq := sequence(b.Split, b.Offsets[row]); {
		case len(w.lost) == 0:
			return nil
		case seq > w.lost[0].Seq:
			return w.gone()
		case seq == w.lost[0].Seq:
			e := b.RowError(row)
			e.Reason, e.Kept = "another record of its key is loaded", w.kept(w.lost[0].By)
			if err := w.to.Write(e); err != nil {
				return err
			}
			w.lost = w.lost[1:]
		}
	}
	return nil
}

// kept returns the place of the record that was kept, by its sequence number.
func (w *rereadWorker) kept(seq uint64) *source.Place {
	p := w.in.PlaceOf(int(seq>>offsetBits), int64(seq&(1<<offsetBits-1)))
	return &p
}

// gone returns the error of a record that is no longer at its place.
func (w *rereadWorker) gone() error {
	return fail.Errorf(fail.Input, "%s: no record begins there any more: the file has changed since it was read; nothing was loaded", place(w.in, w.lost[0].Seq))
}
