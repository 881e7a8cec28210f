package expectation

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bulkload/pkg/setting"
)

// The results of an expectation.
const (
	Passed    = "passed"
	Failed    = "failed"
	Undecided = "undecided" // counts as failed
	Unchecked = "unchecked" // there was nothing to compare with
)

// Finding is the result of an expectation.
type Finding struct {
	Expectation string `json:"expectation"`
	Kind        Kind   `json:"kind"`
	Column      string `json:"column,omitempty"`
	Severity    string `json:"severity"`
	Status      string `json:"status"`
	Checked     int64  `json:"checked"` // records or values
	Failed      int64  `json:"failed"`  // records or values that failed; 0 if the number of rows or the newest date fails
	Found       string `json:"found"`   // a readable description
}

// Bad reports whether the expectation failed or is undecided.
func (f Finding) Bad() bool { return f.Status == Failed || f.Status == Undecided }

// String returns the expectation and its result in readable form.
func (f Finding) String() string {
	text := f.Expectation + ": " + f.Found
	if f.Column != "" {
		text = "column " + f.Column + ", " + text
	}
	return text
}

// ErrNotCounted means that the counts are for other expectations.
var ErrNotCounted = errors.New("the expectations have changed since the input was read, and need what was not counted then")

// Judge compares counts with the checks. earlier returns the numbers of records of at most n earlier jobs, the newest first. The result has a finding
// for each check; c is not changed.
func (c *Counts) Judge(checks []*Check, earlier func(n int) []int64) (*Counts, error) {
	if !c.Covers(checks) {
		return nil, ErrNotCounted
	}
	if c == nil {
		return nil, nil
	}
	judged := *c
	judged.Findings = nil
	for _, check := range checks {
		f := Finding{Expectation: check.Name, Kind: check.Kind, Column: check.Column, Severity: Fail, Status: Passed}
		if check.Warn {
			f.Severity = Warn
		}
		if check.Kind == Rows {
			f.Checked = c.Records
			f.rows(check, c.Records, earlier)
		} else {
			n := c.of(check)
			f.Checked, f.Failed = n.Checked, n.Failed
			f.values(check, n, c)
		}
		judged.Findings = append(judged.Findings, f)
	}
	return &judged, nil
}

func (f *Finding) rows(check *Check, records int64, earlier func(n int) []int64) {
	f.Found = setting.Count(records, "record")
	if check.last == 0 {
		if check.least != nil && records < *check.least || check.greatest != nil && records > *check.greatest {
			f.Status = Failed
		}
		return
	}
	var list []int64
	if earlier != nil {
		list = earlier(check.last)
	}
	if len(list) < check.last {
		f.Status = Unchecked
		f.Found += fmt.Sprintf(", and %s of this table and job file to compare with", setting.Count(len(list), "earlier job"))
		return
	}
	m := median(list[:check.last])
	exact, _ := m.Float64()
	f.Found += fmt.Sprintf(", the median of the earlier jobs is %.0f", exact)
	apart := new(big.Rat).Sub(new(big.Rat).SetInt64(records), m)
	if apart.Abs(apart).Cmp(new(big.Rat).Mul(check.most.share, m)) > 0 {
		f.Status = Failed
	}
}

// median returns the median of a list that is not empty.
func median(list []int64) *big.Rat {
	list = slices.Sorted(slices.Values(list))
	a, b := list[(len(list)-1)/2], list[len(list)/2]
	sum := new(big.Rat).Add(new(big.Rat).SetInt64(a), new(big.Rat).SetInt64(b))
	return sum.Quo(sum, big.NewRat(2, 1))
}

func (f *Finding) values(check *Check, n *Count, c *Counts) {
	of := fmt.Sprintf("%d of %s", n.Failed, setting.Count(n.Checked, "value"))
	bad := n.Failed > 0
	switch check.Kind {
	case Nulls:
		f.Found = fmt.Sprintf("%d of %s", n.Failed, setting.Count(n.Checked, "record"))
		bad = !check.most.allows(n.Failed, new(big.Rat).SetInt64(n.Checked))
	case Unique:
		if f.Found = of + " are repetitions"; n.Failed == 1 {
			f.Found = of + " is a repetition"
		}
		switch {
		case n.Undecided && bad:
			f.Found = "at least " + f.Found
		case n.Undecided:
			f.Status, f.Found = Undecided, fmt.Sprintf("not decided: there is not enough memory for %s", setting.Count(n.Checked, "value"))
		}
	case Newest:
		switch f.Found = of + " are not dates of the layout"; {
		case bad:
		case n.Newest == nil:
			f.Found, bad = "no record has a date", true
		case *n.Newest < c.ReadAt.UnixMilli()-check.within.Milliseconds():
			f.Found, bad = "all "+setting.Count(n.Checked, "date")+" are older", true
		default:
			f.Found = setting.Count(n.Checked, "date")
		}
	default:
		f.Found = of + " fail"
	}
	if bad {
		f.Status = Failed
	}
}

// maxReported is the largest number of expectations that a message names.
const maxReported = 3

// NotMet is the error of a job whose records do not meet its expectations.
type NotMet struct {
	Counts *Counts // with findings
	text   string
}

func (e *NotMet) Error() string { return e.text }

// Err returns a [NotMet] if a job with these findings fails, else nil.
func (c *Counts) Err() error {
	if c == nil {
		return nil
	}
	var said []string
	for _, f := range c.Findings {
		if f.Bad() && f.Severity == Fail {
			said = append(said, f.String())
		}
	}
	if len(said) == 0 {
		return nil
	}
	text := strings.Join(said[:min(len(said), maxReported)], "; ")
	if more := len(said) - maxReported; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return &NotMet{c, fmt.Sprintf("%s of the job %s not met: %s", setting.Count(len(said), "expectation"), map[bool]string{true: "is", false: "are"}[len(said) == 1], text)}
}

// Sum merges findings of different records about the same expectations.
func Sum(a, b []Finding) []Finding {
	sum := slices.Clone(a)
	for _, f := range b {
		i := slices.IndexFunc(sum, func(s Finding) bool {
			return s.Expectation == f.Expectation && s.Column == f.Column && s.Severity == f.Severity
		})
		if i < 0 {
			sum = append(sum, f)
			continue
		}
		if f.Bad() || sum[i].Status == Unchecked {
			sum[i].Status, sum[i].Found = f.Status, f.Found
		}
		sum[i].Checked, sum[i].Failed = sum[i].Checked+f.Checked, sum[i].Failed+f.Failed
	}
	return sum
}
