package expectation

import (
	"bytes"
	"regexp"
	"time"

	"bulkload/internal/formats/celltype"
	"bulkload/pkg/keygen"
)

// A Kind is the kind of an expectation.
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

// A Check is one expectation. It is shared by goroutines and not changed.
type Check struct {
	Name   string // with its bounds, for people
	Column string // empty: it is about the records
	Kind   Kind
	Warn   bool // it fails no job

	counted string // what is counted for it: with other bounds the same
	most    limit
	values  map[string]struct{}
	pattern *regexp.Regexp
	bound   bound
	dates   *keygen.Dates
	within  time.Duration

	least, greatest *int64
	last            int // earlier jobs to compare with; 0: bounds
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

// holds reports whether a value is as the check expects. It is for kinds that look at one value alone.
func (c *Check) holds(value []byte, digits *[celltype.MaxDigits]byte) bool {
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

// compare says on which side of the bound a value is: as numbers if both are, else by their bytes.
func (b *bound) compare(value []byte, digits *[celltype.MaxDigits]byte) int {
	if b.ok {
		if n, ok := ParseNumber(value, digits); ok {
			return n.Compare(b.number)
		}
	}
	return bytes.Compare(value, b.text)
}
