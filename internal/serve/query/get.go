package query

import (
	"bytes"
	"fmt"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Columns returns the columns of [Query.Values], in order. It returns an error if the rows of the job cannot be found
// by them.
func Columns(s spec.Job) ([]string, error) {
	key := s.RowKey()
	if key == nil {
		return nil, fail.Errorf(fail.Config, "no key: name how row keys are made with %s", setting.Key)
	}
	columns := s.QueryColumns(key)
	_, err := keyrange.Split(key).Findable(byColumn(columns, make([]string, len(columns))))
	return columns, err
}

// byColumn returns the values of columns by the columns' names.
func byColumn(columns, values []string) map[string]string {
	known := make(map[string]string, len(columns))
	for i, c := range columns {
		known[c] = values[i]
	}
	return known
}

// queryKey returns the key ranges of a query key, and a filter for the rows in them that have the key.
func queryKey(s spec.Job, k keyrange.Key, modulus int, args []string) (keyrange.Rows, *rowFilter, error) {
	query := s.QueryColumns(k.Spec)
	if len(args) != len(query) {
		return keyrange.Rows{}, nil, fail.Errorf(fail.Config, "a query key has the columns %q: %s given", query, setting.Count(len(args), "value is"))
	}
	r, err := k.With(modulus, byColumn(query, args))
	if err != nil {
		return r, nil, err
	}
	// keys without a separator: AB is also a prefix of the rows of ABC
	wanted := s.QueryCells(query, args)
	f := &rowFilter{keep: func(_ []byte, values [][]byte) bool {
		for i, v := range values {
			// columns that the table does not store count as equal
			if v != nil && (wanted[i].None || string(v) != wanted[i].Value) {
				return false
			}
		}
		return true
	}}
	for _, w := range wanted {
		f.cells = append(f.cells, w.CellName)
	}
	return r, f, nil
}

// rowFilter selects rows by the values of some cells.
type rowFilter struct {
	cells []spec.CellName
	keep  func(key []byte, values [][]byte) bool // a value is nil for a missing cell
	where []loader.Condition                     // conditions that servers can check
}

// row reports whether to keep a row. It is safe for concurrent use.
func (f *rowFilter) row(r loader.Row) bool {
	values := make([][]byte, len(f.cells))
	for i := range r.Cells {
		c := &r.Cells[i]
		for at, n := range f.cells {
			if n.Qualifier == string(c.Qualifier) && n.Family == string(c.Family) {
				if values[at] = c.Value; c.Value == nil {
					values[at] = []byte{} // empty, as opposed to absent
				}
			}
		}
	}
	return f.keep(r.Key, values)
}

// between sets the keys of a range of values, and a filter if others are among them. If the table does not have the values as text, the range is one of
// keys.
func (r *reading) between(s spec.Job, k keyrange.Key, modulus int, q Query) (err error) {
	keys, values, err := k.ByValue(modulus, q.From, q.To)
	if err != nil || values == nil {
		r.keys = keys
		return err
	}
	plain, keyErr := k.Between(modulus, q.From, q.To)
	cells, err := s.TextCells(values.Columns())
	if err != nil && q.ByValue {
		return fail.Errorf(fail.Config, "values of several lengths are not in the order of their keys, and the table does not have %q as text to compare them: give a prefix", values.Columns())
	}
	if err != nil {
		r.byKey, r.keys = true, plain
		return keyErr
	}
	r.keys, r.filter = keys, &rowFilter{cells: cells, keep: func(key []byte, row [][]byte) bool {
		if in, known := values.Has(row); known {
			return in
		}
		return keyErr == nil && plain.Has(key) // a row of another program, without the cells
	}}
	return nil
}

// fullFilter selects the rows whose columns of the original key are in a range, compared in sequence. It is for keys
// whose order does not follow these columns.
func fullFilter(s spec.Job, k keyrange.Key, q Query) (*rowFilter, error) {
	what, values := setting.Prefix, q.Prefix
	if values == nil {
		what, values = setting.From, q.From
		if len(q.To) > len(values) {
			what, values = setting.To, q.To
		}
	}
	if _, err := k.Bind(what, values); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, fail.Errorf(fail.Config, "%s keeps the rows in a range: say which with %s, %s or %s", setting.Full, setting.From, setting.To, setting.Prefix)
	}
	cells, err := s.TextCells(k.Columns()[:len(values)])
	if err != nil {
		return nil, err
	}
	f := &rowFilter{cells: cells}
	first := loader.Condition{Column: loader.Column{Family: cells[0].Family, Qualifier: []byte(cells[0].Qualifier)}}
	if q.Prefix != nil {
		last := len(values) - 1
		f.keep = func(_ []byte, row [][]byte) bool {
			for i, v := range row {
				if v == nil || i < last && string(v) != values[i] || i == last && !bytes.HasPrefix(v, []byte(values[i])) {
					return false
				}
			}
			return true
		}
		first.From = []byte(values[0])
		if last == 0 {
			first.To = loader.PrefixEnd(first.From)
		} else {
			first.To = first.From
		}
	} else {
		f.keep = func(_ []byte, row [][]byte) bool {
			return !slices.ContainsFunc(row, func(v []byte) bool { return v == nil }) && !lessTuple(row, q.From) && (len(q.To) == 0 || lessTuple(row, q.To))
		}
		if len(q.From) > 0 {
			first.From = []byte(q.From[0])
		}
		if len(q.To) > 0 {
			first.To = []byte(q.To[0])
		}
	}
	f.where = []loader.Condition{first}
	return f, nil
}

// lessTuple reports whether a row is less than a bound, which may have fewer values.
func lessTuple(row [][]byte, bound []string) bool {
	for i, b := range bound {
		if i == len(row) {
			return false
		}
		if v := string(row[i]); v != b {
			return v < b
		}
	}
	return false
}

// String returns the query in readable form, for messages and logs.
func (q Query) String() string {
	switch {
	case q.Values != nil:
		return fmt.Sprintf("get %q", q.Values)
	case q.Raw:
		return fmt.Sprintf("rows from \"%s\" to \"%s\"", rowkey.String(q.StartRow), rowkey.String(q.StopRow))
	case q.Prefix != nil:
		return fmt.Sprintf("keys that begin with %q", q.Prefix)
	}
	return fmt.Sprintf("keys from %q to %q", q.From, q.To)
}
