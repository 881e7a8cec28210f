package expectation

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// value is a value of a record, nil for NULL.
type value = *string

// randomValue draws numbers in many forms, dates, words and similar texts.
func randomValue(r *rand.Rand) value {
	words := []string{"A", "B", "C", "", "a", "AB", "x y", "é", "12abc", "-", ".", "1e", "0", "-0", "+0.0", "00", "1", "1.0", "01", "1e0", "10e-1", "-1", "100", "1e2", "99.99", "1e400", "-1e400",
		"18446744073709551616", "18446744073709551616.000000000000000000001", "0.1", "0.10", ".1", "1.", "2026-11-20", "2026-11-25", "2026-11-26", "2026-02-30", "2026-1-1"}
	var s string
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		s = fmt.Sprint(r.IntN(40) - 20)
	case 2:
		s = fmt.Sprintf("%d.%0*d", r.IntN(9)-4, 1+r.IntN(3), r.IntN(10))
	default:
		s = words[r.IntN(len(words))]
	}
	return &s
}

// randomAsked draws an expectation of a column.
func randomAsked(r *rand.Rand, column string) Asked {
	a := Asked{Column: column}
	if r.IntN(3) == 0 {
		a.Severity = Warn
	}
	text := func(of ...string) *string { return &of[r.IntN(len(of))] }
	bounds := []string{"0", "1", "1.0", "-5", "1e2", "99.99", "B", "m", "18446744073709551616", "2026-11-25"}
	for a.Nulls+a.Matches+a.NewestWithin == "" && a.Values == nil && a.Min+a.Max == "" && !a.Unique {
		switch r.IntN(7) {
		case 0:
			a.Nulls = *text("0", "3", "10%", "17.5%", "100%", "0.01%")
		case 1:
			a.Values = []Word{"A", "B", "C", "1", "2026-11-20"}[:1+r.IntN(5)]
		case 2:
			a.Matches = *text("[A-Z]+", "A|B", "-?[0-9]+", ".*", "(?i)ab?", "x")
		case 3:
			a.Min = Word(*text(bounds...))
		case 4:
			a.Max = Word(*text(bounds...))
		case 5:
			a.Unique = true
		case 6:
			a.NewestWithin, a.Layout = *text("1d", "3d", "36h", "400d"), "yyyy-MM-dd"
		}
	}
	return a
}

var readAt = time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)

var javaDecimal = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// plainCompare compares a value with a bound, both as numbers if they are numbers, else as text.
func plainCompare(v, bound string) int {
	if javaDecimal.MatchString(v) && javaDecimal.MatchString(bound) {
		a, _ := new(big.Rat).SetString(strings.TrimSuffix(v, "."))
		b, _ := new(big.Rat).SetString(bound)
		return a.Cmp(b)
	}
	return strings.Compare(v, bound)
}

// plainly computes the result of an expectation by a simple pass over all values of the column.
func plainly(a Asked, all []value) (failed, checked int64, met bool) {
	var values []string
	for _, v := range all {
		if v != nil {
			values = append(values, *v)
		}
	}
	count := func(bad func(i int, v string) bool) {
		checked = int64(len(values))
		for i, v := range values {
			if bad(i, v) {
				failed++
			}
		}
		met = failed == 0
	}
	switch {
	case a.Nulls != "":
		failed, checked = int64(len(all)-len(values)), int64(len(all))
		number, share := strings.CutSuffix(a.Nulls, "%")
		most, _ := new(big.Rat).SetString(number)
		if share {
			most.Mul(most, big.NewRat(checked, 100))
		}
		met = big.NewRat(failed, 1).Cmp(most) <= 0
	case a.Values != nil:
		count(func(_ int, v string) bool { return !slices.Contains(a.Values, Word(v)) })
	case a.Matches != "":
		whole := regexp.MustCompile("^(?:" + a.Matches + ")$")
		count(func(_ int, v string) bool { return !whole.MatchString(v) })
	case a.Min != "":
		count(func(_ int, v string) bool { return plainCompare(v, string(a.Min)) < 0 })
	case a.Max != "":
		count(func(_ int, v string) bool { return plainCompare(v, string(a.Max)) > 0 })
	case a.Unique:
		count(func(i int, v string) bool { return slices.Contains(values[:i], v) })
	default:
		newest := time.Time{}
		count(func(_ int, v string) bool {
			d, err := time.Parse("2006-01-02", v)
			if newest.Before(d) {
				newest = d
			}
			return err != nil
		})
		days := map[string]time.Duration{"1d": 24, "3d": 72, "36h": 36, "400d": 9600}[a.NewestWithin]
		met = met && !newest.IsZero() && readAt.Sub(newest) <= days*time.Hour
	}
	return failed, checked, met
}

// TestRandomExpectations compares the result of counting in parts by several goroutines with that of a simple implementation.
func TestRandomExpectations(t *testing.T) {
	r := testcheck.Rand(t)
	met := map[Kind][2]int{}
	for range race.Cases(t, 2000) {
		columns := []string{"a", "b", "c"}
		var asked []Asked
		for range 1 + r.IntN(6) {
			asked = append(asked, randomAsked(r, columns[r.IntN(3)]))
		}
		checks, errs := Parse(asked)
		if errs != nil {
			t.Fatal(errs)
		}
		records := make([][3]value, r.IntN(60))
		of := map[string][]value{}
		alike := r.IntN(4) // columns with few kinds of values can meet expectations
		for i := range records {
			for c := range columns {
				v := randomValue(r)
				if alike > 0 {
					v = [][]value{{ptr("A")}, {ptr(fmt.Sprint(i + 1))}, {nil, ptr("2026-11-25"), ptr("2026-11-26")}}[alike-1][i%[]int{1, 1, 3}[alike-1]]
				}
				records[i][c] = v
				of[columns[c]] = append(of[columns[c]], v)
			}
		}
		counts := countInParts(t, r, checks, columns, records)
		judged, err := counts.Judge(checks, nil)
		testcheck.Must(t, err)
		fails := false
		for i, f := range judged.Findings {
			a := asked[i]
			failed, checked, holds := plainly(a, of[a.Column])
			if f.Failed != failed || f.Checked != checked || (f.Status == Passed) != holds || f.Column != a.Column {
				b, _ := json.Marshal(a)
				c, _ := json.Marshal(of[a.Column])
				t.Fatalf("%+v, want %d of %d, met %v\n%s\n%s", f, failed, checked, holds, b, c)
			}
			fails = fails || !holds && a.Severity != Warn
			n := met[f.Kind]
			n[map[bool]int{false: 0, true: 1}[holds]]++
			met[f.Kind] = n
		}
		if err := judged.Err(); (err != nil) != fails {
			t.Fatalf("%v, and it fails: %v", err, fails)
		}
	}
	if !testing.Short() {
		for kind, n := range met {
			if n[0] == 0 || n[1] == 0 {
				t.Errorf("%s: %d not met, %d met", kind, n[0], n[1])
			}
		}
	}
}

func ptr(s string) *string { return &s }

// countInParts counts records in parts that are read one after the other, each by several goroutines. Unique values need a single part.
func countInParts(t *testing.T, r *rand.Rand, checks []*Check, columns []string, records [][3]value) (sum *Counts) {
	t.Helper()
	parts := 1 + r.IntN(3)
	if OfKind(checks, Unique) != nil {
		parts = 1
	}
	for p := range parts {
		c, err := NewCounter(checks, columns, 1<<20, readAt)
		testcheck.Must(t, err)
		part := records[len(records)*p/parts : len(records)*(p+1)/parts]
		var wg sync.WaitGroup
		for w := range 2 {
			wg.Go(func() {
				tally := c.Tally()
				defer tally.End()
				for _, record := range part[len(part)*w/2 : len(part)*(w+1)/2] {
					tally.Record()
					for i, at := range tally.Columns() {
						if v := record[at]; v == nil {
							tally.Value(i, nil, true)
						} else {
							tally.Value(i, []byte(*v), false)
						}
					}
				}
			})
		}
		wg.Wait()
		b, err := json.Marshal(c.Counts()) // the form of parts and journals
		testcheck.Must(t, err)
		again := &Counts{}
		testcheck.Must(t, json.Unmarshal(b, again))
		if !again.Same(c.Counts()) {
			t.Fatalf("%s is something else", b)
		}
		sum = sum.Add(again)
	}
	if sum.Records != int64(len(records)) {
		t.Fatalf("%d of %d records", sum.Records, len(records))
	}
	return sum
}
