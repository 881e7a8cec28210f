package profile

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// TestExpectedOfItself checks that the values of random columns meet what their profile proposes, and that the proposal can be parsed.
func TestExpectedOfItself(t *testing.T) {
	r := testcheck.Rand(t)
	kinds := map[string]int{}
	for range race.Cases(t, 3000) {
		column := randomColumn(r, []int{1, 50, 600, 3000}[r.IntN(4)])
		p := count(t, [][]*string{column}, nil)
		p.Parts, p.OfParts, p.Columns[0].Name = 1, 1, "c"
		asked := p.Expect(time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC))
		if _, errs := expectation.Parse(asked); errs != nil {
			t.Fatal(errs)
		}
		c := p.Columns[0]
		for _, a := range asked {
			number := func(w expectation.Word) *big.Rat {
				if w == "" || c.Kind != Number {
					return nil
				}
				kinds["bounds"]++
				return exactOf(string(w))
			}
			low, high := number(a.Min), number(a.Max)
			form := regexp.MustCompile("^(" + a.Matches + ")$")
			for _, v := range column {
				if v == nil || *v == "" {
					continue
				}
				if low != nil && low.Cmp(exactOf(*v)) > 0 || high != nil && high.Cmp(exactOf(*v)) < 0 || c.Kind == Date && string(a.Min) > *v ||
					a.Matches != "" && !form.MatchString(*v) || a.Values != nil && !slices.Contains(a.Values, expectation.Word(*v)) {
					t.Fatalf("%q does not meet %+v", *v, a)
				}
			}
			percent := 0.0
			if n, _ := fmt.Sscanf(a.Nulls, "%f", &percent); n > 0 && float64(c.Nulls) > percent/100*float64(p.Records) || a.Unique && float64(c.Distinct) < keyShare*float64(c.Values) ||
				a.Rows != nil && (*a.Rows.Min > p.Records || *a.Rows.Max < p.Records) || a.Severity == "" && p.Records < manyRecords {
				t.Fatalf("%d records, %+v do not meet %+v", p.Records, c, a)
			}
			for kind, is := range map[string]bool{"values": a.Values != nil, "matches": a.Matches != "", "unique": a.Unique, "nulls": a.Nulls != "", "rows": a.Rows != nil, "date": c.Kind == Date && a.Min != ""} {
				if is {
					kinds[kind]++
				}
			}
		}
	}
	if len(kinds) != 7 {
		t.Errorf("not every kind was proposed: %v", kinds)
	}
}

// TestBounds checks the margins around numbers and how they are rounded.
func TestBounds(t *testing.T) {
	for _, tt := range [][4]string{
		{"0", "10", "0", "15"}, {"1", "10", "0", "15"}, {"-3", "-1", "-4", "0"}, {"-1", "1", "-2", "2"}, {"12345", "12399", "12000", "13000"}, {"99", "101", "98", "110"}, {"7", "7", "7", "7"},
		{"0.001", "0.003", "0", "0.004"}, {"-0.5", "0.25", "-0.88", "0.63"}, {"1000", "1000", "1000", "1000"}, {"+5", "6.", "4.5", "6.5"}, {"0", "0", "0", "0"}, {"1e5", "2e5", "", ""}, {"x", "1", "", ""},
		{"123456789012345678901234567890", "123456789012345678901234567890", "120000000000000000000000000000", "130000000000000000000000000000"},
	} {
		c := Column{Min: tt[0], Max: tt[1]}
		if low, high := c.bounds(); string(low) != tt[2] || string(high) != tt[3] {
			t.Errorf("%s to %s: %s to %s, want %s to %s", tt[0], tt[1], low, high, tt[2], tt[3])
		}
	}
	r := testcheck.Rand(t)
	for range race.Cases(t, 100_000) {
		x := big.NewRat(r.Int64N(2_000_001)-1_000_000, []int64{1, 10, 1000, 1 << 30}[r.IntN(4)])
		tenth := new(big.Rat).Abs(new(big.Rat).Quo(x, big.NewRat(10, 1)))
		for i, text := range []string{roundDown(x), roundUp(x)} {
			got, ok := new(big.Rat).SetString(text)
			if !ok || (got.Cmp(x) > 0) != (i == 1 && got.Cmp(x) != 0) || new(big.Rat).Abs(new(big.Rat).Sub(got, x)).Cmp(tenth) > 0 || len(strings.Trim(strings.Replace(text, ".", "", 1), "-0")) > 3 {
				t.Fatalf("%s is rounded to %s", x.FloatString(12), text)
			}
		}
	}
}

// TestProposals compares proposals with what they should be.
func TestProposals(t *testing.T) {
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		value   func(i int) string // NULL: a NULL
		records int
		part    bool
		want    string
	}{
		"codes":       {func(i int) string { return fmt.Sprintf("%08d", i%20) }, 2000, false, `{"column":"c","nulls":"0","matches":"[0-9]{8}"}`},
		"numbers":     {func(i int) string { return fmt.Sprint(i % 700) }, 2000, false, `{"column":"c","nulls":"0"} {"column":"c","severity":"warn","min":"0","max":"1100"}`},
		"few values":  {func(i int) string { return []string{"m", "f"}[i%2] }, 2000, false, `{"column":"c","nulls":"0"} {"column":"c","severity":"warn","values":["f","m"]}`},
		"a part":      {func(i int) string { return []string{"m", "f"}[i%2] }, 2000, true, `{"column":"c","severity":"warn","nulls":"0"} {"column":"c","severity":"warn","values":["f","m"]}`},
		"few records": {func(i int) string { return []string{"m", "f"}[i%2] }, 999, false, `{"column":"c","severity":"warn","nulls":"0"} {"column":"c","severity":"warn","values":["f","m"]}`},
		"keys":        {func(i int) string { return fmt.Sprintf("k%d", i) }, 1000, false, `{"column":"c","nulls":"0","unique":true}`},
		"fractions":   {func(i int) string { return fmt.Sprintf("%d.5", i) }, 1000, false, `{"column":"c","nulls":"0"} {"column":"c","severity":"warn","min":"0","max":"1500"}`},
		"some NULL":   {func(i int) string { return []string{"NULL", "a b"}[min(i%10, 1)] }, 2000, false, `{"column":"c","severity":"warn","nulls":"20%","values":["a b"]}`},
		"many NULL":   {func(i int) string { return []string{"NULL", "a b"}[i%2] }, 2000, false, `{"column":"c","severity":"warn","values":["a b"]}`},
		"only NULL":   {func(int) string { return "NULL" }, 2000, false, ``},
		"empty ones":  {func(i int) string { return []string{"", "a b"}[i%2] }, 2000, false, `{"column":"c","nulls":"0"}`},
		"not UTF-8":   {func(i int) string { return "\xff" }, 2000, false, `{"column":"c","nulls":"0"}`},
		"rare values": {func(i int) string { return string(rune('a' + i%9)) }, 449, false, `{"column":"c","severity":"warn","nulls":"0"}`},
		"long values": {func(int) string { return strings.Repeat("x", 200) }, 2000, false, `{"column":"c","nulls":"0"}`},
		"new dates":   {func(i int) string { return fmt.Sprintf("2026/03/%02d", 1+i%3) }, 2000, false, `{"column":"c","nulls":"0"} {"column":"c","severity":"warn","min":"2025/01/01","newest_within":"6d","layout":"yyyy/MM/dd"}`},
		"old dates":   {func(i int) string { return fmt.Sprintf("2026-02-%02d", 1+i%26) }, 2000, false, `{"column":"c","nulls":"0"} {"column":"c","severity":"warn","min":"2025-01-01"}`},
		"coming ones": {func(i int) string { return fmt.Sprintf("2026-04-%02d 10:00:00", 1+i%26) }, 2000, false, `{"column":"c","nulls":"0"} {"column":"c","severity":"warn","min":"2025-01-01"}`},
	} {
		w := New(1)
		w.Records(int64(tt.records))
		for i := range tt.records {
			v := tt.value(i)
			w.Value(0, []byte(v), v == "NULL")
		}
		p := w.Profile([]string{"c"})
		if p.Parts, p.OfParts = 1, 1; tt.part {
			p.OfParts = 2
		}
		var got []string
		for _, a := range p.Expect(now) {
			b, err := json.Marshal(a)
			testcheck.Must(t, err)
			if a.Rows == nil {
				got = append(got, string(b))
			} else if want := fmt.Sprintf(`"rows":{"min":%d,"max":%d}`, tt.records/2, 2*tt.records); !strings.Contains(string(b), want) || tt.part {
				t.Errorf("%s: %s", name, b)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s:\n%s, want\n%s", name, strings.Join(got, " "), tt.want)
		}
	}
}

// TestDates compares the layouts of random texts that are like dates with what package time makes of them.
func TestDates(t *testing.T) {
	r := testcheck.Rand(t)
	found := map[string]int{}
	for range race.Cases(t, 100_000) {
		at := time.Date(1+r.IntN(9999), time.Month(1+r.IntN(12)), 1+r.IntN(31), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000)*1e6, time.UTC)
		text := []byte(at.Format(goLayouts[r.IntN(len(goLayouts))]))
		if r.IntN(2) == 0 {
			text[r.IntN(len(text))] = "0123456789-/: T."[r.IntN(16)]
		}
		if r.IntN(20) == 0 {
			text = text[:r.IntN(len(text)+1)]
		}
		s := string(text)
		w := New(1)
		w.Records(1)
		w.Value(0, text, false)
		c := w.Profile([]string{"c"}).Columns[0]
		kind, layout := newPlain([]*string{&s}).kind()
		if c.Kind != kind || c.Layout != layout {
			t.Fatalf("%q: %s %q, want %s %q", s, c.Kind, c.Layout, kind, layout)
		}
		found[layout]++
	}
	if len(found) != len(layouts)+1 {
		t.Errorf("not every layout was there: %v", found)
	}
}

// TestLabels checks the texts of numbers and times in a histogram.
func TestLabels(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	for want, tt := range map[string]struct {
		of    string
		width float64
		x     float64
	}{
		"2026-03-05": {OfTimes, day, 1772668800000}, "2026-03-05 00:01": {OfTimes, day - 1, 1772668860000}, "1969-12-31": {OfTimes, 2 * day, -1},
		"12": {OfNumbers, 1, 12}, "-0.125": {OfNumbers, 1, -0.125}, "1e+15": {OfLengths, 1, 1e15}, "999999999999999": {OfLengths, 1, 999999999999999}, "0.333333": {OfNumbers, 1, 1.0 / 3},
	} {
		h := Histogram{Of: tt.of, Bars: []Bar{{From: tt.x, To: tt.x + tt.width}}}
		if got := h.Label(tt.x); got != want {
			t.Errorf("%f of %s: %s, want %s", tt.x, tt.of, got, want)
		}
	}
	if p := (Profile{Records: 8}); p.Share(2) != 0.25 || (&Profile{}).Share(0) != 0 {
		t.Error(p.Share(2))
	}
}
