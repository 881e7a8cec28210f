package profile

import (
	"bytes"
	"math"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/formats/expectation"
	"bulkload/pkg/keygen"

	"github.com/zeebo/xxh3"
)

// maxCompared is the number of bytes of a value that are compared for the least and the greatest.
const maxCompared = 1024

// A Tally counts the records of a part of an input. It belongs to one goroutine.
type Tally struct {
	records int64
	columns []column
	dates   []*keygen.Dates // by index of layouts
	digits  [celltype.MaxDigits]byte
}

// New returns an empty tally for records with the given number of columns.
func New(columns int) *Tally {
	t := &Tally{columns: make([]column, columns)}
	for i := range t.columns {
		t.columns[i].frequent.most = roomFor(columns)
		t.columns[i].reset()
	}
	for _, l := range layouts {
		d, _ := keygen.NewDates(l, "") // the layouts are valid
		t.dates = append(t.dates, d)
	}
	return t
}

// Reset sets all counts to zero.
func (t *Tally) Reset() {
	t.records = 0
	for i := range t.columns {
		t.columns[i].reset()
	}
}

// Records adds n records. The caller also calls [Tally.Value] for each value of every column.
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

// Merge adds the counts of the following part. It may change o.
func (t *Tally) Merge(o *Tally) {
	t.records += o.records
	for i := range t.columns {
		t.columns[i].merge(&o.columns[i])
	}
}

// A column holds the counts of a column. NULLs and empty texts are not counted as values.
type column struct {
	nulls, empty int64
	kinds        kinds // the types of all values
	whole        bool  // the numbers have no fraction
	digits       bool  // the values consist of digits only

	least, greatest []byte // in the order of bytes, cut to maxCompared
	low, high       numberText
	numbers         histogram // of numbers, or of times in milliseconds
	lengths         histogram
	frequent        frequent
}

func (c *column) reset() {
	frequent := c.frequent
	frequent.reset()
	*c = column{kinds: allKinds, whole: true, digits: true, frequent: frequent}
}

// numberText is a number with its text.
type numberText struct {
	number expectation.Number
	near   float64
	text   []byte
}

// sortsAfter reports whether n sorts after the given number. Equal numbers sort by their texts.
func (n *numberText) sortsAfter(number expectation.Number, text []byte) bool {
	s := n.number.Compare(number)
	return s > 0 || s == 0 && bytes.Compare(n.text, text) > 0
}

// slack returns a distance greater than the rounding error of a number's float.
func slack(x float64) float64 { return math.Abs(x) * 1e-12 }

// settle brings the histograms up to date with the counts in the table.
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

// look examines a value that is not in the table: which types it has, and whether it is the least or the greatest. It returns the value's number for the
// histogram of numbers.
func (t *Tally) look(c *column, value []byte) (number float64) {
	text := value[:min(len(value), maxCompared)]
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

// bounds updates the least and the greatest number with n.
func (c *column) bounds(n expectation.Number, near float64, text []byte) {
	if c.low.text == nil || near <= c.low.near+slack(c.low.near) && c.low.sortsAfter(n, text) {
		c.low = numberText{n.Clone(), near, bytes.Clone(text)}
	}
	if c.high.text == nil || near >= c.high.near-slack(c.high.near) && !c.high.sortsAfter(n, text) {
		c.high = numberText{n.Clone(), near, bytes.Clone(text)}
	}
}

func (c *column) merge(o *column) {
	c.settle()
	o.settle()
	c.nulls, c.empty = c.nulls+o.nulls, c.empty+o.empty
	if len(o.frequent.values) == 0 && o.frequent.sketch == nil {
		return // o has no values
	}
	c.kinds, c.whole, c.digits = c.kinds&o.kinds, c.whole && o.whole, c.digits && o.digits
	if c.least == nil || bytes.Compare(o.least, c.least) < 0 {
		c.least = bytes.Clone(o.least)
	}
	if bytes.Compare(o.greatest, c.greatest) > 0 {
		c.greatest = bytes.Clone(o.greatest)
	}
	if c.kinds&kindNumber != 0 { // otherwise some values are not numbers
		c.bounds(o.low.number, o.low.near, o.low.text)
		c.bounds(o.high.number, o.high.near, o.high.text)
	}
	if c.kinds != 0 {
		c.numbers.merge(&o.numbers)
	}
	c.lengths.merge(&o.lengths)
	c.frequent.merge(&o.frequent)
}
