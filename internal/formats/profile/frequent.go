package profile

import (
	"slices"

	"github.com/axiomhq/hyperloglog"
)

const (
	// MostValues is how many values of a column are counted at a time, of an input with few columns.
	MostValues = 1024
	// leastValues are counted of one with very many.
	leastValues = 64
	// valuesTogether are counted of all columns.
	valuesTogether = 64 << 10
	// mostKept is how many bytes are kept of a counted value.
	mostKept = 128
	// precision of HyperLogLog: 2^14 registers of a byte.
	precision = 14
	// DistinctError is the standard error of an estimate, 1.04/√(2^14), by Flajolet, Fusy, Gandouet and Meunier.
	DistinctError = 0.0081
)

// A counted is a value in the table.
type counted struct {
	hash   uint64
	number float64 // what it is in the histogram of values
	count  int64   // how often it was there, without what was taken
	fresh  int64   // how often since it is in the table, and not in the histograms
	at     uint32  // of its beginning in the text
	kept   uint32
	length uint32
}

// frequent counts values by 64 bits of their hash: see the package's text.
type frequent struct {
	most    int
	index   []uint16 // open addressing by hash: places in values, from 1
	values  []counted
	text    []byte
	taken   int64 // from every count, in sum
	sketch  *hyperloglog.Sketch
	scratch []int64
}

// roomFor returns how many values of each column are counted, for a number of columns.
func roomFor(columns int) int {
	most := MostValues
	for most > leastValues && most*columns > valuesTogether {
		most /= 2
	}
	return most
}

func (f *frequent) reset() {
	clear(f.index)
	f.values, f.text, f.taken, f.sketch = f.values[:0], f.text[:0], 0, nil
}

// find returns the value of a hash, nil if it is not in the table.
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

// insert puts a value into the table that is not in it. There is room.
func (f *frequent) insert(v counted, text []byte) {
	if 2*(len(f.values)+1) > len(f.index) {
		f.index = make([]uint16, max(32, 2*len(f.index)))
		for i := range f.values {
			f.enter(i)
		}
	}
	text = text[:min(len(text), mostKept)]
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

// textOf returns the beginning of a value.
func (f *frequent) textOf(v *counted) []byte { return f.text[v.at : v.at+v.kept] }

// estimated has the different values estimated from now on.
func (f *frequent) estimated() {
	if f.sketch == nil {
		f.sketch, _ = hyperloglog.NewSketch(precision, false) // the precision is right
		for i := range f.values {
			f.sketch.InsertHash(f.values[i].hash)
		}
	}
}

// drop takes from each count as many as the greatest but keep have, so that at most keep values are left. What was counted of the others
// must be in the histograms.
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
	for _, v := range f.values { // texts are in the order of the values, so they move to the front
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

// merge adds the counts of the part that follows.
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

// distinct returns how many different values there were.
func (f *frequent) distinct() (n int64, exact bool) {
	if f.sketch == nil {
		return int64(len(f.values)), true
	}
	return max(int64(f.sketch.Estimate()), int64(f.most)+1), false
}
