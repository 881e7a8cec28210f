package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

// entriesAtATime is the number of index entries that are read before their rows, rowsAtATime the greatest number of rows
// that are read at the same time, and before they are passed on.
const (
	entriesAtATime = 256
	rowsAtATime    = 16
)

// ReadBy reads the rows of the job's table that an index refers to, in the order of the index; [Query.Values] are the values of the
// index's query columns. Each entry is compared with its row. An entry is skipped if its row is gone, or if the current row gives a
// different entry. [Query.Columns] and [Query.Limit] apply to the rows; a query by anything but values is refused.
func ReadBy(ctx context.Context, env *cluster.Env, s spec.Job, index string, q Query, fn func(loader.Row) error) (*ReadStats, error) {
	start := time.Now()
	if _, err := s.Index(index); err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	x, err := NewIndex(c, s, index)
	if err != nil {
		return nil, err
	}
	st, err := x.read(ctx, q, start, fn)
	return x.index.checkFound(ctx, q, st, err)
}

// An Index is a table and one of its indexes, prepared for queries. Safe for concurrent use.
type Index struct {
	cluster     Cluster
	index, data *Table
	key         keygen.Expr     // key of the index
	columns     []string        // columns of the index's key and its query, without repetitions
	cells       []spec.CellName // their cells in the data
	query       []int           // positions of the query columns among them
}

// NewIndex reads nothing yet. It refuses an index with a column that is not a text cell of the data, since the entries could
// not be compared with their rows.
func NewIndex(c Cluster, s spec.Job, name string) (*Index, error) {
	target, err := s.Index(name)
	if err != nil {
		return nil, err
	}
	x := &Index{cluster: c, key: target.RowKey()}
	if x.index, err = NewTable(c, target.Job); err != nil {
		return nil, err
	}
	own := s.Targets()[0].Job
	if x.data, err = NewTable(c, own); err != nil {
		return nil, err
	}
	x.columns = slices.Clone(keygen.Columns(x.key))
	for _, column := range target.QueryColumns(x.key) {
		at := slices.Index(x.columns, column)
		if at < 0 {
			at = len(x.columns)
			x.columns = append(x.columns, column)
		}
		x.query = append(x.query, at)
	}
	if x.cells, err = own.TextCells(x.columns); err != nil {
		return nil, fail.Errorf(fail.Config, "index %s: %w", name, err)
	}
	return x, nil
}

// Columns returns the columns of [Query.Values], in order.
func (x *Index) Columns() []string {
	columns := make([]string, len(x.query))
	for i, at := range x.query {
		columns[i] = x.columns[at]
	}
	return columns
}

// Needs returns all columns that an entry is made of or found by. Page tokens contain their values.
func (x *Index) Needs() []string { return slices.Clone(x.columns) }

// Table returns the table of the index's entries.
func (x *Index) Table() *Table { return x.index }

// Read is [ReadBy] on the open cluster. It reads a few rows at a time. Their memory is held above [Query.Memory] if [Query.More] grants it.
func (x *Index) Read(ctx context.Context, q Query, fn func(loader.Row) error) (*ReadStats, error) {
	return x.read(ctx, q, time.Now(), fn)
}

func (x *Index) read(ctx context.Context, q Query, start time.Time, fn func(loader.Row) error) (*ReadStats, error) {
	if q.Values == nil || q.Full || q.Raw {
		return nil, fail.Errorf(fail.Config, "an index is read by the values of its query columns, and by nothing else")
	}
	data, err := x.newRows(q)
	if err != nil {
		return nil, err
	}
	modulus, err := x.index.Modulus(ctx)
	if err != nil {
		return nil, err
	}
	program, err := keygen.Compile(x.key, keygen.Options{Regions: modulus})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	e := &entries{Index: x, read: data, values: q.Values, program: program, most: rowsAtATime, fields: make([][]byte, len(program.Columns()))}
	all := &ReadStats{}
	narrow, left := q, q.Limit
	narrow.Columns, narrow.Stored, narrow.Borrowed = nil, true, false
	for most := int64(1); ; {
		narrow.Limit = entriesAtATime
		if q.Limit > 0 {
			narrow.Limit = min(narrow.Limit, max(left, most))
		}
		e.keys, e.rows = e.keys[:0], e.rows[:0]
		st, err := x.index.read(ctx, narrow, start, e.add)
		if st == nil {
			return nil, err
		}
		all.Heads, all.Regions = st.Heads, append(all.Regions, st.Regions...)
		all.Dial = cmp.Or(all.Dial, st.Dial)
		if err != nil && all.Rows > 0 {
			all.Next = narrow.Page // none of these entries is passed
		}
		before := all.Rows
		if err == nil {
			var passed int
			passed, err = e.give(ctx, q, left, func(row loader.Row) error {
				row.Cells = slices.DeleteFunc(row.Cells, data.dropped)
				if !q.Stored {
					revert(x.data.reverters, row)
				}
				err := fn(row)
				if err == nil {
					all.Rows++
				}
				return err
			})
			if passed < len(e.keys) && all.Rows > 0 {
				next, broken := x.after(ctx, narrow, e.keys[:passed])
				if broken != nil {
					return all, broken
				}
				st.Next, all.Next = next, next
			}
		}
		all.Scan = time.Since(start) - all.Dial
		if err != nil {
			return all, err
		}
		left = q.Limit - int64(all.Rows)
		narrow.Page = st.Next
		if st.Next == "" || q.Limit > 0 && left <= 0 {
			all.Next = st.Next
			return all, nil
		}
		if most = 1; all.Rows == before {
			most = 2 * narrow.Limit // many entries in sequence may be stale
		}
	}
}

// after returns the page token that follows the last of some entries of q.
func (x *Index) after(ctx context.Context, q Query, entries [][]byte) (string, error) {
	if len(entries) == 0 {
		return q.Page, nil
	}
	regions, err := x.cluster.KnownRegions(ctx, x.index.name)
	if err != nil {
		return "", cluster.Failure(err)
	}
	r, err := x.index.newReading(q, regions)
	if err != nil {
		return "", err
	}
	return r.after(entries[len(entries)-1])
}

// newRows returns how the rows of entries are read: the requested columns, and those by which a row is compared with its entry.
func (x *Index) newRows(q Query) (*reading, error) {
	r := &reading{req: loader.ScanRequest{Table: x.data.name, RowBytes: q.RowBytes, CacheBlocks: true, Prompt: true}}
	r.req.ChunkBytes = min(max(int64(q.withDefaults().Memory)/5, minBatchBytes), maxBatchBytes)
	others := slices.Clone(x.cells)
	for _, column := range keygen.Columns(x.data.key) {
		others = append(others, x.data.job.CellNames(column)...) // so that a row without any of the others is found
	}
	return r, r.setColumns(x.data.job, q, others)
}

type entries struct {
	*Index
	read    *reading // of their rows
	values  []string // values of the query
	program *keygen.Program
	keys    [][]byte // row keys of the entries
	rows    [][]byte // row keys of their rows

	most    int   // rows that are read at a time
	largest int64 // size of a row so far
	granted int64 // bytes of rows that the query's More has granted

	fields [][]byte // fields of the key that a row gives
	made   []byte
}

func (e *entries) add(r loader.Row) error {
	for _, c := range r.Cells {
		if string(c.Qualifier) == spec.RowCell && string(c.Family) == e.index.job.Family {
			e.keys, e.rows = append(e.keys, r.Key), append(e.rows, c.Value)
			return nil
		}
	}
	return fail.Errorf(fail.Check, "table %s has a row without the cell %s: it is not an index that bulkload has written", e.index.name, spec.RowCell)
}

// give reads the rows of the entries, and passes on the rows that still match their entries, the first most of them, or all if most is not above 0. It
// returns the number of entries, from the first one on, whose rows were passed on or skipped.
func (e *entries) give(ctx context.Context, q Query, most int64, fn func(loader.Row) error) (int, error) {
	known := make(map[string][]byte, len(e.columns))
	memory := int64(q.withDefaults().Memory)
	for from := 0; from < len(e.rows); {
		n := 1 // until the size of a row is known
		if e.largest > 0 {
			n = int(max(min(memory/e.largest, int64(e.most)), 1))
		}
		n = min(n, len(e.rows)-from)
		held := rowMemory{most: e.granted, more: q.More}
		rows, broken := e.fetch(ctx, e.rows[from:from+n], &held)
		if e.granted = held.most; n > 1 && errors.Is(broken, ErrMemory) {
			e.most = n / 2 // fewer rows may fit
			continue
		}
		for i, row := range rows { // which are before one that cannot be read
			e.largest = max(e.largest, rowSize(row))
			if len(row.Cells) == 0 || !e.matches(e.keys[from+i], row, known) {
				continue
			}
			if err := fn(row); err != nil {
				return from + i, err
			}
			if most--; most == 0 {
				return from + i + 1, nil
			}
		}
		if from += len(rows); errors.Is(broken, loader.ErrRowTooLarge) {
			if broken = e.stale(ctx, from, broken, known); broken == nil {
				from++
			}
		}
		if broken != nil {
			return from, broken
		}
	}
	return len(e.rows), nil
}

// fetch reads rows at the same time. It returns those before the first one that cannot be read, or held, and that one's error; rows after that one are
// not waited for. A row that is not there has no cells.
func (e *entries) fetch(ctx context.Context, keys [][]byte, held *rowMemory) ([]loader.Row, error) {
	rows, errs := make([]loader.Row, len(keys)), make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		own := ctx
		next, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx = next // of the rows after this one
		wg.Go(func() {
			req := e.read.req
			req.Row = key
			errs[i] = e.cluster.Scan(own, req, func(row loader.Row) error {
				rows[i] = loader.Row{Key: row.Key, Cells: slices.Clone(row.Cells)}
				return held.add(rowSize(rows[i]))
			})
			if errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return rows[:i], cluster.Failure(err)
		}
	}
	return rows, nil
}

// stale returns nil if an entry does not match its row, which is too large to be read as a whole, and else the error of that. It reads only the cells that
// are compared.
func (e *entries) stale(ctx context.Context, entry int, large error, known map[string][]byte) error {
	req := e.read.req
	req.Row, req.Families, req.Columns = e.rows[entry], nil, columnsOf(e.cells)
	var match bool
	err := e.cluster.Scan(ctx, req, func(row loader.Row) error {
		match = e.matches(e.keys[entry], row, known)
		return nil
	})
	if match {
		return large
	}
	return cluster.Failure(err)
}

// matches reports whether a row has the requested values and gives the entry. known is a buffer.
func (e *entries) matches(entry []byte, row loader.Row, known map[string][]byte) bool {
	for i, name := range e.cells {
		known[e.columns[i]] = nil
		for _, c := range row.Cells {
			if name.Qualifier == string(c.Qualifier) && name.Family == string(c.Family) {
				known[e.columns[i]] = c.Value
			}
		}
	}
	for i, at := range e.query {
		if string(known[e.columns[at]]) != e.values[i] {
			return false
		}
	}
	for i, column := range e.program.Columns() {
		e.fields[i] = known[column]
	}
	var err error
	e.made, err = e.program.Append(e.made[:0], e.fields)
	return err == nil && bytes.Equal(e.made, entry)
}
