package compare

import (
	"bytes"
	"context"

	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/encode"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hfile"
)

// cells iterates over the cells of a range of rows, in HBase's order.
type cells interface {
	tablesource.Cells
	Close() error
}

// A difference is a column, or a version of one, that differs between two rows. One of a and b may be nil. Both are valid only during the call that
// receives them.
type difference struct {
	a, b *hfile.Cell
}

// join merges the cells of two sides. For one goroutine.
type join struct {
	a, b       cells
	timestamps bool // different timestamps are differences
	versions   bool // a column may have several cells
	// found receives each difference, and nil after the last one of a row. Nil: differences are only counted.
	found func(*difference) error
	read  func(rows int64) // receives the number of rows of A read since the last call
	sums  *digester        // nil: no digests
	shown digester         // of B's cells that differ

	sum   result.ComparedRange
	x, y  *hfile.Cell // the current cells; nil at the end
	row   []byte
	inRow bool
	hasA  bool // A has the current row
	hasB  bool
	wrong bool // the current row differs
}

// run compares all cells.
func (j *join) run(ctx context.Context) error {
	if err := j.nextA(); err != nil {
		return err
	}
	if err := j.nextB(); err != nil {
		return err
	}
	reported := int64(0)
	for n := 0; j.x != nil || j.y != nil; n++ {
		if n%encode.ReportEvery == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			j.read(j.sum.RowsA - reported)
			reported = j.sum.RowsA
		}
		if err := j.step(); err != nil {
			return err
		}
	}
	j.read(j.sum.RowsA - reported)
	return j.endRow()
}

func (j *join) nextA() error { return j.next(j.a, &j.x, &j.sum.RowsA, &j.sum.CellsA, &j.sum.SumA) }
func (j *join) nextB() error { return j.next(j.b, &j.y, &j.sum.RowsB, &j.sum.CellsB, &j.sum.SumB) }

// next advances a side to its next cell, and counts it.
func (j *join) next(in cells, cell **hfile.Cell, rows, count *int64, sum *uint64) error {
	if *cell = nil; !in.Next() {
		return in.Err()
	}
	*cell = in.Cell()
	*count++
	if j.sums != nil {
		*sum += j.sums.sum(*cell)
	}
	if in.NewRow() {
		*rows++
	}
	return nil
}

// step processes the next cell of one side, or of both.
func (j *join) step() error {
	order := j.order()
	first := j.x
	if order > 0 {
		first = j.y
	}
	if !j.inRow || !bytes.Equal(first.Row, j.row) {
		if err := j.endRow(); err != nil {
			return err
		}
		j.inRow, j.hasA, j.hasB, j.wrong = true, false, false, false
		j.row = append(j.row[:0], first.Row...)
	}
	j.hasA, j.hasB = j.hasA || order <= 0, j.hasB || order >= 0
	switch {
	case order < 0:
		j.sum.CellsOnlyA++
		if err := j.differ(&difference{a: j.x}); err != nil {
			return err
		}
		return j.nextA()
	case order > 0:
		j.sum.CellsOnlyB++
		if err := j.differ(&difference{b: j.y}); err != nil {
			return err
		}
		return j.nextB()
	}
	if value := !bytes.Equal(j.x.Value, j.y.Value); value || j.timestamps && j.x.Timestamp != j.y.Timestamp {
		if value {
			j.sum.Values++
		} else {
			j.sum.Times++
		}
		if err := j.differ(&difference{j.x, j.y}); err != nil {
			return err
		}
	}
	if err := j.nextA(); err != nil {
		return err
	}
	return j.nextB()
}

// order returns which side's cell comes first: negative for A, positive for B, 0 if both cells belong to the same column, and have the same timestamp
// where timestamps distinguish versions.
func (j *join) order() int {
	switch {
	case j.x == nil:
		return 1
	case j.y == nil:
		return -1
	}
	if n := bytes.Compare(j.x.Row, j.y.Row); n != 0 {
		return n
	}
	if n := bytes.Compare(j.x.Family, j.y.Family); n != 0 {
		return n
	}
	if n := bytes.Compare(j.x.Qualifier, j.y.Qualifier); n != 0 {
		return n
	}
	if j.timestamps && j.versions && j.x.Timestamp != j.y.Timestamp {
		if j.x.Timestamp > j.y.Timestamp {
			return -1
		}
		return 1
	}
	return 0
}

func (j *join) differ(d *difference) error {
	j.wrong = true
	if d.b != nil {
		j.sum.ShownB += j.shown.sum(d.b)
	}
	if j.found == nil {
		return nil
	}
	return j.found(d)
}

// endRow counts the current row.
func (j *join) endRow() error {
	if !j.inRow {
		return nil
	}
	j.inRow = false
	switch {
	case !j.wrong:
		return nil
	case !j.hasB:
		j.sum.OnlyA++
	case !j.hasA:
		j.sum.OnlyB++
	default:
		j.sum.Changed++
	}
	if j.found == nil {
		return nil
	}
	return j.found(nil)
}
