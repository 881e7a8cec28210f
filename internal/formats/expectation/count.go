package expectation

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"bulkload/internal/formats/celltype"
)

// Counts holds the counts of an input's records, or of a part of them, with the findings.
type Counts struct {
	Records  int64     `json:"records"` // neither rejected nor filtered
	ReadAt   time.Time `json:"read_at"` // when reading began; dates are compared with it
	Checks   []Count   `json:"counts,omitempty"`
	Findings []Finding `json:"findings,omitempty"` // set by Judge
}

// Count is the count of one check.
type Count struct {
	Of        string `json:"of"`                  // what was counted
	Checked   int64  `json:"checked"`             // values; NULLs only if the check counts NULLs
	Failed    int64  `json:"failed"`              // values that failed
	Newest    *int64 `json:"newest,omitempty"`    // the newest date, in milliseconds since 1970
	Undecided bool   `json:"undecided,omitempty"` // the memory was insufficient, so further values may have failed
}

// Covers reports whether the counts include all counts that the checks need.
func (c *Counts) Covers(checks []*Check) bool {
	if c == nil {
		return len(checks) == 0
	}
	return !slices.ContainsFunc(checks, func(check *Check) bool { return check.counted != "" && c.of(check) == nil })
}

func (c *Counts) of(check *Check) *Count {
	if i := slices.IndexFunc(c.Checks, func(n Count) bool { return n.Of == check.counted }); i >= 0 {
		return &c.Checks[i]
	}
	return nil
}

// Add returns the sum of c and the counts of another part of the input. Either may be nil, which means no counts, and neither is changed.
func (c *Counts) Add(o *Counts) *Counts {
	if c == nil || o == nil {
		c = cmp.Or(c, o)
		return c
	}
	sum := &Counts{Records: c.Records + o.Records, ReadAt: c.ReadAt, Checks: slices.Clone(c.Checks)}
	if o.ReadAt.After(sum.ReadAt) {
		sum.ReadAt = o.ReadAt
	}
	for i := range min(len(sum.Checks), len(o.Checks)) {
		sum.Checks[i].add(o.Checks[i])
	}
	return sum
}

func (n *Count) add(o Count) {
	n.Checked += o.Checked
	n.Failed += o.Failed
	n.Undecided = n.Undecided || o.Undecided
	if n.Newest == nil || o.Newest != nil && *o.Newest > *n.Newest {
		n.Newest = o.Newest
	}
}

// Same reports whether two attempts at one part have the same counts.
func (c *Counts) Same(o *Counts) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Records == o.Records && slices.EqualFunc(c.Checks, o.Checks, func(a, b Count) bool {
		if a.Newest != nil && b.Newest != nil && *a.Newest == *b.Newest {
			a.Newest = b.Newest
		}
		return a == b
	})
}

// A Counter counts the records of an input for the checks.
type Counter struct {
	checks  []*Check
	columns []column
	at      []int // indexes of the columns in a record

	mu  sync.Mutex
	sum Counts
}

// A column is a column that checks are about.
type column struct {
	checks []int
	sets   []*distinct // of checks of kind Unique, else nil
}

// NewCounter returns a counter of records with these columns; nil if there are no checks. memory is the largest number of bytes for the values
// that must be unique.
func NewCounter(checks []*Check, columns []string, memory int64, now time.Time) (*Counter, error) {
	if len(checks) == 0 {
		return nil, nil
	}
	c := &Counter{checks: checks, sum: Counts{ReadAt: now.UTC().Truncate(time.Millisecond), Checks: []Count{}}}
	room := newRoom(memory)
	for _, name := range Columns(checks) {
		at := slices.Index(columns, name)
		if at < 0 {
			return nil, fmt.Errorf("expect: the input has no column %q", name)
		}
		own := column{}
		for i, check := range checks {
			if check.Column != name {
				continue
			}
			var set *distinct
			if check.Kind == Unique {
				set = newDistinct(room)
			}
			own.checks, own.sets = append(own.checks, i), append(own.sets, set)
		}
		c.columns, c.at = append(c.columns, own), append(c.at, at)
	}
	for _, check := range checks {
		c.sum.Checks = append(c.sum.Checks, Count{Of: check.counted})
	}
	return c, nil
}

// Tally returns a tally for one worker; nil for a nil counter.
func (c *Counter) Tally() *Tally {
	if c == nil {
		return nil
	}
	return &Tally{counter: c, counts: make([]Count, len(c.checks)), newest: make([]int64, len(c.checks))}
}

// Counts returns the sum of all tallies whose End was called.
func (c *Counter) Counts() *Counts {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.sum
	sum.Checks = slices.DeleteFunc(slices.Clone(sum.Checks), func(n Count) bool { return n.Of == "" }) // checks of kind Rows
	return &sum
}

// A Tally counts records. Only one goroutine may use it.
type Tally struct {
	counter *Counter
	records int64
	counts  []Count
	newest  []int64 // dates that Newest of counts points to
	digits  [celltype.MaxDigits]byte
}

// Columns returns the indexes in a record of the columns that are checked.
func (t *Tally) Columns() []int { return t.counter.at }

// Record counts a record.
func (t *Tally) Record() { t.records++ }

// Value counts the value of the i-th column of [Tally.Columns].
func (t *Tally) Value(i int, value []byte, null bool) {
	column := &t.counter.columns[i]
	for k, at := range column.checks {
		c, n := t.counter.checks[at], &t.counts[at]
		if c.Kind == Nulls {
			n.Checked++
			if null {
				n.Failed++
			}
			continue
		}
		if null {
			continue
		}
		n.Checked++
		holds := true
		switch c.Kind {
		case Unique:
			seen, decided := column.sets[k].add(value)
			holds, n.Undecided = !seen, n.Undecided || !decided
		case Newest:
			ms, _, err := c.dates.Parse(value)
			if holds = err == nil; holds && (n.Newest == nil || ms > t.newest[at]) {
				t.newest[at], n.Newest = ms, &t.newest[at]
			}
		default:
			holds = c.accepts(value, &t.digits)
		}
		if !holds {
			n.Failed++
		}
	}
}

// End adds the counts to the counter's sum. Call it once.
func (t *Tally) End() {
	if t == nil {
		return
	}
	c := t.counter
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.Records += t.records
	for i := range t.counts {
		c.sum.Checks[i].add(t.counts[i])
	}
}
