package keyrange

import (
	"bytes"
	"maps"
	"slices"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Rows describes the rows to read: for each head, the keys that begin with it and
// continue within [Lo, Hi). A nil bound means no bound.
type Rows struct {
	Heads  [][]byte // distinct, in order, none a prefix of another
	Lo, Hi []byte
	Gaps   []Range // parts of [Lo, Hi) that have no rows of the range, in order: a scan may pass over them
}

// Start and Stop return the bounds of a scan of the rows with a head.
func (r Rows) Start(head []byte) []byte { return slices.Concat(head, r.Lo) }

func (r Rows) Stop(head []byte) []byte {
	if r.Hi == nil {
		return loader.PrefixEnd(head)
	}
	return slices.Concat(head, r.Hi)
}

// Past returns the first key with a head after the gap that a row key is in, nil if it is in none.
func (r Rows) Past(head, key []byte) []byte {
	for _, g := range r.Gaps {
		if rest, ok := bytes.CutPrefix(key, head); ok && g.Has(rest) {
			return slices.Concat(head, g.Stop)
		}
	}
	return nil
}

// Has reports whether a row key is in the range.
func (r Rows) Has(key []byte) bool {
	return slices.ContainsFunc(r.Heads, func(head []byte) bool { return Range{r.Start(head), r.Stop(head)}.Has(key) })
}

// checkLength refuses bounds that are too long for a row key together with a head, because HBase refuses to scan from there.
func (r Rows) checkLength() error {
	for _, head := range r.Heads {
		if n := len(head) + max(len(r.Lo), len(r.Hi)); n > keygen.MaxKey {
			return fail.Errorf(fail.Config, "%w: a bound has %d with its salt", keygen.ErrLong, n)
		}
	}
	return nil
}

// Columns returns the columns of the original key, in its order.
func (k Key) Columns() []string {
	var names []string
	for _, p := range k.Rest {
		for _, c := range keygen.Columns(p) {
			if !slices.Contains(names, c) {
				names = append(names, c)
			}
		}
	}
	return names
}

// Bind assigns the values of a bound to the first columns of the original key.
func (k Key) Bind(what setting.Name, values []string) (map[string]string, error) {
	columns := k.Columns()
	if len(values) > len(columns) {
		return nil, fail.Errorf(fail.Config, "%s: %s given, but after its salt the key %s has the columns %q", what, setting.Count(len(values), "value is"), k.Spec, columns)
	}
	bound := make(map[string]string, len(values))
	for i, v := range values {
		bound[columns[i]] = v
	}
	return bound, nil
}

// Between returns the rows whose original key is at or after from and before to. Both
// are given as values of the key's first columns; without values there is no bound.
// The key may hash columns that have the same value in both bounds, but it must keep
// the order of the columns after them.
func (k Key) Between(modulus int, from, to []string) (Rows, error) {
	r, _, err := k.between(modulus, from, to, false)
	return r, err
}

func (k Key) between(modulus int, from, to []string, byValue bool) (r Rows, v *Values, err error) {
	lo, err := k.Bind(k.From, from)
	if err != nil {
		return r, nil, err
	}
	hi, err := k.Bind(k.To, to)
	if err != nil {
		return r, nil, err
	}
	fixed := map[string]string{}
	for _, c := range k.Columns() {
		v, ok := lo[c]
		w, also := hi[c]
		if !ok || !also || v != w {
			break
		}
		fixed[c] = v
	}
	if r.Heads, err = k.headsFor(modulus, k.inEveryKey(fixed)); err != nil {
		return r, nil, err
	}
	var first, last int
	if r.Lo, first, err = k.bound(k.From, modulus, lo, fixed, ""); err != nil {
		return r, nil, err
	}
	if r.Hi, last, err = k.bound(k.To, modulus, hi, fixed, ""); err != nil {
		return r, nil, err
	}
	start, stop := r.Lo, r.Hi
	none := start != nil && stop != nil && bytes.Compare(start, stop) >= 0
	if byValue {
		if v, err = k.byValue(&r, modulus, first, last, lo, hi); err != nil {
			return r, nil, err
		}
		if v != nil {
			none = v.from != nil && v.to != nil && slices.CompareFunc(v.from, v.to, bytes.Compare) >= 0
		}
	}
	if none {
		hint := setting.Textf("%s is inclusive, %s is exclusive", k.From, k.To)
		if slices.ContainsFunc(k.Rest, latestFirst) {
			hint = setting.Textf("%s; this key has the latest first, so %s is later than %s", hint, k.From, k.To)
		}
		return r, nil, fail.Errorf(fail.Config, "no row is in the range: keys from %s on are not before %s (%s)", rowkey.String(start), rowkey.String(stop), hint)
	}
	return r, v, r.checkLength()
}

// Beginning returns the rows whose original key begins with values of its first
// columns; the last value may be a prefix of a value, unless the key is made of
// complete values.
func (k Key) Beginning(modulus int, values []string) (Rows, error) {
	bound, err := k.Bind(k.Prefix, values)
	if err != nil {
		return Rows{}, err
	}
	fixed, partial := map[string]string{}, ""
	for i, c := range k.Columns()[:len(values)] {
		if i == len(values)-1 {
			partial = c
		} else {
			fixed[c] = bound[c]
		}
	}
	var r Rows
	if r.Heads, err = k.headsFor(modulus, k.inEveryKey(fixed)); err != nil {
		return r, err
	}
	if r.Lo, _, err = k.bound(k.Prefix, modulus, bound, fixed, partial); err != nil {
		return r, err
	}
	r.Hi = loader.PrefixEnd(r.Lo) // nil also if all bytes are 0xFF: these rows end where the rows of the head end
	return r, r.checkLength()
}

// With returns the rows of a query key: values of columns that may be anywhere in the
// key, as long as they determine its first parts.
func (k Key) With(modulus int, known map[string]string) (Rows, error) {
	rest, err := k.Findable(known)
	if err != nil {
		return Rows{}, err
	}
	var r Rows
	if r.Heads, err = k.headsFor(modulus, known); err != nil {
		return r, err
	}
	if r.Lo, err = Bytes(rest, modulus, known); err != nil {
		return r, fail.Errorf(fail.Config, "query: %w", err)
	}
	r.Hi = loader.PrefixEnd(r.Lo)
	return r, r.checkLength()
}

// Findable returns the first parts of the original key that known columns
// determine. It is an error if no such part has a column.
func (k Key) Findable(known map[string]string) ([]keygen.Expr, error) {
	var rest []keygen.Expr
	for _, p := range k.Rest {
		if !MadeOf(p, known) {
			break
		}
		rest = append(rest, p)
	}
	hasColumns := func(p keygen.Expr) bool { return len(keygen.Columns(p)) > 0 }
	if !slices.ContainsFunc(rest, hasColumns) {
		first := k.Spec
		if i := slices.IndexFunc(k.Rest, hasColumns); i >= 0 {
			first = k.Rest[i]
		}
		return nil, fail.Errorf(fail.Config, "key %s: %s cannot be made from %q alone, so rows cannot be found by them", k.Spec, first, slices.Sorted(maps.Keys(known)))
	}
	return rest, nil
}

// inEveryKey returns the fixed columns whose value every key of a range has. If a
// column has no fixed length, or is not completely in the key, rows with other values
// of it, and so with other salts, may be between the bounds too: the columns "a", "0b"
// and "a0", "b" give the same key.
func (k Key) inEveryKey(fixed map[string]string) map[string]string {
	var lead []keygen.Expr
	for _, p := range k.Rest {
		r, err := keygen.Check(p, keygen.CheckOptions{})
		if err != nil || r.Min != r.Max || !MadeOf(p, fixed) {
			break
		}
		lead = append(lead, p)
	}
	known := map[string]string{}
	for c, v := range fixed {
		r, err := keygen.Check(keygen.Concat{Parts: lead}, keygen.CheckOptions{Unique: c})
		if err == nil && (r.Uniqueness == keygen.Unique || r.Uniqueness == keygen.ByDigest) {
			known[c] = v
		}
	}
	return known
}

// headsFor returns the heads that rows with the fixed values may have: a single one if
// it can be computed from these values.
func (k Key) headsFor(modulus int, fixed map[string]string) ([][]byte, error) {
	if slices.ContainsFunc(k.Head, func(p keygen.Expr) bool { return !MadeOf(p, fixed) }) {
		return k.Heads(modulus)
	}
	head, err := Bytes(k.Head, modulus, fixed)
	return [][]byte{head}, fail.With(fail.Config, err)
}

func has(m map[string]string, name string) bool {
	_, ok := m[name]
	return ok
}

// MadeOf reports whether a part reads only known columns.
func MadeOf(p keygen.Expr, known map[string]string) bool {
	return !slices.ContainsFunc(keygen.Columns(p), func(c string) bool { return !has(known, c) })
}

// Bytes computes the bytes of key parts from the values of their columns.
func Bytes(parts []keygen.Expr, modulus int, values map[string]string) ([]byte, error) {
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
