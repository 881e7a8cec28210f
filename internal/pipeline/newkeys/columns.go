package newkeys

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
)

// RowColumn is the name of the old key in the spec of the new key.
const RowColumn = "$row"

// keyColumn is a column of the table from which the new key is made, or from
// which the old key was made.
type keyColumn struct {
	name      string
	qualifier []byte
	family    int          // -1: any family that has it
	row       bool         // the old key itself
	parsed    int          // index among the old key's parsed columns; -1: a cell
	seen      atomic.Int32 // number of the family that has it, from 1; 0: not known yet
}

// keyColumns holds the columns of a spec. All workers share it.
type keyColumns struct {
	expr     keygen.Expr
	old      keygen.Expr  // of the old keys, nil: they are not parsed
	columns  []*keyColumn // of expr in its order, then further columns of old
	made     int          // number of columns of expr
	families []snapshot.Family
}

// newKeyColumns resolves the names of a spec in a table. A name is $row, a column
// that the spec of the old keys parses, family:qualifier, or a qualifier that only
// one family has.
func newKeyColumns(e, old keygen.Expr, families []snapshot.Family) (*keyColumns, error) {
	k := &keyColumns{expr: e, old: old, families: families}
	if keygen.NeedsRegions(e) {
		return nil, fail.Errorf(fail.Config, "key %s: a salt of new keys needs its modulus: write it as the last argument, as in salt(id, 32)", e)
	}
	var parsed []string
	if old != nil {
		p, err := CheckOldKey(old)
		if err != nil {
			return nil, err
		}
		parsed = p.Columns()
	}
	for _, name := range keygen.Columns(e) {
		k.add(name, slices.Index(parsed, name))
	}
	if k.made = len(k.columns); k.made == 0 {
		return nil, fail.Errorf(fail.Config, "key %s: it is the same for all rows", e)
	}
	if old != nil {
		for _, name := range keygen.Columns(old) {
			if !slices.Contains(parsed, name) && !slices.ContainsFunc(k.columns, func(c *keyColumn) bool { return c.name == name }) {
				k.add(name, -1)
			}
		}
	}
	_, err := keygen.Compile(e, keygen.Options{})
	return k, fail.With(fail.Config, err)
}

// add adds a column by its name.
func (k *keyColumns) add(name string, parsed int) {
	c := &keyColumn{name: name, qualifier: []byte(name), family: -1, row: name == RowColumn, parsed: parsed}
	if family, qualifier, ok := strings.Cut(name, ":"); ok {
		for i, f := range k.families {
			if f.Name == family {
				c.family, c.qualifier = i, []byte(qualifier)
			}
		}
	}
	if len(k.families) == 1 {
		c.family = 0
	}
	k.columns = append(k.columns, c)
}

// isCell reports whether the column's value is from a cell.
func (c *keyColumn) isCell() bool { return !c.row && c.parsed < 0 }

// read returns the families that the keys require, nil for all of them.
func (k *keyColumns) read() (names []string) {
	for _, c := range k.columns {
		if !c.isCell() || c.family < 0 {
			return nil
		}
		if f := k.families[c.family].Name; !slices.Contains(names, f) {
			names = append(names, f)
		}
	}
	return names
}

// keyMaker makes the new keys of rows, one after the other. It belongs to one goroutine.
type keyMaker struct {
	of      *keyColumns
	program *keygen.Program
	old     *oldKey  // nil: old keys are not parsed
	values  [][]byte // of the row; copies
	found   []bool
	fields  [][]byte
	key     []byte
	most    int // maximum bytes of a value
}

func newKeyMaker(k *keyColumns, most int) (*keyMaker, error) {
	p, err := keygen.Compile(k.expr, keygen.Options{})
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	old, err := newOldKey(k)
	if err != nil {
		return nil, err
	}
	n := len(k.columns)
	return &keyMaker{of: k, program: p, old: old, values: make([][]byte, n), found: make([]bool, n), fields: make([][]byte, k.made), most: most}, nil
}

// begin starts a row.
func (m *keyMaker) begin() { clear(m.found) }

// errAmbiguous reports a qualifier that is in two families.
var errAmbiguous = errors.New("ambiguous column")

// ambiguous returns the error for a column that is in the families a and b.
func (k *keyColumns) ambiguous(name, a, b string) error {
	return fail.Errorf(fail.Config, "key %s: %w: %s is in the families %s and %s: write `%s:%s` or `%s:%s`, with the back quotes", k.expr, errAmbiguous, name, a, b, a, name, b, name)
}

// cell processes the next cell of the row: the first cell of a column is its newest.
func (m *keyMaker) cell(family int, qualifier, value []byte) error {
	for i, c := range m.of.columns {
		if !c.isCell() || c.family >= 0 && c.family != family || !bytes.Equal(qualifier, c.qualifier) {
			continue
		}
		if c.family < 0 && c.seen.Load() != int32(family)+1 && !c.seen.CompareAndSwap(0, int32(family)+1) {
			if other := int(c.seen.Load()) - 1; other != family {
				return m.of.ambiguous(c.name, m.of.families[min(other, family)].Name, m.of.families[max(other, family)].Name)
			}
		}
		if m.found[i] {
			continue
		}
		if len(value) > m.most {
			return tooLarge(len(value), m.most)
		}
		m.values[i], m.found[i] = append(m.values[i][:0], value...), true
	}
	return nil
}

// make returns the new key of the row, valid until the next call. The error is
// the reason why it has none.
func (m *keyMaker) make(row []byte) ([]byte, error) {
	if m.old != nil {
		if err := m.old.take(row, m); err != nil {
			return nil, err
		}
	}
	for i, c := range m.of.columns[:m.of.made] {
		switch {
		case c.row:
			m.fields[i] = row
		case c.parsed >= 0:
			m.fields[i] = m.old.values[c.parsed]
		case m.found[i]:
			m.fields[i] = m.values[i]
		default:
			m.fields[i] = nil
		}
	}
	var err error
	m.key, err = m.program.Append(m.key[:0], m.fields)
	if err == nil && len(m.key) == 0 {
		err = keygen.ErrNoKey
	}
	if f, ok := errors.AsType[*keygen.FieldError](err); ok && errors.Is(err, keygen.ErrEmpty) {
		for i, c := range m.of.columns {
			if c.name == f.Column && c.isCell() && !m.found[i] {
				err = fmt.Errorf("it has no column %s", c.name)
			}
		}
	}
	return m.key, err
}

// bare returns the columns that the spec names without a family.
func (k *keyColumns) bare() (columns []*keyColumn) {
	for _, c := range k.columns {
		if c.isCell() && c.family < 0 {
			columns = append(columns, c)
		}
	}
	return columns
}

// keyFamilies returns the family of each bare column that a row has, nil if there are no bare columns.
func (k *keyColumns) keyFamilies() map[string]string {
	bare := k.bare()
	if len(bare) == 0 {
		return nil
	}
	families := map[string]string{}
	for _, c := range bare {
		if f := int(c.seen.Load()) - 1; f >= 0 {
			families[c.name] = k.families[f].Name
		}
	}
	return families
}

// OneFamily returns an error if parts of the rows have a column of the key in different families, as one process does that reads all rows, or
// if a part is of a version that did not record the family. old is the spec of the old keys or nil.
func OneFamily(key, old keygen.Expr, families []spec.Family, parts []*build.PartRead) error {
	var names []snapshot.Family
	for _, f := range families {
		names = append(names, snapshot.Family{Name: f.Name})
	}
	k, err := newKeyColumns(key, old, names)
	if err != nil {
		return err
	}
	bare := k.bare()
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *build.PartRead) bool { return p.Records == 0 })
	if len(bare) == 0 || len(parts) < 2 {
		return nil
	}
	for _, c := range bare {
		in := map[string]bool{}
		for _, p := range parts {
			if f, ok := p.KeyFamilies[c.name]; ok {
				in[f] = true
			}
		}
		if all := slices.Sorted(maps.Keys(in)); len(all) > 1 {
			return k.ambiguous(c.name, all[0], all[1])
		}
	}
	if slices.ContainsFunc(parts, func(p *build.PartRead) bool { return p.KeyFamilies == nil }) {
		return fail.With(fail.Check, setting.Errorf("an earlier version has read a part, and not recorded the family of column %s: build all shares again (on YARN: %s)", bare[0].name, setting.Restart))
	}
	return nil
}

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
