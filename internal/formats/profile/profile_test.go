package profile

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// randomValue returns a function that draws values of one kind.
func randomValue(r *rand.Rand) func() string {
	most := []int{1, 3, 50, 1000, 1100, 5000, 1 << 40}[r.IntN(7)]
	skew := []float64{1, 4, 20}[r.IntN(3)]
	n := func() int { return int(float64(most) * math.Pow(r.Float64(), skew)) }
	begin := time.Date(1990+r.IntN(60), 1, 1, 0, 0, 0, 0, time.UTC)
	layout := goLayouts[r.IntN(len(goLayouts))]
	unit := []string{"", "e-30", "e25", "e300", "e-310"}[r.IntN(5)]
	odd := r.IntN(3) == 0
	return []func() string{
		func() string { return fmt.Sprint(n()) },
		func() string { return fmt.Sprint(n() - most/2) },
		func() string { return fmt.Sprintf("%.*f", r.IntN(4), float64(n())/7-20) },
		func() string { return fmt.Sprintf("%d%s", n()-most/2, unit) },
		func() string { return fmt.Sprintf("%06d", n()) },
		func() string { return begin.Add(time.Duration(n()) * time.Millisecond * 77).Format(layout) },
		func() string { return strings.Repeat("日x", n()%13) + fmt.Sprint(n()) + "." },
		func() string {
			if odd && r.IntN(200) == 0 {
				return []string{"x", "2017-02-30", "1e", "ÿ", "2017-10-12"}[r.IntN(5)]
			}
			return fmt.Sprint(n())
		},
	}[r.IntN(8)]
}

// count counts columns in parts that are separated at the given records.
func count(t testing.TB, columns [][]*string, cuts []int) *Profile {
	t.Helper()
	n := len(columns[0])
	total := New(len(columns))
	part := New(len(columns))
	names := make([]string, len(columns))
	for i, cut := range append(cuts, n) {
		from := 0
		if i > 0 {
			from = cuts[i-1]
		}
		part.Reset() // workers reuse them
		part.Records(int64(cut - from))
		for c := range columns {
			for _, v := range columns[c][from:cut] {
				part.Value(c, textOf(v), v == nil)
			}
		}
		total.Merge(part)
	}
	return total.Profile(names)
}

// TestPlain compares random columns, counted in random parts, with plain counts.
func TestPlain(t *testing.T) {
	r := testcheck.Rand(t)
	for range race.Cases(t, 150) {
		n := []int{0, 1, 10, 300, 3000, 20_000}[r.IntN(6)]
		columns := [][]*string{randomColumn(r, n), randomColumn(r, n), randomColumn(r, n)}
		var cuts []int
		for at := r.IntN(n + 1); at < n && len(cuts) < 9; at += 1 + r.IntN(n) {
			cuts = append(cuts, at)
		}
		p := count(t, columns, cuts)
		for i, c := range columns {
			newPlain(c).check(t, &p.Columns[i])
		}
		if r.IntN(5) == 0 {
			sameInParts(t, columns, p)
		}
	}
}

// sameInParts checks that only the frequent values depend on the parts, and that counting twice gives equal results.
func sameInParts(t *testing.T, columns [][]*string, p *Profile) {
	t.Helper()
	text := func(p *Profile, all bool) string {
		for i := range p.Columns {
			if !all && p.Columns[i].Estimated {
				p.Columns[i].Frequent, p.Columns[i].FrequentError = nil, 0
			}
		}
		b, err := json.Marshal(p)
		testcheck.Must(t, err)
		return string(b)
	}
	whole := count(t, columns, nil)
	if a, b := text(whole, true), text(count(t, columns, nil), true); a != b {
		t.Fatalf("once more:\n%s\n%s", a, b)
	}
	if a, b := text(whole, false), text(p, false); a != b {
		t.Fatalf("in parts:\n%s\n%s", a, b)
	}
}

// TestDistinct checks that estimated numbers of different values are within the stated error, from the least number
// that is estimated.
func TestDistinct(t *testing.T) {
	var errors float64
	n := 0
	for _, distinct := range []int{MaxValues + 1, 2000, 5000, 20_000, 60_000, 200_000} {
		for seed := range 4 {
			t1, t2 := New(1), New(1)
			for i := range distinct {
				t1.Value(0, fmt.Appendf(nil, "%d-%d", seed, i), false)
				t2.Value(0, fmt.Appendf(nil, "%d-%d", seed, (i*7)%distinct), false)
			}
			t1.Records(int64(distinct))
			t2.Records(int64(distinct))
			t1.Merge(t2)
			c := t1.Profile([]string{""}).Columns[0]
			apart := float64(c.Distinct)/float64(distinct) - 1
			if math.Abs(apart) > 4*DistinctError || !c.Estimated {
				t.Errorf("%d different: %d", distinct, c.Distinct)
			}
			errors += apart * apart
			n++
		}
	}
	if deviation := math.Sqrt(errors / float64(n)); deviation > 1.5*DistinctError {
		t.Errorf("the deviation of all is %.4f, not %.4f", deviation, DistinctError)
	}
}

// TestManyColumns checks that fewer values are counted if there are very many columns, so that all fit into limited
// memory.
func TestManyColumns(t *testing.T) {
	for columns, want := range map[int]int{1: 1024, 64: 1024, 65: 512, 1000: 64, 100_000: 64} {
		if got := roomFor(columns); got != want {
			t.Errorf("%d columns: %d values, want %d", columns, got, want)
		}
	}
	r := testcheck.Rand(t)
	sum, part := New(1), New(1)
	for range 40 {
		part.Reset()
		for range 3000 {
			part.Value(0, fmt.Appendf(nil, "%0300d", r.Int64N(5000)), false)
		}
		sum.Merge(part)
	}
	for _, w := range []*Tally{sum, part} {
		f := &w.columns[0].frequent
		if n := cap(f.values)*int(unsafe.Sizeof(counted{})) + cap(f.text) + 2*cap(f.index) + 8*cap(f.scratch) + (1 << precision) + int(unsafe.Sizeof(column{})); n > 400<<10 {
			t.Errorf("a column takes %d bytes", n)
		}
	}
}

// TestHidden checks that a hidden profile has no part of a value.
func TestHidden(t *testing.T) {
	w := New(2)
	w.Records(100)
	for i := range 100 {
		w.Value(0, fmt.Appendf(nil, "SECRET%d", i%3), false)
		w.Value(1, fmt.Appendf(nil, "%d", 77700+i%3), false)
	}
	p := w.Profile([]string{"a", "b"})
	for i := range p.Columns {
		p.Columns[i].Hide()
	}
	b, err := json.Marshal([]any{p, p.Expect(time.Now())})
	testcheck.Must(t, err)
	if strings.Contains(string(b), "SECRET") || strings.Contains(string(b), "777") {
		t.Error(string(b))
	}
	if _, errs := expectation.Parse(p.Expect(time.Now())); errs != nil {
		t.Error(errs)
	}
}

// TestBytes checks that invalid UTF-8 is counted by its bytes and shown as U+FFFD, and that long values are cut.
func TestBytes(t *testing.T) {
	values := []string{"\xff", "\xfe", "\xff", strings.Repeat("x", 2000)}
	w := New(1)
	w.Records(int64(len(values)))
	for _, v := range values {
		w.Value(0, []byte(v), false)
	}
	c := w.Profile([]string{"a"}).Columns[0]
	if c.Distinct != 3 || c.Max != "\uFFFD" || c.Frequent[0].Count != 2 || len(c.Min) != maxCompared || !c.Frequent[1].Cut || len(c.Frequent[1].Value) != maxKept {
		t.Errorf("%+v", c)
	}
}
