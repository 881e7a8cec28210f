package keygen

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// ErrUnknownColumn says that a spec names a column that the records lack.
var ErrUnknownColumn = errors.New("unknown column")

var errNoPart = errors.New("key spec holds a part that is nil")

// longKey is the least length of keys that get a warning: HBase stores the key in every cell.
const longKey = 100

// CheckOptions holds the facts that a spec is checked against. Zero fields are not checked.
type CheckOptions struct {
	Columns []string       // of the records; nil: not known
	Unique  string         // the column whose values all differ; empty: Uniqueness is NotAsked
	Widths  map[string]int // columns whose values all have this many bytes
	Regions int            // modulus of a salt without one of its own; 0: the length of such a salt is unknown
	Splits  [][]byte       // of the table, ascending
}

// A Report describes the keys of a spec, as far as they are known without a record.
type Report struct {
	Min, Max   int          // bytes of a key; Max is MaxKey if it is unbounded
	First      Alphabet     // of the first byte
	Parts      []PartReport // in the order of the key
	Uniqueness Uniqueness
	Why        string    // the reason of Uniqueness, as text
	Shares     []float64 // expected share of rows in each region; nil if there are no split points or the keys do not start with a hash
	Warnings   []string  // as text; keys can be made despite them
}

// PartReport describes one part of a key.
type PartReport struct {
	Part     string   // as it prints
	Min, Max int      // its bytes; Max is MaxKey if it is unbounded
	Bytes    Alphabet // the bytes that can occur in it
}

// Uniqueness reports whether two records can have the same key if a column's values all differ.
type Uniqueness uint8

// The degrees of uniqueness.
const (
	NotAsked   Uniqueness = iota
	Unique                // no two records have the same key
	ByDigest              // only if a digest of at least 128 bits collides
	MayCollide            // two records may have the same key
)

func (u Uniqueness) String() string {
	return setting.Word("Uniqueness", u, "not asked", "unique", "unique but for collisions of a digest", "may collide")
}

// Check reports the properties of a spec that are known before a record is read. The error,
// which wraps [ErrUnknownColumn], names every column that the records lack. The caller owns the report.
func Check(e Expr, o CheckOptions) (*Report, error) {
	if err := cmp.Or(checkColumns(e, o.Columns), checkCalls(e)); err != nil {
		return nil, err
	}
	opts := Options{Regions: o.Regions, widths: o.Widths}
	s := shapeOf(e, opts)
	r := &Report{Min: s.min, Max: s.max, First: s.first}
	for _, p := range Parts(e) {
		if p == nil {
			return nil, errNoPart
		}
		ps := shapeOf(p, opts)
		r.Parts = append(r.Parts, PartReport{Part: p.String(), Min: ps.min, Max: ps.max, Bytes: ps.set})
		if n, ok := numbersOf(p, opts); ok && n.random && ps.min != ps.max {
			r.warn("%s has %d to %d digits, so keys of different lengths mix: write pad(abs(…), %d)", p, ps.min, ps.max, decimals(n.max))
		}
	}
	if len(o.Splits) > 0 {
		r.Shares = sharesOf(s, o.Splits)
		if text := uneven(s, o.Splits, r.Shares); r.Shares != nil && text != "" {
			r.warn("%s", text)
		}
	}
	if s.min > longKey || s.max < MaxKey && s.max > longKey {
		r.warn("keys have %s: every cell repeats its key, so keep them under %d", bytesRange(s.min, s.max), longKey)
	}
	if o.Unique != "" {
		r.Uniqueness, r.Why = uniqueness(e, o.Unique, opts)
		if r.Uniqueness == MayCollide {
			r.warn("two records may have the same key although %s differs: %s", o.Unique, r.Why)
		}
	}
	return r, nil
}

// checkCalls returns an error for a call with other arguments than its function takes. [Parse] returns none: a program can build one.
func checkCalls(e Expr) error {
	parts := Parts(e)
	if c, ok := e.(Call); ok {
		parts = c.Args
		if f, known := findFunction(c.Func); known {
			if err := f.verify(c); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
	} else if _, ok := e.(Concat); !ok {
		return nil
	}
	for _, p := range parts {
		if err := checkCalls(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func bytesRange(least, most int) string {
	switch most {
	case least:
		return fmt.Sprintf("%d bytes", least)
	case MaxKey:
		return fmt.Sprintf("%d bytes or more", least)
	}
	return fmt.Sprintf("%d to %d bytes", least, most)
}

func checkColumns(e Expr, columns []string) error {
	if columns == nil {
		return nil
	}
	var errs []error
	wanted := Columns(e)
	if proven := slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(columns, name) }); !proven && len(wanted) > 0 {
		hint := setting.Textf("the input has %d others: is its first line a header?", len(columns))
		if len(columns) == 1 {
			hint = separatorHint(columns[0])
		}
		if near := Nearest(strings.ToLower(wanted[0]), columns); len(near) == 1 {
			hint = setting.Plain("did you mean " + near[0] + "?")
		}
		list := ColumnList(wanted)
		if len(wanted) == 1 {
			list = strings.Trim(list, "[]")
		}
		return &unprovenError{setting.Errorf("%w %s (%s)", ErrUnknownColumn, list, hint), columns}
	}
	for _, name := range wanted {
		if slices.Contains(columns, name) {
			continue
		}
		hint := "the input has " + ColumnList(columns)
		if s := suggest(name, columns); s != "" {
			hint = s
		}
		errs = append(errs, fmt.Errorf("%w %q (%s)", ErrUnknownColumn, name, hint))
	}
	return errors.Join(errs...)
}

// uniqueness determines whether the id can be recovered from a key: the key must contain the complete id, and its beginning and end must
// be determined by the key's bytes.
func uniqueness(e Expr, id string, o Options) (Uniqueness, string) {
	parts := Parts(e)
	best, why := MayCollide, ""
	for i, p := range parts {
		u, reason := carries(p, id, o)
		if u == MayCollide {
			if reason != "" && why == "" {
				why = reason
			}
			continue
		}
		if !placed(parts, i, o) {
			why = fmt.Sprintf("the parts next to %s have neither a fixed length nor a separator that cannot occur in them, so where it begins or ends is not determined", p)
			continue
		}
		if u < best {
			best = u
			why = fmt.Sprintf("%s is in the key at a place that can be determined", p)
		}
	}
	why = cmp.Or(why, fmt.Sprintf("the key does not hold %s", id))
	return best, why
}

// carries reports whether different ids yield different bytes of e.
func carries(e Expr, id string, o Options) (Uniqueness, string) {
	switch e := e.(type) {
	case Column:
		if e.Name == id {
			return Unique, ""
		}
	case Concat:
		return uniqueness(e, id, o)
	case Call:
		if !slices.Contains(Columns(e), id) {
			return MayCollide, ""
		}
		switch e.Func {
		case "orempty", "reverse", "hex":
			return carries(e.Args[0], id, o)
		case "md5hex", "md5raw", "sha1hex", "sha1raw", "sha256hex", "sha256raw":
			if u, why := uniqueness(join(e.Args), id, o); u == MayCollide {
				return u, why
			}
			return ByDigest, ""
		}
		return MayCollide, fmt.Sprintf("%s gives the same for different values of %s", e, id)
	}
	return MayCollide, ""
}

// placed reports whether a key's bytes determine where part i is.
func placed(parts []Expr, i int, o Options) bool {
	before := determined(parts[:i], o)
	following := slices.Clone(parts[i+1:])
	slices.Reverse(following)
	after := determined(following, o)
	if s := shapeOf(parts[i], o); s.min == s.max {
		return before || after
	}
	return before && after
}

// determined reports whether a key's bytes determine where the parts end, reading them in this order: each part has a fixed length, or is
// followed by a literal that it cannot contain.
func determined(parts []Expr, o Options) bool {
	for i, p := range parts {
		s := shapeOf(p, o)
		if s.min == s.max {
			continue
		}
		if i+1 == len(parts) {
			return false
		}
		l, ok := parts[i+1].(Literal)
		if !ok || slices.ContainsFunc(l.Bytes, s.set.Has) {
			return false
		}
	}
	return true
}
