package rekey

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/workers"
	"bulkload/pkg/build"
	"bulkload/pkg/fail"
	"bulkload/pkg/hfile"
	"bulkload/pkg/manifest"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/progress"
	"bulkload/pkg/snapshot"
)

// writer is pass 2: workers take regions of the new table, the largest first,
// merge each and write its files.
type writer struct {
	snap   *snapshot.Snapshot
	plan   *Plan
	names  []column
	sorter *extsort.Sorter
	out    build.Output
	o      Options

	mu    sync.Mutex
	total part
	files []manifest.File
	last  time.Time // when files were finished
}

// part is what one region adds to the totals.
type part struct {
	merged int64 // rows that were taken out of the sort
	dups   int64 // left out, for another has their key
	empty  int64 // without a cell that is late enough
	sum    RowSum
	times  *manifest.CellTimes
}

func (w *writer) run(ctx context.Context) error {
	type work struct {
		region int
		size   int64
	}
	var all []work
	total := progress.Amount{}
	for i := range w.plan.Ranges.Len() {
		if rows, size := w.sorter.Size(i); rows > 0 {
			all = append(all, work{i, size})
			total.Rows += rows
		}
	}
	slices.SortFunc(all, func(a, b work) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.region, b.region)) })
	w.o.Events.Total("write", total)
	var next atomic.Int64
	err := workers.Run(ctx, min(w.o.Workers, len(all)), func(ctx context.Context, _ int) error {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(all) {
				break
			}
			one := func(attempt int) error { return w.region(ctx, all[i].region, all[i].size, attempt) }
			if err := w.out.Retry.Persist(ctx, w.o.Events, w.plan.fileName("", all[i].region), one(0), w.lastFinished, one); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(w.files, func(a, b manifest.File) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Family, b.Family))
	})
	return err
}

func (w *writer) lastFinished() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// region writes the files of one region.
func (w *writer) region(ctx context.Context, i int, size int64, attempt int) (err error) {
	if err := w.out.Uploads.Enter(ctx); err != nil {
		return err
	}
	defer w.out.Uploads.Leave()
	if err := progress.Pass(ctx, w.o.Gate); err != nil {
		return err
	}
	m, err := w.sorter.Region(i)
	if err != nil {
		return err
	}
	defer m.Close()
	r := &regionFiles{writer: w, region: i, size: size, attempt: attempt, files: make([]*file, len(w.plan.Families)), earliest: math.MaxInt64}
	defer func() {
		if err != nil {
			r.abort()
			w.o.Events.Merged(-r.told)
		}
	}()
	for n := 0; m.Next(); n++ {
		if n%reportEvery == 0 {
			if err := r.tell(ctx); err != nil {
				return err
			}
		}
		if err := r.row(ctx, m.Key(), m.Payload()); err != nil {
			return err
		}
	}
	if err := m.Err(); err != nil {
		return err
	}
	if err := r.tell(ctx); err != nil {
		return err
	}
	files, err := r.finish(ctx)
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files = append(w.files, files...)
	w.total.merged += r.merged + m.Duplicates()
	w.total.dups += m.Duplicates()
	w.total.empty += r.empty
	w.total.sum.Add(r.hash.sum)
	w.total.times = w.total.times.Join(r.bounds())
	w.last = time.Now()
	for _, f := range files {
		w.o.Events.Hfile(progress.HFile{Name: f.Name, Family: f.Family, Region: f.Region, Rows: f.Rows, Bytes: f.Bytes})
	}
	return nil
}

// regionFiles are the files of one region while they are written: one for each
// family that has cells.
type regionFiles struct {
	*writer
	region  int
	size    int64
	attempt int
	files   []*file // by family, nil: it has no cell yet

	part
	hash             rowHash
	told             int64
	earliest, latest int64 // timestamps
	expires          int64 // of the first cell that does, 0: none
}

// row writes the cells of a row.
func (r *regionFiles) row(ctx context.Context, key, payload []byte) error {
	r.merged++
	cells := packed{rest: payload, names: r.names}
	family := -1
	for cells.next() {
		if cells.family >= len(r.files) {
			cells.damaged()
			break
		}
		f := r.files[cells.family]
		if f == nil {
			var err error
			if f, err = r.create(ctx, cells.family); err != nil {
				return fail.With(fail.HDFS, err)
			}
			r.files[cells.family] = f
		}
		if cells.family != family {
			family = cells.family
			f.Rows++
		}
		c := &cells.cell
		c.Row, c.Family = key, f.family
		if err := f.hfile.Append(c); err != nil {
			return writeError(err)
		}
		r.hash.add(f.File.Family, c.Qualifier, c.Timestamp, c.Value)
		r.time(cells.family, c)
	}
	if len(payload) == 0 {
		r.empty++
	}
	r.hash.end()
	return cells.err
}

// time notes when a cell is from, and when it is gone.
func (r *regionFiles) time(family int, c *hfile.Cell) {
	r.earliest, r.latest = min(r.earliest, c.Timestamp), max(r.latest, c.Timestamp)
	if life := lifetime(r.snap.Families[family].TTL, c.Tags); life < math.MaxInt64-c.Timestamp && (r.expires == 0 || c.Timestamp+life < r.expires) {
		r.expires = c.Timestamp + life
	}
}

func (r *regionFiles) bounds() *manifest.CellTimes {
	if r.earliest > r.latest {
		return nil
	}
	return &manifest.CellTimes{Min: r.earliest, Max: r.latest, Expires: r.expires}
}

func (r *regionFiles) tell(ctx context.Context) error {
	r.o.Events.Merged(r.merged - r.told)
	r.told = r.merged
	return context.Cause(ctx)
}

// writeError distinguishes a failed write from cells that no HFile can hold.
func writeError(err error) error {
	if errors.Is(err, hfile.ErrOrder) || errors.Is(err, hfile.ErrTooLarge) {
		return fail.With(fail.Unexpected, err)
	}
	return fail.With(fail.HDFS, err)
}
