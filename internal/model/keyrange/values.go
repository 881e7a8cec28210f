package keyrange

import (
	"bytes"
	"slices"
	"sync"

	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
)

// Values decides whether a row is in a range of values. It compares the parts of the key one by one. Whole keys have the same order only if the parts
// have fixed lengths.
type Values struct {
	columns  []string
	from, to [][]byte // the parts of the bounds

	mu      sync.Mutex // of the program
	program *keygen.Program
}

// Columns returns the columns whose values [Values.Has] takes.
func (v *Values) Columns() []string { return v.columns }

// Has reports whether a row with these values is in the range, and false if it cannot know, because a value is missing (nil) or no key is made of them.
// It is safe for concurrent use.
func (v *Values) Has(fields [][]byte) (in, known bool) {
	if slices.ContainsFunc(fields, func(f []byte) bool { return f == nil }) {
		return false, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key, ends, err := v.program.AppendParts(nil, nil, fields)
	if err != nil {
		return false, false
	}
	var row [][]byte
	start := 0
	for _, end := range ends {
		row, start = append(row, key[start:end]), end
	}
	in = (v.from == nil || slices.CompareFunc(row, v.from, bytes.Compare) >= 0) && (v.to == nil || slices.CompareFunc(row, v.to, bytes.Compare) < 0)
	return in, true
}

// KeyOrder is the warning about a range of keys whose rows may not be those of its values.
const KeyOrder = "rows are bounded by keys: if values have several lengths, the separator in the key sorts some shorter ones after longer ones"

// ByValue returns the rows between two values, as [Key.Between] returns those between two keys. The orders differ if a separator follows values of
// several lengths: R1| sorts after R10|. Then Rows has more rows than the range, and Values selects those of the range. If the orders are the same,
// Values is nil.
func (k Key) ByValue(modulus int, from, to []string) (Rows, *Values, error) {
	return k.between(modulus, from, to, true)
}

// byValue widens r until it has all rows between the values lo and hi. The bounds consist of the first from and the first to parts of the original key.
// If r has exactly these rows, byValue returns nil.
func (k Key) byValue(r *Rows, modulus, from, to int, lo, hi map[string]string) (*Values, error) {
	v := &Values{}
	var err error
	if v.from, err = k.parts(modulus, from, lo); err == nil {
		v.to, err = k.parts(modulus, to, hi)
	}
	if err != nil || !k.widen(r, v.from, v.to) {
		return nil, err
	}
	if v.program, err = keygen.Compile(keygen.Concat{Parts: k.Rest[:max(from, to)]}, keygen.Options{Regions: modulus}); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	v.columns = v.program.Columns()
	return v, nil
}

// parts returns the bytes of each of the first n parts.
func (k Key) parts(modulus, n int, values map[string]string) (list [][]byte, err error) {
	for _, p := range k.Rest[:n] {
		b, err := Bytes([]keygen.Expr{p}, modulus, values)
		if err != nil {
			return nil, fail.With(fail.Config, err)
		}
		list = append(list, b)
	}
	return list, nil
}

// widen extends r until it has the keys of all rows whose parts are between lo and hi, the parts of the bounds. It reports whether the order of keys
// matters: r had too few keys, or has keys of other rows.
func (k Key) widen(r *Rows, lo, hi [][]byte) (differs bool) {
	first := 0 // the first part that may differ among the rows
	for first < min(len(lo), len(hi)) && bytes.Equal(lo[first], hi[first]) {
		first++
	}
	if first > 0 && first == min(len(lo), len(hi)) {
		first-- // one bound has no part after it, so longer values are between them
	}
	from, to := r.Lo, r.Hi
	// shorter calls do for each proper prefix of part i of a bound whose key sorts after whole, the bytes of the bound, or is a beginning of it.
	shorter := func(bound [][]byte, i int, whole []byte, do func(value, key []byte)) {
		for n := 1; n < len(bound[i]); n++ {
			key := slices.Concat(slices.Concat(bound[:i]...), bound[i][:n], k.separator(i))
			if bytes.Compare(key, whole) > 0 || bytes.HasPrefix(whole, key) {
				do(bound[i][:n], key)
			}
		}
	}
	var after []Range // keys after the bound with a value that is before it
	for i := first; i < len(hi); i++ {
		if k.separator(i) == nil {
			continue
		}
		differs = differs || i+1 < len(hi) // values that begin with this one may sort before its separator
		shorter(hi, i, to, func(value, key []byte) {
			if i == first && i < len(lo) && bytes.Compare(value, lo[i]) < 0 {
				return
			}
			differs = true
			end := loader.PrefixEnd(key)
			after = append(after, Range{key, end})
			if len(end) == 0 || r.Hi != nil && bytes.Compare(end, r.Hi) > 0 {
				r.Hi = end
			}
		})
	}
	if k.separated(len(hi)) {
		r.Gaps = between(to, after)
	}
	for i := first; i < len(lo); i++ {
		if k.separator(i) == nil {
			continue
		}
		shorter(lo, i, from, func(_, key []byte) { differs = differs || r.Hi == nil || bytes.Compare(key, r.Hi) < 0 })
		if i+1 < len(lo) {
			r.Lo, differs = slices.Concat(lo[:i+1]...), true // for values that begin with this one
			break
		}
	}
	return differs
}

// between returns the ranges between a key and the first of some ranges, and between these.
func between(from []byte, ranges []Range) (gaps []Range) {
	slices.SortFunc(ranges, func(a, b Range) int { return bytes.Compare(a.Start, b.Start) })
	for _, r := range ranges {
		if bytes.Compare(from, r.Start) < 0 {
			gaps = append(gaps, Range{from, r.Start})
		}
		if len(r.Stop) == 0 {
			break
		}
		if bytes.Compare(from, r.Stop) < 0 {
			from = r.Stop
		}
	}
	return gaps
}

// separated reports whether all bytes of each of the first n parts are before those of the next part, whatever its value, or the part has one length.
func (k Key) separated(n int) bool {
	for i, p := range k.Rest[:n] {
		c, err := keygen.Check(p, keygen.CheckOptions{})
		if !isLiteral(p) && (err != nil || c.Min != c.Max) && k.separator(i) == nil && i+1 < len(k.Rest) {
			return false
		}
	}
	return true
}

// separator returns the constant bytes that follow a part, if the part has several lengths and a value may have a lower byte than theirs.
func (k Key) separator(i int) []byte {
	if i+1 >= len(k.Rest) || isLiteral(k.Rest[i]) {
		return nil
	}
	l, ok := k.Rest[i+1].(keygen.Literal)
	c, err := keygen.Check(k.Rest[i], keygen.CheckOptions{})
	if !ok || err != nil || c.Min == c.Max || len(l.Bytes) == 0 || l.Bytes[0] == 0 {
		return nil
	}
	return l.Bytes
}
