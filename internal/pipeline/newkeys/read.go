package newkeys

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hfile"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// ReportEvery is the number of rows between progress reports and checks for cancellation: a power of two.
const ReportEvery = 1 << 12

// reader is pass 1: workers take parts of the snapshot in order.
type reader struct {
	snap    *snapshot.Snapshot
	view    snapshot.View
	plan    *Plan
	keys    *keyColumns
	names   *columnNames
	parts   []part                   // of the snapshot
	from    int                      // index of the first part to read
	end     int                      // index after the last part to read
	taker   func() (rowTaker, error) // returns the taker of a worker
	skip    func(region int) bool    // regions of the new table whose files are already written; nil: none
	room    memory
	options Options
	reject  *rejectFile // nil: rejected rows are only counted

	bad atomic.Int64

	mu   sync.Mutex
	rows int64 // returned by a Scan
	sum  manifest.RowSum
}

// part is a region of the snapshot, or its rows from start (inclusive) to stop (exclusive).
type part struct {
	region      int
	start, stop []byte
	stands      int // number of parts that it represents
}

// wholeParts returns all regions.
func wholeParts(s *snapshot.Snapshot) []part {
	parts := make([]part, len(s.Regions))
	for i := range parts {
		parts[i] = part{region: i, stands: 1}
	}
	return parts
}

// A rowTaker receives the rows of a worker, which has the cells of the current row. It belongs to one goroutine.
type rowTaker interface {
	take(w *readWorker, region int, key []byte) error
	end(p part) // called after all rows of a part
}

// sortTaker adds rows to the sort.
type sortTaker struct{ *extsort.Writer }

func (s sortTaker) take(w *readWorker, region int, key []byte) error {
	room, err := s.Add(region, w.sequence(), key, len(w.pack.cells))
	if err != nil {
		return err
	}
	copy(room, w.pack.cells)
	return nil
}

func (sortTaker) end(part) {}

// view returns the view with which every pass reads the snapshot.
func (p *Plan) view() snapshot.View {
	return snapshot.View{Now: p.Now, Versions: p.Versions, Choice: p.Choice, Newest: p.Choice.OfCells()}
}

func (r *reader) run(ctx context.Context) error {
	var next atomic.Int64
	next.Store(int64(r.from))
	return workers.Run(ctx, r.options.Workers, func(ctx context.Context, _ int) error {
		w, err := r.worker()
		if err != nil {
			return err
		}
		for i := int(next.Add(1)) - 1; i < r.end && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			if err := w.part(ctx, i); err != nil {
				return err
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rows += w.rows
		r.sum.Add(w.hash.Sum)
		return nil
	})
}

// readWorker reads one part after the other.
type readWorker struct {
	*reader
	maker *keyMaker
	taker rowTaker
	hash  RowHash
	rows  int64

	number int // of the part
	inside int64
	row    []byte // the old key of the row
	pack   packer
	cells  int // of the row
	names  int // bytes of their families and qualifiers
	inRow  bool
	family int

	told, bytes int64
}

func (r *reader) worker() (*readWorker, error) {
	m, err := newKeyMaker(r.keys, r.room.row)
	if err != nil {
		return nil, err
	}
	w := &readWorker{reader: r, maker: m, pack: packer{names: newColumnGuess(r.names)}}
	w.taker, err = r.taker()
	return w, err
}

// sequence returns the number of the current row: parts are in the order of keys.
func (w *readWorker) sequence() uint64 { return sequence(w.number, w.inside) }

// encoded returns the encoded name of the current region.
func (w *readWorker) encoded() string { return w.snap.Regions[w.parts[w.number].region].Encoded }

func (w *readWorker) part(ctx context.Context, i int) (err error) {
	if err := progress.Pass(ctx, w.options.Gate); err != nil {
		return err
	}
	p, view := w.parts[i], w.view
	view.Start, view.Stop = p.start, p.stop
	sc, err := w.snap.Scan(ctx, p.region, view)
	if err != nil {
		return tablesource.InputFailure(err)
	}
	defer func() { err = errors.Join(err, tablesource.InputFailure(sc.Close())) }()
	w.number, w.inside, w.inRow, w.family = i, 0, false, 0
	for sc.Next() {
		if sc.NewRow() {
			if err := w.next(ctx); err != nil {
				return err
			}
			w.row = append(w.row[:0], sc.Cell().Row...)
			w.begin()
		}
		if err := w.add(sc); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return tablesource.InputFailure(err)
	}
	if err := w.next(ctx); err != nil {
		return err
	}
	w.taker.end(p)
	w.reportRows()
	return nil
}

func (w *readWorker) begin() {
	w.inRow, w.family, w.cells, w.names = true, 0, 0, 0
	w.pack.begin()
	w.maker.begin()
}

// next ends the previous row, if there is one.
func (w *readWorker) next(ctx context.Context) error {
	if !w.inRow {
		return nil
	}
	w.inRow = false
	if err := w.end(); err != nil {
		return err
	}
	w.rows++
	w.inside++
	if w.told++; w.told == ReportEvery {
		w.reportRows()
		return progress.Pass(ctx, w.options.Gate)
	}
	return nil
}

func (w *readWorker) reportRows() {
	w.options.Events.Rows(w.told, w.bytes)
	w.told, w.bytes = 0, 0
}

// add processes a cell of the row.
func (w *readWorker) add(sc *snapshot.Scan) error {
	c := sc.Cell()
	for string(c.Family) != w.snap.Families[w.family].Name { // families are in order
		if w.family++; w.family == len(w.snap.Families) {
			return fail.Errorf(fail.Input, "%w: a cell of family %q, which the table lacks", snapshot.ErrDamaged, c.Family)
		}
	}
	if c.Type != hfile.Put {
		return fail.Errorf(fail.Unexpected, "a scan of snapshot %s gives a cell of type %s", w.snap.Name, c.Type)
	}
	if !w.view.Newest || sc.Newest() {
		if err := w.maker.cell(w.family, c.Qualifier, c.Value); err != nil {
			return err
		}
	}
	if !sc.Chosen() {
		return nil
	}
	if n := len(w.pack.cells) + len(c.Qualifier) + len(c.Value) + len(c.Tags) + 64; n > w.room.row {
		return fail.With(fail.Config, fail.AboutData(w.row, "the row with an old key of %s, in region %s: %w", setting.Count(len(w.row), "byte"), w.encoded(), tooLarge(n, w.room.row)))
	}
	w.pack.add(w.family, c)
	w.cells, w.names = w.cells+1, w.names+len(c.Family)+len(c.Qualifier)
	w.hash.Add(c.Family, c.Qualifier, c.Timestamp, c.Value)
	return nil
}

// end makes the row's key and passes the row on.
func (w *readWorker) end() error {
	key, err := w.maker.make(w.row)
	if err != nil {
		w.hash.drop()
		return w.setAside(err)
	}
	w.hash.End()
	w.bytes += int64(len(w.pack.cells))
	region := w.plan.Ranges.Find(key)
	if w.skip != nil && w.skip(region) {
		return nil
	}
	return w.taker.take(w, region, key)
}

// setAside handles a row without a new key. It returns an error if the budget does not allow the row.
func (w *readWorker) setAside(why error) error {
	n := w.bad.Add(1)
	if !w.options.Budget.None() {
		if w.reject != nil {
			if err := w.reject.write(w.row, why); err != nil {
				return err
			}
		}
		if w.options.Budget.Allows(n, math.MaxInt64) { // a share is evaluated when all rows are known
			return nil
		}
	}
	which := fmt.Sprintf("row %d", w.inside+1)
	if w.parts[w.number].start != nil {
		which = "a row"
	}
	about := fail.AboutData(w.row, "a row has no new key: %w (%s of region %s of snapshot %s, with an old key of %s)",
		why, which, w.encoded(), w.snap.Name, setting.Count(len(w.row), "byte"))
	if w.options.Budget.None() {
		return fail.With(fail.BadRows, setting.Errorf("%w: %s N or P%% sets such rows aside", about, setting.BadRecords))
	}
	return fail.With(fail.BadRows, setting.Errorf("%w: this is one more than %s allows", about, setting.BadRecords))
}
