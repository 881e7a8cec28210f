package estimate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"

	"github.com/cespare/xxhash/v2"
)

// A tally holds the counts of some rows. Each row may represent several.
type tally struct {
	rows     float64 // that have a key
	input    float64 // bytes of the records, as in [source.Batch.Bytes]
	bytes    float64 // of keys and values
	keyBytes float64
	minKey   int // length of the shortest key
	maxKey   int // length of the longest key
	longKeys float64
	regions  []regionTally
	cells    []float64                      // values that become cells, by column
	packed   struct{ cells, names float64 } // of packed rows: number of cells, and bytes of their families and qualifiers
	hot      hotKeys
	keys     *partition.KeySample // nil if no split points are needed

	seen   int64 // records actually read
	bad    int64 // records without a row
	places int
	whole  bool // the whole input was counted

	lacking   []string // chosen columns that no record had
	cutPacked bool     // compressed files were read in part
}

type regionTally struct {
	rows, bytes float64
	seen        int64
}

func newTally(regions, columns int) *tally {
	return &tally{minKey: math.MaxInt, regions: make([]regionTally, regions), cells: make([]float64, columns)}
}

// reset clears the tally for another place.
func (t *tally) reset(keys *partition.KeySample) {
	clear(t.regions)
	clear(t.cells)
	t.hot.reset()
	*t = tally{minKey: math.MaxInt, regions: t.regions, cells: t.cells, hot: t.hot, keys: keys}
}

// merge adds another tally, multiplied by factor.
func (t *tally) merge(o *tally, factor float64) {
	t.rows += o.rows * factor
	t.input += o.input * factor
	t.bytes += o.bytes * factor
	t.keyBytes += o.keyBytes * factor
	t.longKeys += o.longKeys * factor
	t.packed.cells += o.packed.cells * factor
	t.packed.names += o.packed.names * factor
	t.minKey, t.maxKey = min(t.minKey, o.minKey), max(t.maxKey, o.maxKey)
	for i, r := range o.regions {
		t.regions[i].rows += r.rows * factor
		t.regions[i].bytes += r.bytes * factor
		t.regions[i].seen += r.seen
	}
	for i, n := range o.cells {
		t.cells[i] += n * factor
	}
	t.hot.merge(&o.hot, factor)
	if t.keys != nil {
		t.keys.Merge(o.keys, factor)
	}
	t.seen += o.seen
}

// counting computes and counts the keys of a part of the input. Nothing is
// sorted or kept, so it is several times as fast as a build's first pass.
type counting struct {
	plan    *cells.Plan
	plans   []*cells.Plan // of all tables: a record that has no row in one has none in the others; nil: all records with a key have rows
	table   int           // the one that is counted
	in      *source.Input
	options build.Options
	places  []countPlace
	step    int64  // of the sample of keys; 0: no sample
	query   []int  // columns of the query key
	held    []bool // columns whose values count as bytes of a row; nil: all

	next  atomic.Int64
	mu    sync.Mutex
	total *tally
	ready map[int]*counted // places counted before an earlier place
	done  int              // places added
	free  []*tally
}

type counted struct {
	*tally
	factor float64
}

// run counts all places. The result does not depend on the number of workers:
// places are added in their order.
func (c *counting) run(ctx context.Context) (*tally, error) {
	columns := len(c.plan.Columns)
	c.total, c.ready = newTally(c.plan.Ranges.Len(), columns), map[int]*counted{}
	if c.step > 0 {
		c.total.keys = partition.NewKeySample(1, countSeed)
	}
	c.options.Budget.Reset()
	err := workers.Run(ctx, c.options.Workers, func(ctx context.Context, _ int) error {
		w, err := c.newWorker()
		if err != nil {
			return err
		}
		for i := int(c.next.Add(1) - 1); i < len(c.places) && ctx.Err() == nil; i = int(c.next.Add(1) - 1) {
			if err := w.place(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, c.options.ReadError(err)
	}
	return c.total, nil
}

// add adds a counted place, and every later one that is ready, and recycles their tallies.
func (c *counting) add(i int, t *tally, factor float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready[i] = &counted{t, factor}
	for next, ok := c.ready[c.done]; ok; next, ok = c.ready[c.done] {
		c.total.merge(next.tally, next.factor)
		c.free = append(c.free, next.tally)
		delete(c.ready, c.done)
		c.done++
	}
}

func (c *counting) tally(i int) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	var t *tally
	if n := len(c.free); n > 0 {
		t, c.free = c.free[n-1], c.free[:n-1]
	} else {
		t = newTally(c.plan.Ranges.Len(), len(c.plan.Columns))
	}
	var keys *partition.KeySample
	if c.step > 0 {
		keys = partition.NewKeySample(c.step, uint64(i))
	}
	t.reset(keys)
	return t
}

// countWorker counts places, one at a time.
type countWorker struct {
	*counting
	reader  *source.Reader
	key     *keygen.Program
	ranges  *partition.Ranges
	keyCols []int
	fields  [][]byte
	buf     []byte
	query   []byte // the query key's values, separated by querySep
	total   *tally
	store   bool // empty text in the current file becomes cells
	filter  *cells.Filter
	tables  []*cells.RowMaker // nil: no more than the key decides whether a record has a row
}

// querySep separates the values of a query key. It does not occur in UTF-8.
const querySep = 0xff

func (c *counting) newWorker() (*countWorker, error) {
	key, err := keygen.Compile(c.plan.Key, keygen.Options{Regions: c.plan.Modulus})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	w := &countWorker{counting: c, reader: c.in.NewReader(), key: key, ranges: c.plan.Ranges}
	for _, name := range key.Columns() {
		w.keyCols = append(w.keyCols, slices.Index(c.plan.Columns, name))
	}
	w.fields = make([][]byte, len(w.keyCols))
	filter := c.plan
	if len(c.plans) > 1 || len(c.plans) == 1 && c.plan.Converts() {
		if w.tables, err = cells.NewRowMakers(c.plans); err != nil {
			return nil, err
		}
		filter = c.plans[0] // the makers have the other tables' own
	}
	w.filter, err = filter.NewFilter()
	return w, err
}

func (w *countWorker) place(ctx context.Context, i int) error {
	p := w.places[i]
	w.total = w.tally(i)
	rows := w.in.Files()[w.in.Splits()[p.split].File].Format.Traits().Rows
	var read int64
	err := w.reader.Read(ctx, p.split, func(b *source.Batch) error {
		if err := w.batch(b); err != nil {
			return err
		}
		if rows {
			read += int64(b.Rows)
		} else {
			read += b.Bytes
		}
		// A batch is a little less than a chunk: no second one is read for the difference.
		if read >= p.limit-p.limit/4 {
			return errCounted
		}
		return nil
	})
	if err != nil && !errors.Is(err, errCounted) {
		return err
	}
	w.options.Events.Split()
	factor := 1.0
	if p.stands > 0 && read > 0 {
		factor = p.stands / float64(read)
	}
	w.add(i, w.total, factor)
	return nil
}

func (w *countWorker) batch(b *source.Batch) error {
	w.store = w.plan.StoresEmpty(b.Nulls())
	if w.tables != nil {
		cells.SetNulls(w.tables, b.Nulls())
	}
	w.options.Budget.Count(int64(b.Rows))
	for row := range b.Rows {
		if err := w.row(b, row); err != nil {
			return err
		}
	}
	w.total.input += float64(b.Bytes)
	w.total.seen += int64(b.Rows)
	w.options.Events.Rows(int64(b.Rows), b.Bytes)
	return nil
}

func (w *countWorker) row(b *source.Batch, row int) error {
	if keep, err := w.filter.Keeps(b, row); err != nil {
		return w.bad(b, row, err)
	} else if !keep {
		return nil
	}
	for _, m := range w.tables {
		if err := m.Make(b, row); err != nil {
			return w.bad(b, row, err)
		}
	}
	if w.tables != nil && w.tables[w.table].Passes {
		return nil
	}
	for i, c := range w.keyCols {
		w.fields[i] = b.Field(row, c)
	}
	key, err := w.key.Append(w.buf[:0], w.fields)
	if err != nil {
		return w.bad(b, row, err)
	}
	if len(key) == 0 {
		return w.bad(b, row, cells.NoKey())
	}
	w.buf = key
	t, size := w.total, int64(len(key))
	for c, span := range b.Fields[row*b.Cols : (row+1)*b.Cols] {
		if span.Len > cells.MaxCell && w.tables == nil {
			return w.bad(b, row, &keygen.FieldError{Column: w.plan.Columns[c],
				Err: fmt.Errorf("value of %s is larger than the %d that HBase's clients take", setting.Count(span.Len, "byte"), cells.MaxCell)})
		}
		if span.Len > 0 || w.store && !span.IsNull() {
			t.cells[c]++
		}
		if w.held == nil || w.held[c] {
			size += int64(span.Len)
		}
	}
	t.row(w.ranges.Find(key), key, size)
	if t.keys != nil {
		t.keys.Add(key, size)
	}
	w.hot(b, row)
	return nil
}

// row counts a row of a region. size is the number of bytes of its key and values.
func (t *tally) row(region int, key []byte, size int64) {
	r := &t.regions[region]
	r.rows++
	r.seen++
	r.bytes += float64(size)
	t.rows++
	t.bytes += float64(size)
	t.keyBytes += float64(len(key))
	t.minKey, t.maxKey = min(t.minKey, len(key)), max(t.maxKey, len(key))
	if len(key) > longKey {
		t.longKeys++
	}
}

// hot counts the row for its query key.
func (w *countWorker) hot(b *source.Batch, row int) {
	if len(w.counting.query) == 0 {
		return
	}
	text := b.Field(row, w.counting.query[0])
	if len(w.counting.query) > 1 {
		w.query = append(w.query[:0], text...)
		for _, c := range w.counting.query[1:] {
			w.query = append(append(w.query, querySep), b.Field(row, c)...)
		}
		text = w.query
	}
	w.total.hot.add(xxhash.Sum64(text), text, 1)
}

// bad rejects a record, or returns the error that ends the count.
func (w *countWorker) bad(b *source.Batch, row int, err error) error {
	return w.options.Budget.Reject(build.RowError(b, row, err))
}

// errCounted ends the reading of a place after enough bytes.
var errCounted = errors.New("enough of the place was read")
