package profile

import (
	"bytes"
	"math"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/formats/expectation"
	"bulkload/pkg/keygen"

	"github.com/zeebo/xxh3"
)

// mostCompared is how many bytes of a value count for the least and the greatest.
const mostCompared = 1024

// A Tally counts the records of a part of an input. It belongs to one goroutine.
type Tally struct {
	records int64
	columns []column
	dates   []*keygen.Dates // of layouts
	digits  [celltype.MaxDigits]byte
}

// New returns a tally of records with a number of columns.
func New(columns int) *Tally {
	t := &Tally{columns: make([]column, columns)}
	for i := range t.columns {
		t.columns[i].frequent.most = roomFor(columns)
		t.columns[i].reset()
	}
	for _, l := range layouts {
		d, _ := keygen.NewDates(l, "") // the layouts are right
		t.dates = append(t.dates, d)
	}
	return t
}

// Reset forgets what was counted.
func (t *Tally) Reset() {
	t.records = 0
	for i := range t.columns {
		t.columns[i].reset()
	}
}

// Records counts records. Every column gets their values by [Tally.Value].
func (t *Tally) Records(n int64) { t.records += n }

// Value counts the value of the i-th column.
func (t *Tally) Value(i int, value []byte, null bool) {
	c := &t.columns[i]
	switch {
	case null:
		c.nulls++
		return
	case len(value) == 0:
		c.empty++
		return
	}
	hash := xxh3.Hash(value)
	if v := c.frequent.find(hash); v != nil {
		v.count++
		v.fresh++
		return
	}
	if len(c.frequent.values) == c.frequent.most {
		c.settle()
		c.frequent.drop(c.frequent.most / 2)
	}
	c.frequent.insert(counted{hash: hash, number: t.look(c, value), count: 1, fresh: 1, length: uint32(len(value))}, value)
}

// Merge adds what was counted of the part that follows, which may be changed.
func (t *Tally) Merge(o *Tally) {
	t.records += o.records
	for i := range t.columns {
		t.columns[i].merge(&o.columns[i])
	}
}

// A column has the counts of a column. Values are neither NULL nor empty.
type column struct {
	nulls, empty int64
	kinds        kinds // that fit all values
	whole        bool  // numbers without a fraction
	digits       bool  // values of digits alone

	least, greatest []byte // by their bytes
	low, high       numberText
	numbers         histogram // of numbers, or of times
	lengths         histogram
	frequent        frequent
}

func (c *column) reset() {
	frequent := c.frequent
	frequent.reset()
	*c = column{kinds: allKinds, whole: true, digits: true, frequent: frequent}
}

// numberText is a number as it was written.
type numberText struct {
	number expectation.Number
	near   float64
	text   []byte
}

// above orders numbers, and those that are the same by their texts.
func (n *numberText) above(number expectation.Number, text []byte) bool {
	s := n.number.Compare(number)
	return s > 0 || s == 0 && bytes.Compare(n.text, text) > 0
}

// slack is more than floats of numbers may be apart from them.
func slack(x float64) float64 { return math.Abs(x) * 1e-12 }

// settle puts what was counted of the values in the table into the histograms.
func (c *column) settle() {
	for i := range c.frequent.values {
		v := &c.frequent.values[i]
		c.lengths.add(float64(v.length), v.fresh)
		if c.kinds != 0 {
			c.numbers.add(v.number, v.fresh)
		}
		v.fresh = 0
	}
}

// look notes a value that is not in the table, and gives its place in the histogram.
func (t *Tally) look(c *column, value []byte) (number float64) {
	text := value[:min(len(value), mostCompared)]
	if c.least == nil || bytes.Compare(text, c.least) < 0 {
		c.least = append(c.least[:0], text...)
	}
	if bytes.Compare(text, c.greatest) > 0 {
		c.greatest = append(c.greatest[:0], text...)
	}
	c.digits = c.digits && onlyDigits(value)
	if c.kinds == 0 {
		return 0
	}
	fits := kinds(0)
	if c.kinds&kindNumber != 0 {
		if n, ok := expectation.ParseNumber(value, &t.digits); ok {
			fits, number = kindNumber, n.Float()
			c.whole = c.whole && n.Whole()
			c.bounds(n, number, text)
		}
	}
	if fits == 0 && c.kinds != kindNumber {
		number, fits = t.date(value)
	}
	c.kinds &= fits
	return number
}

// bounds notes a number.
func (c *column) bounds(n expectation.Number, near float64, text []byte) {
	if c.low.text == nil || near <= c.low.near+slack(c.low.near) && c.low.above(n, text) {
		c.low = numberText{n.Clone(), near, bytes.Clone(text)}
	}
	if c.high.text == nil || near >= c.high.near-slack(c.high.near) && !c.high.above(n, text) {
		c.high = numberText{n.Clone(), near, bytes.Clone(text)}
	}
}

func (c *column) merge(o *column) {
	c.settle()
	o.settle()
	c.nulls, c.empty = c.nulls+o.nulls, c.empty+o.empty
	if len(o.frequent.values) == 0 && o.frequent.sketch == nil {
		return // it has no values
	}
	c.kinds, c.whole, c.digits = c.kinds&o.kinds, c.whole && o.whole, c.digits && o.digits
	if c.least == nil || bytes.Compare(o.least, c.least) < 0 {
		c.least = bytes.Clone(o.least)
	}
	if bytes.Compare(o.greatest, c.greatest) > 0 {
		c.greatest = bytes.Clone(o.greatest)
	}
	if c.kinds&kindNumber != 0 { // else the numbers are not all of the values
		c.bounds(o.low.number, o.low.near, o.low.text)
		c.bounds(o.high.number, o.high.near, o.high.text)
	}
	if c.kinds != 0 {
		c.numbers.merge(&o.numbers)
	}
	c.lengths.merge(&o.lengths)
	c.frequent.merge(&o.frequent)
}
