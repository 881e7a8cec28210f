package newkeys

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
)

// errOldKey reports a row whose old key does not follow from the old key's spec.
var errOldKey = errors.New("its old key is not one that the old key's spec makes of the row's columns")

// oldKey parses columns from old keys, and rebuilds the keys from the parsed values and
// the row's columns. If a rebuilt key differs, the old key was made in another way, and
// the parsed values are not the row's columns. It belongs to one goroutine.
type oldKey struct {
	parser  *keygen.KeyParser
	program *keygen.Program
	values  [][]byte // of the parser's columns; slices of the key
	fields  [][]byte
	again   []byte
	from    []origin // for each of the program's columns
}

// origin is the origin of a column of the old key.
type origin struct {
	name   string
	parsed int // index in the parser's columns; −1: from the row
	column int // index in [keyColumns]
}

// CheckOldKey returns an error for a spec whose keys cannot be parsed and verified.
func CheckOldKey(e keygen.Expr) (*keygen.KeyParser, error) {
	if keygen.NeedsRegions(e) {
		return nil, fail.Errorf(fail.Config, "old key %s: its salt needs its modulus: write it as the last argument, as in salt(id, 10)", e)
	}
	if slices.Contains(keygen.Columns(e), RowColumn) {
		return nil, fail.Errorf(fail.Config, "old key %s: %s is the old key itself and cannot be part of it", e, RowColumn)
	}
	p, err := keygen.CompileParser(e, keygen.Options{})
	if err != nil {
		return nil, fail.With(fail.Config, fmt.Errorf("old key: %w", err))
	}
	return p, nil
}

// newOldKey prepares to parse the keys of a spec; nil if there is no spec.
func newOldKey(k *keyColumns) (*oldKey, error) {
	if k.old == nil {
		return nil, nil
	}
	p, err := CheckOldKey(k.old)
	if err != nil {
		return nil, err
	}
	o := &oldKey{parser: p, values: make([][]byte, len(p.Columns()))}
	if o.program, err = keygen.Compile(k.old, keygen.Options{}); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	for _, name := range o.program.Columns() {
		o.from = append(o.from, origin{name, slices.Index(p.Columns(), name), slices.IndexFunc(k.columns, func(c *keyColumn) bool { return c.name == name })})
	}
	o.fields = make([][]byte, len(o.from))
	return o, nil
}

// take sets the values of a row's old key, and verifies them with the row's columns in m.
func (o *oldKey) take(row []byte, m *keyMaker) (err error) {
	if err := o.parser.Parse(row, o.values); err != nil {
		return fmt.Errorf("its old key cannot be parsed: %w", err)
	}
	for i, s := range o.from {
		switch {
		case s.parsed >= 0:
			o.fields[i] = o.values[s.parsed]
		case m.found[s.column]:
			o.fields[i] = m.values[s.column]
		default:
			return fmt.Errorf("its old key cannot be verified: the row has no column %s", s.name)
		}
	}
	if o.again, err = o.program.Append(o.again[:0], o.fields); err != nil {
		return fmt.Errorf("its old key cannot be rebuilt: %w", err)
	}
	if !bytes.Equal(o.again, row) {
		return errOldKey
	}
	return nil
}
