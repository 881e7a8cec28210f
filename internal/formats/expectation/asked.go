package expectation

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/formats/yamlfile"
	"bulkload/pkg/keygen"

	"github.com/goccy/go-yaml/ast"
)

// Asked is an entry of a job file's list: the expectations for the records, or for the values of one column. Each kind that is set
// is a separate expectation.
type Asked struct {
	Column   string     `yaml:"column" json:"column,omitempty"`     // empty: for the records
	Severity string     `yaml:"severity" json:"severity,omitempty"` // fail (default) or warn
	Rows     *AskedRows `yaml:"rows" json:"rows,omitempty"`

	Nulls        string `yaml:"nulls" json:"nulls,omitempty"`   // at most: N or P%
	Values       []Word `yaml:"values" json:"values,omitempty"` // allowed values
	Matches      string `yaml:"matches" json:"matches,omitempty"`
	Min          Word   `yaml:"min" json:"min,omitempty"`
	Max          Word   `yaml:"max" json:"max,omitempty"`
	Unique       bool   `yaml:"unique" json:"unique,omitempty"`
	NewestWithin string `yaml:"newest_within" json:"newest_within,omitempty"`
	Layout       string `yaml:"layout" json:"layout,omitempty"` // of dates
	Zone         string `yaml:"zone" json:"zone,omitempty"`     // of dates
}

// Expects reports whether the entry has an expectation.
func (a *Asked) Expects() bool {
	return a.Rows != nil || a.Nulls != "" || a.Values != nil || a.Matches != "" || a.Min != "" || a.Max != "" || a.Unique || a.NewestWithin != ""
}

// Drop removes the expectation of a kind from the entry.
func (a *Asked) Drop(k Kind) {
	switch k {
	case Rows:
		a.Rows = nil
	case Nulls:
		a.Nulls = ""
	case Values:
		a.Values = nil
	case Matches:
		a.Matches = ""
	case Min:
		a.Min = ""
	case Max:
		a.Max = ""
	case Unique:
		a.Unique = false
	case Newest:
		a.NewestWithin, a.Layout, a.Zone = "", "", ""
	}
}

// Word is a text, a number or a boolean, unchanged from the file: 1.50 stays 1.50.
type Word string

// UnmarshalYAML keeps the text of the file.
func (w *Word) UnmarshalYAML(node ast.Node) error {
	text, ok := yamlfile.Text(node)
	if !ok {
		return yamlfile.BadNode(node, "it takes a text or a number")
	}
	*w = Word(text)
	return nil
}

// AskedRows is the expected number of records.
type AskedRows struct {
	Min    *int64 `yaml:"min" json:"min,omitempty"`
	Max    *int64 `yaml:"max" json:"max,omitempty"`
	Within string `yaml:"within" json:"within,omitempty"` // P% of the median of earlier jobs
	OfLast int    `yaml:"of_last" json:"of_last,omitempty"`
}

// MaxEarlier is the largest number of earlier jobs that an expectation compares with.
const MaxEarlier = 100

// Parse returns the checks of a list. The errors name the entry.
func Parse(list []Asked) (checks []*Check, errs []error) {
	for i, a := range list {
		p := parser{asked: a}
		p.parse()
		for _, err := range p.errs {
			errs = append(errs, fmt.Errorf("%s: %w", a.label(i), err))
		}
		checks = append(checks, p.checks...)
	}
	return checks, errs
}

func (a Asked) label(i int) string {
	if a.Column != "" {
		return fmt.Sprintf("entry %d (column %s)", i+1, a.Column)
	}
	return fmt.Sprintf("entry %d", i+1)
}

// parser parses one entry into checks.
type parser struct {
	asked  Asked
	checks []*Check
	errs   []error
}

// add adds a check, or its error. definition identifies what the check counts; it omits limits that are applied to the counts.
func (p *parser) add(c *Check, err error, definition ...any) {
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("%s: %w", c.Kind, err))
		return
	}
	c.Column, c.Warn = p.asked.Column, p.asked.Severity == Warn
	if c.Kind != Rows {
		b, _ := json.Marshal(append([]any{c.Column}, definition...)) // texts only: no error
		c.counted = fmt.Sprintf("%s %x", c.Kind, sha256.Sum256(b))[:len(c.Kind)+17]
	}
	p.checks = append(p.checks, c)
}

func (p *parser) parse() {
	a := p.asked
	if s := a.Severity; s != "" && s != Fail && s != Warn {
		p.errs = append(p.errs, fmt.Errorf("severity %q is invalid: want fail or warn", s))
	}
	if a.Rows != nil {
		p.rows(*a.Rows)
	}
	if a.Nulls != "" {
		most, err := parseLimit(a.Nulls)
		p.add(&Check{Kind: Nulls, Name: "nulls at most " + a.Nulls, most: most}, err)
	}
	if a.Values != nil {
		c := &Check{Kind: Values, Name: fmt.Sprintf("values (%d are allowed)", len(a.Values)), values: map[string]struct{}{}}
		for _, v := range a.Values {
			c.values[string(v)] = struct{}{}
		}
		var err error
		if len(a.Values) == 0 {
			err = errors.New("the list is empty")
		}
		sorted := slices.Clone(a.Values)
		slices.Sort(sorted)
		p.add(c, err, slices.Compact(sorted))
	}
	if a.Matches != "" {
		re, err := regexp.Compile(a.Matches) // first by itself: a pattern that closes the group is invalid, and messages have its text
		if err == nil {
			if re, err = regexp.Compile(`\A(?:` + a.Matches + `)\z`); err != nil { // \Q without \E quotes to the end
				re, err = regexp.Compile(`\A(?:` + a.Matches + `\E)\z`)
			}
		}
		p.add(&Check{Kind: Matches, Name: "matches a pattern", pattern: re}, err, a.Matches)
	}
	if a.Min != "" {
		p.add(&Check{Kind: Min, Name: "min " + string(a.Min), bound: newBound(string(a.Min))}, nil, a.Min)
	}
	if a.Max != "" {
		p.add(&Check{Kind: Max, Name: "max " + string(a.Max), bound: newBound(string(a.Max))}, nil, a.Max)
	}
	if a.Unique {
		p.add(&Check{Kind: Unique, Name: "unique"}, nil)
	}
	if a.NewestWithin != "" {
		p.newest()
	} else if a.Layout != "" || a.Zone != "" {
		p.errs = append(p.errs, errors.New("layout and zone are only for newest_within"))
	}
	values := slices.ContainsFunc(p.checks, func(c *Check) bool { return c.Kind != Rows })
	switch {
	case len(p.errs) > 0:
	case len(p.checks) == 0:
		p.errs = append(p.errs, errors.New("it expects nothing: say rows, nulls, values, matches, min, max, unique or newest_within"))
	case a.Rows != nil && (a.Column != "" || values):
		p.errs = append(p.errs, errors.New("rows counts records: put expectations of a column into an entry of their own"))
	case values && a.Column == "":
		p.errs = append(p.errs, errors.New("it needs a column"))
	}
}

func (p *parser) rows(r AskedRows) {
	if r.Min != nil || r.Max != nil {
		name, err := "rows", error(nil)
		for _, b := range []struct {
			word  string
			bound *int64
		}{{" at least ", r.Min}, {" at most ", r.Max}} {
			if b.bound == nil {
				continue
			}
			if name += b.word + strconv.FormatInt(*b.bound, 10); *b.bound < 0 {
				err = fmt.Errorf("%d is below 0", *b.bound)
			}
		}
		if r.Min != nil && r.Max != nil && *r.Min > *r.Max {
			err = errors.New("min is above max")
		}
		p.add(&Check{Kind: Rows, Name: name, least: r.Min, greatest: r.Max}, err)
	}
	if r.Within == "" && r.OfLast == 0 {
		if r.Min == nil && r.Max == nil {
			p.add(&Check{Kind: Rows}, errors.New("say min, max, or within and of_last"))
		}
		return
	}
	within, err := parseLimit(r.Within)
	switch {
	case r.Within == "" || r.OfLast == 0:
		err = errors.New("within and of_last go together, such as within: 20%, of_last: 7")
	case err == nil && within.share == nil:
		err = fmt.Errorf("within %q is not a share, such as 20%%", r.Within)
	case r.OfLast < 0 || r.OfLast > MaxEarlier:
		err = fmt.Errorf("of_last is from 1 to %d", MaxEarlier)
	}
	p.add(&Check{Kind: Rows, Name: fmt.Sprintf("rows within %s of the last %d jobs", r.Within, r.OfLast), most: within, last: r.OfLast}, err)
}

func (p *parser) newest() {
	a := p.asked
	c := &Check{Kind: Newest, Name: "newest within " + a.NewestWithin}
	var err error
	if c.within, err = parseSpan(a.NewestWithin); err == nil {
		c.dates, err = keygen.NewDates(cmp.Or(a.Layout, keygen.TimestampLayout), a.Zone)
	}
	p.add(c, err, cmp.Or(a.Layout, keygen.TimestampLayout), cmp.Or(a.Zone, "UTC"))
}

// parseSpan parses whole days, such as 2d, or a duration that time.ParseDuration accepts.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time span such as 2d or 36h", text)
	}
	return d, nil
}

// A limit is a number of records or a share of them.
type limit struct {
	share *big.Rat // 1: all; nil: the limit is count
	count int64
}

var plainNumber = regexp.MustCompile(`^[0-9]{1,18}(\.[0-9]{1,18})?$`)

func parseLimit(text string) (l limit, err error) {
	number, share := strings.CutSuffix(text, "%")
	right := plainNumber.MatchString(number)
	switch {
	case right && share:
		l.share, _ = new(big.Rat).SetString(number)
		l.share.Quo(l.share, big.NewRat(100, 1))
	case right:
		l.count, err = strconv.ParseInt(number, 10, 64)
	}
	if !right || err != nil {
		return l, fmt.Errorf("%q is neither a number nor a share, such as 100 or 0.5%%", text)
	}
	return l, nil
}

// allows reports whether a count, out of a total, is within the limit.
func (l limit) allows(count int64, of *big.Rat) bool {
	if l.share == nil {
		return count <= l.count
	}
	return new(big.Rat).SetInt64(count).Cmp(new(big.Rat).Mul(l.share, of)) <= 0
}
