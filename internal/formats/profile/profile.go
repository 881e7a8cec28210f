package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFrequent is the largest number of frequent values of a column in a profile.
const maxFrequent = 10

// Profile is the profile of an input. Its JSON form is for programs: fields may be added.
type Profile struct {
	Records  int64    `json:"records"`  // counted records
	Rejected int64    `json:"rejected"` // bad records
	Filtered int64    `json:"filtered"` // records that the job's filter excluded
	Bytes    int64    `json:"bytes"`    // of the input that was read, as a build counts them
	Parts    int      `json:"parts"`    // parts of the input that were read
	OfParts  int      `json:"of_parts"`
	Columns  []Column `json:"columns"`
}

// Column is the profile of a column. NULLs and empty texts are not counted as values.
type Column struct {
	Name          string     `json:"name"`
	Kind          Kind       `json:"kind"`
	Layout        string     `json:"layout,omitempty"` // of dates
	Values        int64      `json:"values"`
	Nulls         int64      `json:"nulls"`
	Empty         int64      `json:"empty"`
	Distinct      int64      `json:"distinct"`
	Estimated     bool       `json:"distinct_estimated,omitempty"`
	DistinctError float64    `json:"distinct_error,omitempty"` // the standard error of an estimate, as a share
	Min           string     `json:"min,omitempty"`            // the text of the input, up to 1,024 bytes
	Max           string     `json:"max,omitempty"`
	Whole         bool       `json:"whole,omitempty"`  // numbers without a fraction
	Digits        bool       `json:"digits,omitempty"` // values consist of digits only
	Shortest      int64      `json:"shortest"`         // bytes of the shortest value
	Longest       int64      `json:"longest"`          //
	Histogram     *Histogram `json:"histogram,omitempty"`
	Frequent      []Frequent `json:"frequent,omitempty"`       // the most frequent values, in descending order
	FrequentError int64      `json:"frequent_error,omitempty"` // counts are too low by at most this; a value that is not counted may occur this often
	Hidden        bool       `json:"hidden,omitempty"`         // values were removed
}

// Histogram has bars from the least to the greatest value, including empty bars between them.
type Histogram struct {
	Of   string `json:"of"` // numbers, times (milliseconds since 1970, in UTC if they have no zone) or lengths (bytes)
	Bars []Bar  `json:"bars"`
}

// The kinds of histograms.
const (
	OfNumbers = "numbers"
	OfTimes   = "times"
	OfLengths = "lengths"
)

// Bar counts the numbers that are at least From and less than To. If both are equal, it counts that number.
type Bar struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int64   `json:"count"`
}

// Frequent is a frequent value.
type Frequent struct {
	Value string `json:"value"`         // its first 128 bytes
	Cut   bool   `json:"cut,omitempty"` // the value is longer
	Count int64  `json:"count"`         // at least this many occurrences
}

// Share returns n as a share of the records.
func (p *Profile) Share(n int64) float64 {
	return float64(n) / float64(max(p.Records, 1))
}

// Whole reports whether all of the input was read.
func (p *Profile) Whole() bool { return p.Parts == p.OfParts }

// Profile returns the profile of the counts, for columns with the given names.
func (t *Tally) Profile(names []string) *Profile {
	p := &Profile{Records: t.records, Columns: []Column{}}
	for i := range t.columns {
		p.Columns = append(p.Columns, t.columns[i].column(names[i], t.records))
	}
	return p
}

func (c *column) column(name string, records int64) Column {
	c.settle()
	n := Column{Name: name, Nulls: c.nulls, Empty: c.empty, Values: records - c.nulls - c.empty}
	n.Kind, n.Layout = c.kinds.kind()
	if n.Kind == None {
		return n
	}
	n.Digits, n.Shortest, n.Longest = c.digits, int64(c.lengths.low), int64(c.lengths.high)
	n.Histogram = &Histogram{Of: OfLengths}
	drawn, least, greatest := &c.lengths, c.least, c.greatest
	switch n.Kind {
	case Number:
		n.Histogram.Of, n.Whole = OfNumbers, c.whole
		drawn, least, greatest = &c.numbers, c.low.text, c.high.text
	case Date:
		n.Histogram.Of, drawn = OfTimes, &c.numbers
	}
	if n.Kind != Number || c.whole {
		drawn.coarsen()
	}
	n.Histogram.Bars, n.Min, n.Max = drawn.bars(), valid(least), valid(greatest)
	exact := false
	if n.Distinct, exact = c.frequent.distinct(); !exact {
		n.Distinct, n.Estimated, n.DistinctError = min(n.Distinct, n.Values), true, DistinctError
	}
	n.Frequent, n.FrequentError = c.frequent.first(), c.frequent.taken
	return n
}

// first returns the most frequent values whose counts are more than twice the possible error.
func (f *frequent) first() (list []Frequent) {
	places := make([]*counted, 0, len(f.values))
	for i := range f.values {
		if v := &f.values[i]; v.count > 2*f.taken {
			places = append(places, v)
		}
	}
	slices.SortFunc(places, func(a, b *counted) int {
		return cmp.Or(cmp.Compare(b.count, a.count), slices.Compare(f.textOf(a), f.textOf(b)), cmp.Compare(a.hash, b.hash))
	})
	for _, v := range places[:min(len(places), maxFrequent)] {
		list = append(list, Frequent{valid(f.textOf(v)), v.length > v.kept, v.count})
	}
	return list
}

// valid returns text as UTF-8, with U+FFFD in place of invalid bytes.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// Hide removes the values of a column, and leaves counts and lengths.
func (c *Column) Hide() {
	c.Hidden, c.Min, c.Max, c.Frequent = true, "", "", nil
	if h := c.Histogram; h != nil && h.Of != OfLengths {
		c.Histogram = nil
	}
}

// Label returns the text of a number on the histogram's axis.
func (h *Histogram) Label(x float64) string {
	if h.Of != OfTimes {
		return number(x)
	}
	layout := "2006-01-02 15:04"
	if b := h.Bars[0]; b.To-b.From >= 24*60*60*1000 {
		layout = time.DateOnly
	}
	return time.UnixMilli(int64(x)).UTC().Format(layout)
}

// number returns a short decimal text of a number.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
