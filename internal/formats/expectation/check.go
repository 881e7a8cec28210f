package expectation

import (
	"bytes"
	"regexp"
	"time"

	"bulkload/internal/formats/celltype"
	"bulkload/pkg/keygen"
)

// A Kind is a kind of expectation.
type Kind string

// The kinds, by their fields in a job file.
const (
	Rows    Kind = "rows"
	Nulls   Kind = "nulls"
	Values  Kind = "values"
	Matches Kind = "matches"
	Min     Kind = "min"
	Max     Kind = "max"
	Unique  Kind = "unique"
	Newest  Kind = "newest_within"
)

// The severities.
const (
	Fail = "fail"
	Warn = "warn"
)

// A Check is one expectation. It is immutable and shared by goroutines.
type Check struct {
	Name   string // with its limits, for messages
	Column string // empty: the check is about the records
	Kind   Kind
	Warn   bool // a failure does not fail the job

	counted string // identifies its counts, without limits that are applied to them; empty: rows
	most    limit
	values  map[string]struct{}
	pattern *regexp.Regexp
	bound   bound
	dates   *keygen.Dates
	within  time.Duration

	least, greatest *int64
	last            int // earlier jobs to compare with; 0: compare with least and greatest
}

// Columns returns the columns that checks are about, each once.
func Columns(checks []*Check) (names []string) {
	seen := map[string]bool{"": true}
	for _, c := range checks {
		if !seen[c.Column] {
			seen[c.Column] = true
			names = append(names, c.Column)
		}
	}
	return names
}

// OfKind returns the first check of a kind, nil if there is none.
func OfKind(checks []*Check, k Kind) *Check {
	for _, c := range checks {
		if c.Kind == k {
			return c
		}
	}
	return nil
}

// accepts reports whether a value meets the check. It is for kinds that check each value separately.
func (c *Check) accepts(value []byte, digits *[celltype.MaxDigits]byte) bool {
	switch c.Kind {
	case Values:
		_, ok := c.values[string(value)]
		return ok
	case Matches:
		return c.pattern.Match(value)
	case Min:
		return c.bound.compare(value, digits) >= 0
	case Max:
		return c.bound.compare(value, digits) <= 0
	}
	return true
}

// A bound is a number, or a text.
type bound struct {
	text   []byte
	number Number
	ok     bool // it is a number
}

func newBound(text string) bound {
	b := bound{text: []byte(text)}
	var digits [celltype.MaxDigits]byte
	if b.number, b.ok = ParseNumber(b.text, &digits); b.ok {
		b.number = b.number.Clone()
	}
	return b
}

// compare compares a value with the bound: as numbers if both are numbers, else by their bytes.
func (b *bound) compare(value []byte, digits *[celltype.MaxDigits]byte) int {
	if b.ok {
		if n, ok := ParseNumber(value, digits); ok {
			return n.Compare(b.number)
		}
	}
	return bytes.Compare(value, b.text)
}
