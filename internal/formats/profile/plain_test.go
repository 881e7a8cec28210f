package profile

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/formats/expectation"
)

// plain counts the values of one column in the simplest way.
type plain struct {
	values          map[string]int64
	nulls, empty, n int64
}

func newPlain(values []*string) *plain {
	p := &plain{values: map[string]int64{}}
	for _, v := range values {
		switch {
		case v == nil:
			p.nulls++
		case *v == "":
			p.empty++
		default:
			p.values[*v]++
			p.n++
		}
	}
	return p
}

// kind determines the kind and the layout of the values with math/big and package time.
func (p *plain) kind() (Kind, string) {
	if p.n == 0 {
		return None, ""
	}
	fits := func(ok func(string) bool) bool {
		for v := range p.values {
			if !ok(v) {
				return false
			}
		}
		return true
	}
	if fits(func(v string) bool { return exactOf(v) != nil }) {
		return Number, ""
	}
	for i, layout := range goLayouts {
		if fits(func(v string) bool {
			at, err := time.Parse(layout, v)
			return err == nil && at.Format(layout) == v && at.Year() > 0
		}) {
			return Date, layouts[i]
		}
	}
	return Text, ""
}

var goLayouts = []string{"2006-01-02", "2006/01/02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05.000", "2006-01-02T15:04:05.000"}

// exactOf returns a number in a notation that the tests use, or nil.
func exactOf(v string) *big.Rat {
	if strings.Trim(v, "0123456789.+-e") != "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(v)
	if !ok {
		return nil
	}
	return r
}

// place returns the position of a value in the histogram.
func (p *plain) place(kind Kind, layout, v string) float64 {
	switch kind {
	case Number:
		var digits [celltype.MaxDigits]byte
		n, _ := expectation.ParseNumber([]byte(v), &digits)
		return n.Float() // TestFloat compares it with math/big
	case Date:
		at, _ := time.Parse(goLayouts[slices.Index(layouts, layout)], v)
		return float64(at.UnixMilli())
	}
	return float64(len(v))
}

// before reports whether a value sorts before another: numbers by value, then by their bytes.
func (p *plain) before(kind Kind, a, b string) bool {
	if kind == Number {
		if c := exactOf(a).Cmp(exactOf(b)); c != 0 {
			return c < 0
		}
	}
	return a < b
}

// check compares a column of a profile with the plain counts.
func (p *plain) check(t testing.TB, c *Column) {
	t.Helper()
	kind, layout := p.kind()
	if c.Kind != kind || c.Layout != layout || c.Nulls != p.nulls || c.Empty != p.empty || c.Values != p.n {
		t.Fatalf("%s %q, %d NULL, %d empty, %d values: want %s %q, %d, %d, %d", c.Kind, c.Layout, c.Nulls, c.Empty, c.Values, kind, layout, p.nulls, p.empty, p.n)
	}
	if kind == None {
		return
	}
	least, greatest, shortest, longest := "", "", int64(math.MaxInt64), int64(0)
	for v := range p.values {
		if least == "" || p.before(kind, v, least) {
			least = v
		}
		if greatest == "" || p.before(kind, greatest, v) {
			greatest = v
		}
		shortest, longest = min(shortest, int64(len(v))), max(longest, int64(len(v)))
	}
	if c.Min != least || c.Max != greatest || c.Shortest != shortest || c.Longest != longest {
		t.Fatalf("%q to %q, %d to %d bytes: want %q to %q, %d to %d", c.Min, c.Max, c.Shortest, c.Longest, least, greatest, shortest, longest)
	}
	p.checkBars(t, c)
	p.checkFrequent(t, c)
	distinct, apart := int64(len(p.values)), 0.0
	if c.Estimated {
		apart = 4 * DistinctError * float64(distinct)
	}
	if math.Abs(float64(c.Distinct-distinct)) > apart || c.Estimated != (distinct > MaxValues) {
		t.Fatalf("%d different (estimated: %v), want %d", c.Distinct, c.Estimated, distinct)
	}
}

func (p *plain) checkBars(t testing.TB, c *Column) {
	t.Helper()
	bars := c.Histogram.Bars
	got, all := make([]int64, len(bars)), int64(0)
	for v, n := range p.values {
		x := p.place(c.Kind, c.Layout, v)
		i := slices.IndexFunc(bars, func(b Bar) bool {
			return x >= b.From && (x < b.To || b.From == b.To && x == b.From || x == math.MaxFloat64 && b.To == x)
		})
		if i < 0 {
			t.Fatalf("no bar of %v has %v", bars, x)
		}
		got[i] += n
	}
	for i, b := range bars {
		if all += b.Count; b.Count != got[i] || i > 0 && b.From != bars[i-1].To {
			t.Fatalf("bar %d of %v: %d values, want %d", i, bars, b.Count, got[i])
		}
	}
	if len(bars) > maxBins || all != p.n || bars[0].Count == 0 || bars[len(bars)-1].Count == 0 {
		t.Fatalf("%d bars with %d values, want %d: %v", len(bars), all, p.n, bars)
	}
}

// checkFrequent checks that the counts are exact within the stated error, that this error is within the promised bound, and that every value is
// listed whose count exceeds the possible counts of listed ones.
func (p *plain) checkFrequent(t testing.TB, c *Column) {
	t.Helper()
	if c.FrequentError > 2*p.n/MaxValues || c.FrequentError > 0 && !c.Estimated {
		t.Fatalf("error %d of %d values", c.FrequentError, p.n)
	}
	listed := map[string]bool{}
	for _, f := range c.Frequent {
		if n := p.values[f.Value]; f.Count > n || n > f.Count+c.FrequentError || f.Cut {
			t.Fatalf("%q: at least %d, error %d, there are %d", f.Value, f.Count, c.FrequentError, n)
		}
		listed[f.Value] = true
	}
	bound := 3 * c.FrequentError
	if len(c.Frequent) == maxFrequent {
		bound = max(bound, c.Frequent[maxFrequent-1].Count+c.FrequentError)
	}
	for v, n := range p.values {
		if n > bound && !listed[v] {
			t.Fatalf("%q is there %d times and not listed: %v", v, n, c.Frequent)
		}
	}
}

// randomColumn returns a column of one of many kinds: few or many different values, evenly distributed or skewed.
func randomColumn(r *rand.Rand, n int) []*string {
	draw := randomValue(r)
	nulls, empty := r.IntN(3), r.IntN(3)
	list := make([]*string, n)
	for i := range list {
		switch {
		case nulls == 0 && r.IntN(4) == 0:
		case empty == 0 && r.IntN(9) == 0:
			list[i] = new(string)
		default:
			v := draw()
			list[i] = &v
		}
	}
	if r.IntN(4) == 0 {
		slices.SortFunc(list, func(a, b *string) int { return bytes.Compare(textOf(a), textOf(b)) })
	}
	return list
}

func textOf(v *string) []byte {
	if v == nil {
		return nil
	}
	return []byte(*v)
}
