package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/span"
)

// A row is one record before encoding.
type row struct {
	data   []byte
	values []span.Span // one for each column of the plan
	labels []span.Span // names of the cells, for records with every cell
}

func (r *row) value(i int) []byte { return r.values[i].Of(r.data) }

// rows converts the cells of one region to records.
type rows struct {
	plan  *Plan
	out   encoder
	most  int // maximum bytes of a row
	row   row
	next  int    // next column, as an index of p.byCell
	key   []byte // of the current row
	stamp int64  // timestamp of its first cell, and of all cells if records are versions
	form  []byte // the row in the form that the digest covers
	cells int
	back  []byte
	begun bool
	n     int64 // rows begun

	digest   manifest.Digest
	noCells  int64  // rows without any of the columns
	leftOver int64  // cells in no column
	filled   []bool // for each column of the plan: a row has its cell
}

// run converts all cells of a region.
func (r *rows) run(ctx context.Context, sc tablesource.Cells) error {
	r.filled = make([]bool, len(r.plan.columns))
	for sc.Next() {
		c := sc.Cell()
		if sc.NewRow() {
			if r.n&1023 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := r.end(); err != nil {
				return err
			}
			if err := r.begin(c); err != nil {
				return err
			}
		}
		if err := r.addCell(c); err != nil {
			return err
		}
	}
	if sc.Err() != nil {
		return sc.Err() // the current row may be incomplete
	}
	return r.end()
}

// absent returns the columns whose cells no row has.
func (r *rows) absent() (names []string) {
	for i := range r.plan.columns {
		if col := &r.plan.columns[i]; col.cell() && !r.filled[i] {
			names = append(names, col.name)
		}
	}
	return names
}

// notThere is the value of a column whose cell has not been read.
var notThere = span.Span{Off: math.MaxUint32, Len: 1}

func (r *rows) begin(c *hfile.Cell) error {
	key := c.Row
	r.begun = true
	r.n++
	r.key = append(r.key[:0], key...)
	r.form = append(append(r.form[:0], byte(len(key)), byte(len(key)>>8)), key...)
	r.row.data, r.row.values, r.row.labels = r.row.data[:0], r.row.values[:0], r.row.labels[:0]
	r.next, r.cells, r.stamp = 0, 0, c.Timestamp
	if r.plan.versions() {
		r.form = binary.LittleEndian.AppendUint64(r.form, uint64(r.stamp))
	}
	for i := range r.plan.columns {
		v := notThere
		if r.plan.columns[i].key {
			r.row.data = rowkey.Append(r.row.data, key)
			v = span.Span{Len: uint32(len(r.row.data))}
		}
		r.row.values = append(r.row.values, v)
	}
	for i := range r.plan.columns {
		if col := &r.plan.columns[i]; col.stamp && !col.cell() {
			if err := r.fill(i, col, binary.BigEndian.AppendUint64(nil, uint64(r.stamp))); err != nil {
				return r.aboutColumn(col, err)
			}
		}
	}
	if r.plan.open {
		r.row.data = rowkey.Append(r.row.data, key)
		r.row.values = append(r.row.values, span.Span{Len: uint32(len(r.row.data))})
		r.row.labels = append(r.row.labels, span.Null())
		if r.plan.versions() {
			at := len(r.row.data)
			r.row.data = strconv.AppendInt(r.row.data, r.stamp, 10)
			r.row.values = append(r.row.values, span.Span{Off: uint32(at), Len: uint32(len(r.row.data) - at)})
			r.row.labels = append(r.row.labels, span.Null())
		}
	}
	return nil
}

// addCell adds a cell to the row.
func (r *rows) addCell(c *hfile.Cell) error {
	if len(r.row.data)+len(c.Value)+len(c.Qualifier) > r.most {
		return r.aboutColumn(&column{}, setting.Errorf("it has more than %s, the limit for a row with this %s: give more", setting.Count(r.most, "byte"), setting.Memory))
	}
	if r.plan.open {
		at := len(r.row.data)
		r.row.data = appendLabel(r.row.data, c)
		r.row.labels = append(r.row.labels, span.Span{Off: uint32(at), Len: uint32(len(r.row.data) - at)})
		r.row.values = append(r.row.values, r.put(c.Value))
		r.count(c)
		return nil
	}
	for ; r.next < len(r.plan.byCell); r.next++ {
		i := r.plan.byCell[r.next]
		col := &r.plan.columns[i]
		n := compareText(col.family, c.Family)
		if n == 0 {
			n = compareText(col.qualifier, c.Qualifier)
		}
		if n < 0 {
			continue
		}
		if n > 0 {
			break
		}
		r.next++
		r.filled[i] = true
		if err := r.fill(i, col, c.Value); err != nil {
			return r.aboutColumn(col, err)
		}
		if col.dates != nil {
			if ms, err := col.dates.Millis(r.row.value(i)); err != nil || ms != r.stamp {
				return r.aboutColumn(col, errStamp)
			}
		}
		r.count(c)
		return nil
	}
	r.leftOver++
	return nil
}

// compareText compares a string with bytes, like bytes.Compare.
func compareText(a string, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

// appendLabel appends the name of a cell. A qualifier that is not UTF-8, or that has a
// backslash, is written in HBase's printed form. So different columns have different names.
func appendLabel(dst []byte, c *hfile.Cell) []byte {
	dst = append(append(dst, c.Family...), ':')
	if utf8.Valid(c.Qualifier) && bytes.IndexByte(c.Qualifier, '\\') < 0 {
		return append(dst, c.Qualifier...)
	}
	return rowkey.Append(dst, c.Qualifier)
}

// count adds the stored form of a cell to the form that the digest covers.
func (r *rows) count(c *hfile.Cell) {
	for _, b := range [][]byte{c.Family, c.Qualifier, c.Value} {
		n := len(b)
		r.form = append(append(r.form, byte(n), byte(n>>8), byte(n>>16), byte(n>>24)), b...)
	}
	r.cells++
}

func (r *rows) put(value []byte) span.Span {
	s := span.Span{Off: uint32(len(r.row.data)), Len: uint32(len(value))}
	r.row.data = append(r.row.data, value...)
	return s
}

// Errors about values. The error that wraps them has the place of the value.
var (
	errEmpty   = errors.New("the cell is empty, which the job would read as no cell: store empty values (empty: store), in a format or dialect with NULL")
	errAbsent  = errors.New("the cell is missing, which the job would read as an empty cell: set null_value, or write a format that has NULL")
	errType    = errors.New("the bytes are not values of the column's type: leave the column out, or export the cell without the job file")
	errStamp   = errors.New("the cell is missing, or is not the timestamp of the version: leave it out of the mapping, or export without the job file")
	errKeyed   = errors.New("the version has no cell of it, and the job's key is made of it: export without the job file, which gives the row key")
	errInexact = errors.New("the value's text would be read as other bytes (a time with more digits than the layout?): leave the column out, or export without the job file")
)

// fill sets the value of a column.
func (r *rows) fill(i int, col *column, value []byte) error {
	if col.append == nil {
		if len(value) > 0 {
			r.row.values[i] = r.put(value)
			return nil
		}
		switch col.empty {
		case asNothing:
			r.row.values[i] = span.Span{}
		case asNull:
			r.row.values[i] = span.Null()
		default:
			return errEmpty
		}
		return nil
	}
	at := len(r.row.data)
	var ok bool
	if r.row.data, ok = col.append(r.row.data, value); !ok {
		return errType
	}
	text := r.row.data[at:]
	var err error
	if r.back, err = col.back(r.back[:0], text); err != nil || !bytes.Equal(r.back, value) {
		return errInexact
	}
	r.row.values[i] = span.Span{Off: uint32(at), Len: uint32(len(text))}
	return nil
}

// end encodes the current row.
func (r *rows) end() error {
	if !r.begun {
		return nil
	}
	r.begun = false
	if r.cells == 0 {
		r.noCells++
		return nil
	}
	for i := range r.plan.columns {
		if r.row.values[i] != notThere {
			continue
		}
		switch col := &r.plan.columns[i]; {
		case col.dates != nil:
			return r.aboutColumn(col, errStamp)
		case col.keyed && !col.stamp:
			return r.aboutColumn(col, errKeyed)
		case col.absent == asNothing:
			r.row.values[i] = span.Span{}
		case col.absent == asNull:
			r.row.values[i] = span.Null()
		default:
			return r.aboutColumn(col, errAbsent)
		}
	}
	if at, err := r.out.row(&r.row); err != nil {
		if at >= 0 {
			return r.aboutColumn(&r.plan.columns[at], err)
		}
		return err
	}
	r.digest.AddRow(r.form, r.cells)
	return nil
}

// rowError is an error about a row that cannot be written unchanged.
type rowError struct {
	row    int64
	column string
	err    error
}

func (e *rowError) Error() string {
	if e.column == "" {
		return fmt.Sprintf("row %d: %v", e.row, e.err)
	}
	return fmt.Sprintf("row %d, column %s: %v", e.row, e.column, e.err)
}

func (e *rowError) Unwrap() error { return e.err }

// aboutColumn adds the place of a value to an error. A column without a name is none: the error is about the row.
func (r *rows) aboutColumn(col *column, err error) error {
	return fail.With(fail.BadRows, fail.AboutData(r.key, "%w", &rowError{r.n, col.name, err}))
}

// maxRow bounds the size of a row, since offsets of values have 32 bits.
const maxRow = math.MaxInt32 / 2
