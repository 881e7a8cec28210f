package tablesource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// What a scan of a part holds, in bytes.
const (
	scanChunk = 1 << 20  // that a server sends at once
	scanRow   = 32 << 20 // of one row at most: a row is given whole
	batches   = 2        // that are full
)

// ErrOutOfOrder is a server's answer that is not of a scan of these rows.
var ErrOutOfOrder = errors.New("the server sent rows or cells that are out of order")

// A Scan walks the cells of one part of a table as its region servers give
// them: the newest version of each column, or several. It is used as a snapshot's scan is, by
// one goroutine, and must be closed.
//
// A part is in a region until that is split, merged or moved. Then, and when a
// server has forgotten the scan, it continues after the last whole row, so that each
// row comes once, and is as it was at one moment; rows before and after may be of
// two.
type Scan struct {
	part   string
	cancel context.CancelFunc
	full   chan *batch
	free   chan *batch
	failed error // set before full is closed

	batch *batch
	row   int // of the batch
	cell  int // after the current one
	fresh bool
	is    hfile.Cell
	err   error
}

// batch is rows that are handed over together. Their bytes are the answers'.
type batch struct {
	rows []batchRow
	held []loader.Cell
	size int
}

type batchRow struct {
	key   []byte
	cells int // after the row's last one
}

// ScanMemory is about how many bytes a scan takes: answers under way, those of three
// batches and their cells. A row that is larger than a batch comes on top, up to 32 MiB.
const ScanMemory = 8 << 20

// A RowView says which cells a scan gives: the newest of each column, or the newest versions, among those of a choice. The zero value is the whole table.
type RowView struct {
	Families []string // default all
	Choice   choice.Choice
}

// Scan begins to scan part i. ctx bounds its life.
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

// ScanRows begins to scan any range of rows, whichever parts have them. ctx bounds its life.
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

// read has the rows sent.
func (s *Scanned) read(ctx context.Context, v RowView, ranges []keyrange.Range, sc *Scan) error {
	if len(v.Families) == 0 {
		v.Families = s.Families
	}
	whole, single := v.Choice.Of(v.Families)
	if len(whole)+len(single) == 0 {
		return nil
	}
	req := loader.ScanRequest{Table: s.Table, MinTime: v.Choice.Since, MaxTime: v.Choice.Until, Families: whole, Versions: uint32(max(1, v.Choice.Versions)),
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
	var err error
	for _, r := range ranges {
		req.Start, req.Stop, pieces = r.Start, r.Stop, 0
		order.start, order.stop = r.Start, r.Stop
		if err = s.c.Scan(ctx, req, take); err != nil {
			break
		}
		torn = torn || pieces > 1
	}
	if err == nil {
		err = send()
	}
	if err == nil {
		err = s.same(ctx)
	}
	if err == nil {
		s.done.Add(1)
	}
	if torn || pieces > 1 {
		s.torn.Add(1)
	}
	return scanError(err)
}

// add takes a row. Of a scan's rows the bytes stay, the list of cells does not.
func (b *batch) add(row loader.Row) {
	b.held = append(b.held, row.Cells...)
	b.rows = append(b.rows, batchRow{row.Key, len(b.held)})
	for i := range row.Cells {
		c := &row.Cells[i]
		b.size += len(row.Key) + len(c.Family) + len(c.Qualifier) + len(c.Value) + 20 // as a KeyValue is there
	}
}

// scanError gives errors of a scan their kinds.
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

// rowOrder checks that rows are in the range and in the order of a scan.
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
		if c.Type != loader.CellPut {
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

// Next moves to the next cell; false at the end and on an error.
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
			sc.free <- sc.batch // never blocks: there is room for all
			sc.batch = nil
		}
		b, more := <-sc.full
		if !more {
			if sc.err = sc.failed; sc.err == nil {
				sc.err = errEnd
			}
			return false
		}
		sc.batch, sc.row, sc.cell, sc.fresh = b, 0, 0, true
	}
	c := &sc.batch.held[sc.cell]
	sc.cell++
	sc.is = hfile.Cell{Row: sc.batch.rows[sc.row].key, Family: c.Family, Qualifier: c.Qualifier, Timestamp: c.Timestamp, Type: hfile.Put, Value: c.Value}
	return true
}

// errEnd is the regular end.
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

// Position is 0: how many bytes a part has is not known.
func (sc *Scan) Position() int64 { return 0 }

// Close ends the scan, and waits until it has.
func (sc *Scan) Close() error {
	sc.cancel()
	for range sc.full {
	}
	return nil
}
