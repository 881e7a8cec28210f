package tablesource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Memory of a scan of a part, in bytes.
const (
	scanChunk = 1 << 20  // sent by a server at once
	scanRow   = 32 << 20 // maximum of one row: rows are returned whole
	batches   = 2        // full batches
)

// ErrOutOfOrder reports a server's response that does not belong to a scan of these rows.
var ErrOutOfOrder = errors.New("the server sent rows or cells that are out of order")

// A Scan iterates over the cells of one part of a table as returned by its region servers:
// the newest version of each column, or several. It is used like a snapshot's scan, belongs
// to one goroutine, and must be closed.
//
// A part is in one region until that is split, merged or moved. Then, and when a
// server has forgotten the scan, the scan continues after the last whole row. Each
// row is therefore returned once, as of one moment; rows before and after the
// interruption may be of different moments.
type Scan struct {
	part   string
	cancel context.CancelFunc
	full   chan *batch
	free   chan *batch
	failed error // set before full is closed

	batch *batch
	row   int // index in the batch
	cell  int // index after the current cell
	fresh bool
	is    hfile.Cell
	err   error
}

// batch is a group of rows that are passed on together. Their bytes belong to the responses.
type batch struct {
	rows []batchRow
	held []loader.Cell
	size int
}

type batchRow struct {
	key   []byte
	cells int // index after the row's last cell
}

// ScanMemory is the approximate number of bytes that a scan takes: responses in transit, the responses of
// three batches and their cells. A row that is larger than a batch takes additional memory, up to 32 MiB.
const ScanMemory = 8 << 20

// A RowView selects the cells that a scan returns: the newest of each column, or the newest versions, among the cells of a choice. The zero
// value is the whole table.
type RowView struct {
	Families []string // default all
	Choice   choice.Choice
}

// Scan starts to scan part i. ctx limits its lifetime.
func (s *Scanned) Scan(ctx context.Context, i int, v RowView) *Scan {
	ranges := keyrange.Within(v.Choice.Ranges, s.part(i))
	return s.scan(ctx, fmt.Sprintf("table %s, part %d", s.Table, i), v, ranges)
}

// part returns the rows of a part.
func (s *Scanned) part(i int) keyrange.Range {
	r := keyrange.Range{Start: s.Starts[i]}
	if i+1 < len(s.Starts) {
		r.Stop = s.Starts[i+1]
	}
	return r
}

// ScanRows starts to scan a range of rows that may span several parts. ctx limits its lifetime.
func (s *Scanned) ScanRows(ctx context.Context, v RowView) *Scan {
	return s.scan(ctx, "table "+s.Table.String(), v, keyrange.Within(v.Choice.Ranges, keyrange.Range{}))
}

func (s *Scanned) scan(ctx context.Context, name string, v RowView, ranges []keyrange.Range) *Scan {
	ctx, cancel := context.WithCancel(ctx)
	sc := &Scan{part: name, cancel: cancel, full: make(chan *batch, batches), free: make(chan *batch, batches+1)}
	for range batches + 1 {
		sc.free <- &batch{}
	}
	go func() {
		defer close(sc.full)
		sc.failed = s.read(ctx, v, ranges, sc)
	}()
	return sc
}

// read runs the scan and sends its rows.
func (s *Scanned) read(ctx context.Context, v RowView, ranges []keyrange.Range, sc *Scan) (err error) {
	if len(v.Families) == 0 {
		v.Families = s.Families
	}
	whole, single := v.Choice.Of(v.Families)
	if len(whole)+len(single) == 0 {
		return nil
	}
	req := loader.ScanRequest{Table: s.Table, MinTime: v.Choice.Since, MaxTime: v.Choice.Until, Families: whole, Versions: uint32(min(max(1, v.Choice.Versions), math.MaxInt32)),
		ChunkBytes: cmp.Or(s.ChunkBytes, scanChunk), RowBytes: scanRow, Prompt: true}
	for _, c := range single {
		req.Columns = append(req.Columns, loader.Column{Family: c.Family, Qualifier: c.Qualifier})
	}
	pieces, torn := 0, false
	req.OnRegion = func(r loader.RegionScan) {
		if r.Rows > 0 {
			pieces++
		}
	}
	var b *batch
	send := func() error {
		if b == nil {
			return nil
		}
		select {
		case sc.full <- b:
			b = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	order := rowOrder{versions: v.Choice.Versions > 1}
	take := func(row loader.Row) error {
		if err := order.check(row); err != nil {
			return err
		}
		if b == nil {
			select {
			case b = <-sc.free:
				b.rows, b.held, b.size = b.rows[:0], b.held[:0], 0
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		b.add(row)
		if int64(b.size) < req.ChunkBytes/4 {
			return nil
		}
		return send()
	}
	for _, r := range ranges {
		req.Start, req.Stop, pieces = r.Start, r.Stop, 0
		order.start, order.stop = r.Start, r.Stop
		if err = s.cluster.Scan(ctx, req, take); err != nil {
			break
		}
		torn = torn || pieces > 1
	}
	if err == nil {
		err = send()
	}
	if err == nil {
		err = s.checkSame(ctx)
	}
	if err == nil {
		s.done.Add(1)
	}
	if torn || pieces > 1 {
		s.torn.Add(1)
	}
	return scanError(err)
}

// add adds a row. The bytes of a scan's rows stay valid, the list of cells does not.
func (b *batch) add(row loader.Row) {
	b.held = append(b.held, row.Cells...)
	b.rows = append(b.rows, batchRow{row.Key, len(b.held)})
	for i := range row.Cells {
		c := &row.Cells[i]
		b.size += len(row.Key) + len(c.Family) + len(c.Qualifier) + len(c.Value) + 20 // as in a KeyValue
	}
}

// scanError returns an error of a scan with its kind.
func scanError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, loader.ErrRowTooLarge):
		return fail.With(fail.Input, setting.Errorf("%w, which is all that a scan holds of one: read the table with %s files", err, setting.ReadBy))
	case errors.Is(err, loader.ErrTableDisabled), errors.Is(err, loader.ErrTableNotFound):
		return fail.With(fail.Input, fmt.Errorf("%w (it was disabled or dropped while it was read)", err))
	}
	return fail.With(fail.Load, err)
}

// rowOrder checks that rows are in the range and the order of a scan.
type rowOrder struct {
	start, stop []byte
	versions    bool // a column may have several cells
	last        []byte
	any         bool
}

func (o *rowOrder) check(row loader.Row) error {
	inside := bytes.Compare(row.Key, o.start) >= 0 && (len(o.stop) == 0 || bytes.Compare(row.Key, o.stop) < 0)
	if !inside || o.any && bytes.Compare(row.Key, o.last) <= 0 {
		return fmt.Errorf("%w: a row of %s", ErrOutOfOrder, setting.Count(len(row.Key), "byte"))
	}
	o.last, o.any = append(o.last[:0], row.Key...), true
	for i := range row.Cells {
		c := &row.Cells[i]
		if c.Type != hfile.Put {
			return fmt.Errorf("%w: a cell of type %d", ErrOutOfOrder, byte(c.Type))
		}
		if i == 0 {
			continue
		}
		before := &row.Cells[i-1]
		n := cmp.Or(bytes.Compare(before.Family, c.Family), bytes.Compare(before.Qualifier, c.Qualifier))
		if n > 0 || n == 0 && (!o.versions || before.Timestamp <= c.Timestamp) {
			return fmt.Errorf("%w: a column twice, or before another", ErrOutOfOrder)
		}
	}
	return nil
}

// Next moves to the next cell. It returns false at the end and on an error.
func (sc *Scan) Next() bool {
	if sc.err != nil {
		return false
	}
	sc.fresh = false
	for sc.batch == nil || sc.cell == sc.batch.rows[sc.row].cells {
		if sc.batch != nil && sc.row+1 < len(sc.batch.rows) {
			sc.row, sc.fresh = sc.row+1, true
			continue
		}
		if sc.batch != nil {
			sc.free <- sc.batch // never blocks: there is space for all
			sc.batch = nil
		}
		b, more := <-sc.full
		if !more {
			sc.err = cmp.Or(sc.failed, errEnd)
			return false
		}
		sc.batch, sc.row, sc.cell, sc.fresh = b, 0, 0, true
	}
	c := &sc.batch.held[sc.cell]
	sc.cell++
	sc.is = hfile.Cell{Row: sc.batch.rows[sc.row].key, Family: c.Family, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Type: hfile.Put, Value: c.Value}
	return true
}

// errEnd marks the regular end.
var errEnd = errors.New("end of the part")

// Cell returns the current cell. Its slices are valid until the next call of Next.
func (sc *Scan) Cell() *hfile.Cell { return &sc.is }

// NewRow reports whether the current cell is the first of its row.
func (sc *Scan) NewRow() bool { return sc.fresh }

// Err returns the error that ended the scan, nil at its regular end.
func (sc *Scan) Err() error {
	if sc.err == nil || sc.err == errEnd {
		return nil
	}
	return fmt.Errorf("%s: %w", sc.part, sc.err)
}

// Position returns 0: the size of a part is unknown.
func (sc *Scan) Position() int64 { return 0 }

// Close ends the scan, and waits for its end.
func (sc *Scan) Close() error {
	sc.cancel()
	for range sc.full {
	}
	return nil
}
