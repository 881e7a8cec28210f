package query

import (
	"bytes"
	"slices"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// keyRange is where rows are to be read: for each head the keys that begin
// with it and continue within [lo, hi). Nil means no bound.
type keyRange struct {
	heads  [][]byte // distinct, in order, none a prefix of another
	lo, hi []byte
}

// start and stop are the bounds for a head, as a scan takes them.
func (r keyRange) start(head []byte) []byte { return slices.Concat(head, r.lo) }

func (r keyRange) stop(head []byte) []byte {
	if r.hi == nil {
		return loader.PrefixEnd(head)
	}
	return slices.Concat(head, r.hi)
}

// columns are those of the original key, in its order.
func (k saltedKey) columns() []string {
	var names []string
	for _, p := range k.rest {
		for _, c := range keygen.Columns(p) {
			if !slices.Contains(names, c) {
				names = append(names, c)
			}
		}
	}
	return names
}

// bind names the values of a bound, which are those of the first columns of the original key.
func (k saltedKey) bind(what setting.Name, values []string) (map[string]string, error) {
	columns := k.columns()
	if len(values) > len(columns) {
		return nil, fail.Errorf(fail.Config, "%s: %s are given, but after its salt the key %s has the columns %q", what, setting.Count(len(values), "value"), k.spec, columns)
	}
	bound := make(map[string]string, len(values))
	for i, v := range values {
		bound[columns[i]] = v
	}
	return bound, nil
}

// between is the range of the rows whose original key begins at from and ends
// before to, values of its first columns; none means no bound. Columns that
// have one value in both may be hashed; after them the key must keep the
// order of its columns.
func (k saltedKey) between(modulus int, from, to []string) (keyRange, error) {
	lo, err := k.bind(setting.From, from)
	if err != nil {
		return keyRange{}, err
	}
	hi, err := k.bind(setting.To, to)
	if err != nil {
		return keyRange{}, err
	}
	fixed := map[string]string{}
	for _, c := range k.columns() {
		v, ok := lo[c]
		w, also := hi[c]
		if !ok || !also || v != w {
			break
		}
		fixed[c] = v
	}
	var r keyRange
	if r.heads, err = k.headsFor(modulus, k.told(fixed)); err != nil {
		return r, err
	}
	if r.lo, err = k.bound(setting.From, modulus, lo, fixed); err != nil {
		return r, err
	}
	if r.hi, err = k.bound(setting.To, modulus, hi, fixed); err != nil {
		return r, err
	}
	if r.lo != nil && r.hi != nil && bytes.Compare(r.lo, r.hi) >= 0 {
		hint := setting.Textf("%s is inclusive, %s is exclusive", setting.From, setting.To)
		if slices.ContainsFunc(k.rest, latestFirst) {
			hint = setting.Textf("%s; this key has the latest first, so %s is later than %s", hint, setting.From, setting.To)
		}
		return r, fail.Errorf(fail.Config, "no row is in the range: keys from %s on are not before %s (%s)", rowkey.String(r.lo), rowkey.String(r.hi), hint)
	}
	return r, nil
}

// beginning is the range of the rows whose original key begins with values of
// its first columns; the last one may be the beginning of a value.
func (k saltedKey) beginning(modulus int, values []string) (keyRange, error) {
	bound, err := k.bind(setting.Prefix, values)
	if err != nil {
		return keyRange{}, err
	}
	fixed := map[string]string{}
	for _, c := range k.columns()[:max(len(values)-1, 0)] {
		fixed[c] = bound[c]
	}
	var r keyRange
	if r.heads, err = k.headsFor(modulus, k.told(fixed)); err != nil {
		return r, err
	}
	if r.lo, err = k.bound(setting.Prefix, modulus, bound, fixed); err != nil {
		return r, err
	}
	if r.hi = loader.PrefixEnd(r.lo); r.hi == nil {
		r.lo = nil
	}
	return r, nil
}

// with is the range of the rows of a query key: columns that are known, in
// any place of the key as long as its first parts can be made of them.
func (k saltedKey) with(modulus int, known map[string]string) (keyRange, error) {
	rest, err := k.findable(known)
	if err != nil {
		return keyRange{}, err
	}
	var r keyRange
	if r.heads, err = k.headsFor(modulus, known); err != nil {
		return r, err
	}
	if r.lo, err = keyBytes(rest, modulus, known); err != nil {
		return r, fail.With(fail.Config, &spec.FieldError{Field: "query", Err: err})
	}
	r.hi = loader.PrefixEnd(r.lo)
	return r, nil
}

// findable are the first parts of the original key that can be made of known
// columns; none of them with a column is an error.
func (k saltedKey) findable(known map[string]string) ([]keygen.Expr, error) {
	var rest []keygen.Expr
	for _, p := range k.rest {
		if !madeOf(p, known) {
			break
		}
		rest = append(rest, p)
	}
	if len(rest) == 0 || !slices.ContainsFunc(rest, func(p keygen.Expr) bool { return len(keygen.Columns(p)) > 0 }) {
		return nil, fail.Errorf(fail.Config, "key %s: %s cannot be made from %q alone, so rows cannot be found by them", k.spec, firstWithColumns(k.rest, k.spec), sortedNames(known))
	}
	return rest, nil
}

// told are the fixed columns whose value every key of a range has. Where such a
// column is not of fixed length, or not all of it is in the key, rows of other
// values are between the bounds too, under other salts: after "a", the values
// "b" of "a" and "0b" of "a0" mix.
func (k saltedKey) told(fixed map[string]string) map[string]string {
	var lead []keygen.Expr
	for _, p := range k.rest {
		r, err := keygen.Check(p, keygen.CheckOptions{})
		if err != nil || r.Min != r.Max || !madeOf(p, fixed) {
			break
		}
		lead = append(lead, p)
	}
	told := map[string]string{}
	for c, v := range fixed {
		r, err := keygen.Check(keygen.Concat{Parts: lead}, keygen.CheckOptions{Unique: c})
		if err == nil && (r.Uniqueness == keygen.Unique || r.Uniqueness == keygen.ByDigest) {
			told[c] = v
		}
	}
	return told
}

// headsFor are the heads of rows with the fixed values: one if it can be computed.
func (k saltedKey) headsFor(modulus int, fixed map[string]string) ([][]byte, error) {
	for _, p := range k.head {
		if !madeOf(p, fixed) {
			return k.heads(modulus)
		}
	}
	head, err := keyBytes(k.head, modulus, fixed)
	return [][]byte{head}, fail.With(fail.Config, err)
}

// bound makes the bytes of a bound of the original key, nil without values.
func (k saltedKey) bound(what setting.Name, modulus int, values, fixed map[string]string) ([]byte, error) {
	if len(values) == 0 {
		return nil, nil
	}
	var parts []keygen.Expr
	used := map[string]string{}
	for _, p := range k.rest {
		columns := keygen.Columns(p)
		if !madeOf(p, values) {
			for _, c := range columns {
				if _, ok := values[c]; ok && !has(used, c) {
					return nil, fail.Errorf(fail.Config, "%s: %s of the key %s needs %q, not %s alone", what, p, k.spec, columns, c)
				}
			}
			break
		}
		if !madeOf(p, fixed) && !keepsOrder(p) {
			if madeOf(p, used) {
				break // what stands before bounds the same values
			}
			return nil, k.noRange(p)
		}
		parts = append(parts, p)
		for _, c := range columns {
			used[c] = values[c]
		}
	}
	for c := range values {
		if !has(used, c) {
			return nil, fail.Errorf(fail.Config, "%s: the column %s of the key %s follows %s, for which no value is given", what, c, k.spec, k.rest[len(parts)])
		}
	}
	// Constant bytes after the last value would cut off longer values that
	// begin with it, whose next byte is less.
	for len(parts) > 0 && len(keygen.Columns(parts[len(parts)-1])) == 0 {
		parts = parts[:len(parts)-1]
	}
	b, err := keyBytes(parts, modulus, values)
	if err != nil {
		return nil, fail.Errorf(fail.Config, "%s: %w", what, err)
	}
	return b, nil
}

// NoRangeError is a range of values whose rows are all over the table.
type NoRangeError struct{ Err error }

func (e *NoRangeError) Error() string { return e.Err.Error() }
func (e *NoRangeError) Unwrap() error { return e.Err }

// noRange says why a range of values is not a range of keys.
func (k saltedKey) noRange(p keygen.Expr) error {
	columns := keygen.Columns(p)
	return &NoRangeError{fail.Errorf(fail.Config, "key %s: a range of %s is not a range of row keys, because %s does not keep the order: use get, or scan %s, which reads the whole table", k.spec, strings.Join(columns, ", "), p, setting.Full)}
}

func has(m map[string]string, name string) bool {
	_, ok := m[name]
	return ok
}

// madeOf reports whether a part reads known columns only.
func madeOf(p keygen.Expr, known map[string]string) bool {
	for _, c := range keygen.Columns(p) {
		if !has(known, c) {
			return false
		}
	}
	return true
}

// keyBytes makes parts of a key from the values of their columns.
func keyBytes(parts []keygen.Expr, modulus int, values map[string]string) ([]byte, error) {
	if len(parts) == 0 {
		return []byte{}, nil
	}
	p, err := keygen.Compile(keygen.Concat{Parts: parts}, keygen.Options{Regions: modulus})
	if err != nil {
		return nil, err
	}
	var fields [][]byte
	for _, c := range p.Columns() {
		fields = append(fields, []byte(values[c]))
	}
	return p.Append(nil, fields)
}

func firstWithColumns(parts []keygen.Expr, or keygen.Expr) keygen.Expr {
	for _, p := range parts {
		if len(keygen.Columns(p)) > 0 {
			return p
		}
	}
	return or
}

func sortedNames(m map[string]string) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
