package expectation

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"

	"github.com/goccy/go-yaml"
)

// parse returns the checks of a list in the form of a job file.
func parse(t testing.TB, text string) ([]*Check, []error) {
	t.Helper()
	var list []Asked
	testcheck.Must(t, yaml.UnmarshalWithOptions([]byte(text), &list, yaml.Strict()))
	return Parse(list)
}

func must(t testing.TB, text string) []*Check {
	t.Helper()
	checks, errs := parse(t, text)
	if errs != nil {
		t.Fatal(errs)
	}
	return checks
}

// TestParse checks the errors for invalid expectations, which name the entry or the setting.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"[{column: a}]":                                "entry 1 (column a): it expects nothing",
		"[{nulls: 1%}]":                                "entry 1: it needs a column",
		"[{column: a, rows: {min: 1}}]":                "rows counts records",
		"[{nulls: 1%, rows: {min: 1}}]":                "rows counts records",
		"[{rows: {}}]":                                 "rows: say min, max, or within and of_last",
		"[{rows: {min: -1}}]":                          "rows: -1 is below 0",
		"[{rows: {min: 3, max: 2}}]":                   "rows: min is above max",
		"[{rows: {within: 20%}}]":                      "within and of_last go together",
		"[{rows: {of_last: 3}}]":                       "within and of_last go together",
		"[{rows: {within: 20, of_last: 7}}]":           `within "20" is not a share`,
		"[{rows: {within: 20%, of_last: -1}}]":         "of_last is from 1 to 100",
		"[{column: a, nulls: -1}]":                     `nulls: "-1" is neither a number nor a share`,
		"[{column: a, nulls: x%}]":                     `"x%" is neither`,
		"[{column: a, values: []}]":                    "values: the list is empty",
		"[{column: a, matches: '('}]":                  "matches: error parsing regexp",
		"[{column: a, matches: 'a)|(?:b'}]":            "matches: error parsing regexp",
		"[{column: a, newest_within: soon}]":           `"soon" is not a time span`,
		"[{column: a, newest_within: 2d, layout: q}]":  "newest_within: ",
		"[{column: a, newest_within: 2d, zone: X/Y}]":  "newest_within: ",
		"[{column: a, unique: true, zone: UTC}]":       "layout and zone are only for newest_within",
		"[{column: a, unique: true, severity: maybe}]": `severity "maybe" is invalid`,
	} {
		if _, errs := parse(t, text); !strings.Contains(errors.Join(errs...).Error(), want) {
			t.Errorf("%s: %v, want %s", text, errs, want)
		}
	}
	checks := must(t, "[{rows: {min: 1, max: 9, within: 5%, of_last: 2}}, {column: a, nulls: 3, values: [1, 1.50, true, x], min: 007, max: 1e3, matches: a, unique: true, newest_within: 90m}]")
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, "; "); got != "rows at least 1 at most 9; rows within 5% of the last 2 jobs; nulls at most 3; values (4 are allowed); matches a pattern; min 007; max 1e3; unique; newest within 90m" {
		t.Error(got)
	}
	for _, v := range []string{"1", "1.50", "true", "x"} {
		if _, ok := checks[3].values[v]; !ok {
			t.Errorf("%s is not allowed: %v", v, checks[3].values)
		}
	}
}

// TestRowsOfEarlierJobs checks the comparison with the median of the newest jobs, with exact shares.
func TestRowsOfEarlierJobs(t *testing.T) {
	earlier := func(list ...int64) func(int) []int64 { return func(int) []int64 { return list } }
	for _, c := range []struct {
		within  string
		records int64
		earlier func(int) []int64
		want    string
	}{
		{"20%", 100, nil, Unchecked},
		{"20%", 100, earlier(90, 110), Unchecked},
		{"20%", 80, earlier(100, 1, 100000), Passed},
		{"20%", 79, earlier(100, 1, 100000), Failed},
		{"20%", 121, earlier(100, 1, 100000), Failed},
		{"0%", 100, earlier(100, 100, 99, 5), Passed},
		{"0.57%", 10057, earlier(10000, 10000, 10000), Passed},
		{"0.57%", 10058, earlier(10000, 10000, 10000), Failed},
		{"5%", 0, earlier(0, 0, 0), Passed},
	} {
		checks := must(t, "[{rows: {within: "+c.within+", of_last: 3}}]")
		judged, err := (&Counts{Records: c.records}).Judge(checks, c.earlier)
		testcheck.Must(t, err)
		if f := judged.Findings[0]; f.Status != c.want || (judged.Err() != nil) != (c.want == Failed) {
			t.Errorf("%s of %d: %+v, want %s", c.within, c.records, f, c.want)
		}
	}
}

// TestOtherExpectationsOfTheSameCounts checks that bounds, severity and order may change between counting and judging, but not the values to count.
func TestOtherExpectationsOfTheSameCounts(t *testing.T) {
	was := must(t, "[{column: a, nulls: 1%}, {column: b, values: [x, y]}, {column: b, newest_within: 2d, layout: yyyyMMdd}, {column: a, unique: true}]")
	c, err := NewCounter(was, []string{"a", "b"}, 1<<20, readAt)
	testcheck.Must(t, err)
	for text, want := range map[string]bool{
		"[{column: a, nulls: 9, severity: warn}]":                                true,
		"[{column: b, values: [y, x]}, {rows: {min: 5}}]":                        true,
		"[{column: b, newest_within: 5d, layout: yyyyMMdd, zone: UTC}]":          true,
		"[{column: b, nulls: 1%}]":                                               false,
		"[{column: b, values: [x]}]":                                             false,
		"[{column: b, newest_within: 2d, layout: yyyyMMdd, zone: 'Asia/Tokyo'}]": false,
		"[{column: a, min: 1}]":                                                  false,
	} {
		now := must(t, text)
		if got := c.Counts().Covers(now); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if _, err := c.Counts().Judge(now, nil); errors.Is(err, ErrNotCounted) == want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if (*Counts)(nil).Covers(was) || !(*Counts)(nil).Covers(nil) {
		t.Error("of a job that expected nothing")
	}
	if _, err := NewCounter(was, []string{"a"}, 0, readAt); err == nil || !strings.Contains(err.Error(), `no column "b"`) {
		t.Error(err)
	}
}

// TestUniqueIsNeverWrong checks that the result is undecided without memory for all values, and right otherwise.
func TestUniqueIsNeverWrong(t *testing.T) {
	checks := must(t, "[{column: a, unique: true}]")
	for _, memory := range []int64{0, 100_000, 1 << 20} {
		for _, twice := range []int{-1, 10, 19_999} {
			c, err := NewCounter(checks, []string{"a"}, memory, readAt)
			testcheck.Must(t, err)
			tally := c.Tally()
			for i := range 20_000 {
				tally.Value(0, fmt.Append(nil, i), false)
			}
			if twice >= 0 {
				tally.Value(0, fmt.Append(nil, twice), false)
			}
			tally.End()
			judged, err := c.Counts().Judge(checks, nil)
			testcheck.Must(t, err)
			f := judged.Findings[0]
			want := Undecided
			if memory == 1<<20 {
				want = map[bool]string{true: Failed, false: Passed}[twice >= 0]
			}
			if f.Status != want || (judged.Err() != nil) != (want != Passed) {
				t.Errorf("memory %d, %d is there twice: %+v", memory, twice, f)
			}
		}
	}
}

// TestCountingDoesNotAllocate checks that only expectations of unique values allocate.
func TestCountingDoesNotAllocate(t *testing.T) {
	checks := must(t, "[{column: a, nulls: 1%, values: [A, B], matches: '[A-Z]+[0-9]*', min: 5, max: x, newest_within: 2d, layout: yyyy-MM-dd}, {column: b, min: 5.5, matches: '.*'}]")
	c, err := NewCounter(checks, []string{"a", "b"}, 0, readAt)
	testcheck.Must(t, err)
	tally := c.Tally()
	values := [][]byte{[]byte("2026-11-25"), []byte("2026-01-31"), nil}
	all := func() {
		for i := range 1000 {
			tally.Record()
			tally.Value(0, values[i%3], values[i%3] == nil)
			tally.Value(1, values[(i+1)%3], false)
		}
	}
	if n := testing.AllocsPerRun(3, all); n != 0 && !race.Reduced(t) { // with the detector, sync.Pool drops the objects of regexp
		t.Errorf("%v allocations", n)
	}
}

// TestMessages checks that messages name expectations, columns and counts, but no values.
func TestMessages(t *testing.T) {
	checks := must(t, "[{rows: {min: 9}}, {column: a, nulls: 0, values: [A], unique: true, newest_within: 2d}, {column: a, matches: A, severity: warn}]")
	c, err := NewCounter(checks, []string{"a"}, 1<<20, readAt)
	testcheck.Must(t, err)
	tally := c.Tally()
	for _, v := range []string{"secret", "", "secret"} {
		tally.Record()
		tally.Value(0, []byte(v), v == "")
	}
	tally.End()
	judged, err := c.Counts().Judge(checks, nil)
	testcheck.Must(t, err)
	want := "5 expectations of the job are not met: rows at least 9: 3 records; column a, nulls at most 0: 1 of 3 records; column a, values (1 are allowed): 2 of 2 values fail; and 2 more"
	if got := judged.Err().Error(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	text := fmt.Sprint(judged.Findings)
	for _, part := range []string{"1 of 2 values is a repetition", "2 of 2 values are not dates", "column a, matches a pattern"} {
		if !strings.Contains(text, part) || strings.Contains(text, "secret") {
			t.Errorf("%s lacks %s", text, part)
		}
	}
	sum := Sum(judged.Findings, judged.Findings)
	if len(sum) != len(judged.Findings) || sum[1].Checked != 6 || sum[1].Failed != 2 {
		t.Errorf("%+v", sum)
	}
}

// TestPatternThatIsWrong checks that the error of a pattern is about its own text.
func TestPatternThatIsWrong(t *testing.T) {
	for pattern, want := range map[string]string{"[": "missing closing ]: `[`", "a)b(": "unexpected ): `a)b(`", "*": "missing argument to repetition operator: `*`"} {
		_, errs := Parse([]Asked{{Column: "a", Matches: pattern}})
		if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), `\z`) {
			t.Errorf("%q: %v, want %s", pattern, err, want)
		}
	}
}

// TestUnclosedQuote checks that a pattern may quote up to its end, as in RE2.
func TestUnclosedQuote(t *testing.T) {
	for _, pattern := range []string{`\Q1`, `\Q1\`, `x|\Qa.b`, `\Q(`, `\Qa\E`, `\Qa\Eb\Q`, `\Q`} {
		checks, errs := Parse([]Asked{{Column: "a", Matches: pattern}})
		if len(errs) > 0 {
			t.Errorf("%q: %v", pattern, errs)
			continue
		}
		plain := regexp.MustCompile(pattern)
		plain.Longest()
		for _, value := range []string{"", "1", `1\`, "x", "a.b", "axb", "(", "a", "ab", "a)", "1)", `a.b)\z`} {
			want := plain.FindString(value) == value && plain.MatchString(value)
			if got := checks[0].pattern.MatchString(value); got != want {
				t.Errorf("%q matches %q: %t, want %t", value, pattern, got, want)
			}
		}
	}
}

// TestNewestOfLongAgo checks that the earliest date of 64 bits, such as the least long for never, is not new.
func TestNewestOfLongAgo(t *testing.T) {
	checks := must(t, "[{column: a, newest_within: 1h, layout: unixms}]")
	now := time.UnixMilli(1_700_000_000_000)
	for date, want := range map[int64]string{math.MinInt64: Failed, math.MinInt64 + 1: Failed, 0: Failed, now.UnixMilli() - 3600_000: Passed, now.UnixMilli() - 3600_001: Failed, math.MaxInt64: Passed} {
		f := Finding{Status: Passed}
		f.values(checks[0], &Count{Checked: 1, Newest: &date}, &Counts{ReadAt: now})
		if f.Status != want {
			t.Errorf("%d: %s, want %s", date, f.Status, want)
		}
	}
}
