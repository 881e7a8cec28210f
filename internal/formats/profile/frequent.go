package profile

import (
	"slices"

	"github.com/axiomhq/hyperloglog"
)

const (
	// MaxValues is the number of values that are counted for each column, in an input with few columns.
	MaxValues = 1024
	// minValues is the number of values that are counted for each column, in an input with very many columns.
	minValues = 64
	// valuesTogether is the largest number of values that are counted for all columns together, unless minValues for each column are more.
	valuesTogether = 64 << 10
	// maxKept is the number of bytes that are kept of a counted value.
	maxKept = 128
	// precision is HyperLogLog's: 2^14 registers of a byte.
	precision = 14
	// DistinctError is the standard error of an estimate, 1.04/√(2^14), according to Flajolet, Fusy, Gandouet and Meunier.
	DistinctError = 0.0081
)

// A counted is a value in the table.
type counted struct {
	hash   uint64
	number float64 // the value's number in the histogram of values
	count  int64   // the occurrences, minus the sum subtracted
	fresh  int64   // the occurrences that have not been added to the histograms yet
	at     uint32  // the offset of its first bytes in text
	kept   uint32
	length uint32
}

// frequent counts values by a 64-bit hash: see the package documentation.
type frequent struct {
	most    int
	index   []uint16 // open addressing by hash: indices of values, plus one
	values  []counted
	text    []byte
	taken   int64 // the sum subtracted from every count
	sketch  *hyperloglog.Sketch
	scratch []int64
}

// roomFor returns the number of values that are counted for each column.
func roomFor(columns int) int {
	most := MaxValues
	for most > minValues && most*columns > valuesTogether {
		most /= 2
	}
	return most
}

// Memory returns the greatest memory of a [Tally] of the given number of columns. Of each column it has the counted values, the registers of the
// estimate, the histograms, and the least and the greatest value; slices that have grown have room for more.
func Memory(columns int) int64 {
	const value, rest = (48 + maxKept) * 3 / 2, 1<<precision + 6<<10
	return int64(columns) * int64(roomFor(columns)*value+rest)
}

func (f *frequent) reset() {
	clear(f.index)
	f.values, f.text, f.taken, f.sketch = f.values[:0], f.text[:0], 0, nil
}

// find returns the value with a hash, nil if it is not in the table.
func (f *frequent) find(hash uint64) *counted {
	if len(f.index) == 0 {
		return nil
	}
	mask := uint64(len(f.index) - 1)
	for i := hash & mask; f.index[i] != 0; i = (i + 1) & mask {
		if v := &f.values[f.index[i]-1]; v.hash == hash {
			return v
		}
	}
	return nil
}

// insert adds a value that is not in the table. It grows the table as required.
func (f *frequent) insert(v counted, text []byte) {
	if 2*(len(f.values)+1) > len(f.index) {
		f.index = make([]uint16, max(32, 2*len(f.index)))
		for i := range f.values {
			f.enter(i)
		}
	}
	text = text[:min(len(text), maxKept)]
	v.at, v.kept = uint32(len(f.text)), uint32(len(text))
	f.text, f.values = append(f.text, text...), append(f.values, v)
	f.enter(len(f.values) - 1)
	if f.sketch != nil {
		f.sketch.InsertHash(v.hash)
	}
}

func (f *frequent) enter(place int) {
	mask := uint64(len(f.index) - 1)
	i := f.values[place].hash & mask
	for f.index[i] != 0 {
		i = (i + 1) & mask
	}
	f.index[i] = uint16(place + 1)
}

// textOf returns the first bytes of a value, at most maxKept.
func (f *frequent) textOf(v *counted) []byte { return f.text[v.at : v.at+v.kept] }

// estimated begins to estimate the number of different values.
func (f *frequent) estimated() {
	if f.sketch == nil {
		f.sketch, _ = hyperloglog.NewSketch(precision, false) // the precision is valid
		for i := range f.values {
			f.sketch.InsertHash(f.values[i].hash)
		}
	}
}

// drop subtracts a number from each count and drops the values whose count reaches 0, so that at most keep values are left: the number is the
// greatest count after the keep greatest ones, or 1 if at most keep counts are above 1. The histograms must already have the counts of the
// dropped values.
func (f *frequent) drop(keep int) {
	f.estimated()
	least := int64(1)
	ones := 0
	for i := range f.values {
		if f.values[i].count == 1 {
			ones++
		}
	}
	if len(f.values)-ones > keep {
		f.scratch = f.scratch[:0]
		for i := range f.values {
			f.scratch = append(f.scratch, f.values[i].count)
		}
		slices.Sort(f.scratch)
		least = f.scratch[len(f.scratch)-1-keep]
	}
	f.taken += least
	kept, text := f.values[:0], f.text[:0]
	for _, v := range f.values { // texts are in the order of the values, so none is overwritten before it is moved
		if v.count <= least {
			continue
		}
		own := f.textOf(&v)
		v.count, v.at = v.count-least, uint32(len(text))
		text, kept = append(text, own...), append(kept, v)
	}
	f.values, f.text = kept, text
	clear(f.index)
	for i := range f.values {
		f.enter(i)
	}
}

// merge adds the counts of the following part.
func (f *frequent) merge(o *frequent) {
	if o.sketch != nil {
		f.estimated()
		_ = f.sketch.Merge(o.sketch) // of the same precision
	}
	f.taken += o.taken
	for i := range o.values {
		v := &o.values[i]
		if own := f.find(v.hash); own != nil {
			own.count += v.count
			continue
		}
		f.insert(counted{hash: v.hash, number: v.number, count: v.count, length: v.length}, o.textOf(v))
	}
	if len(f.values) > f.most {
		f.drop(f.most)
	}
}

// distinct returns the number of different values, and whether it is exact.
func (f *frequent) distinct() (n int64, exact bool) {
	if f.sketch == nil {
		return int64(len(f.values)), true
	}
	return max(int64(f.sketch.Estimate()), int64(f.most)+1), false
}
