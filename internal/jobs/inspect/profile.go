package inspect

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// profile describes the columns of a sample. It keeps checksums of values, for a bounded number of rows.
type profile struct {
	columns []Column
	at      map[string]int
	rows    int64
	tokens  map[Null]int64
	seed    maphash.Seed
	sums    []uint64 // of the rows kept for keys, width checksums per row
	width   int
	kept    int
	values  bool
	row     []uint64
	within  map[string]bool // paths of nested values seen so far
	inner   []Column        // paths that can be columns

	nestings map[string]int // number of inspected values of nested columns
}

const (
	maxSums   = 2 << 20 // checksums for keys: 16 MiB
	maxShown  = 3       // values of a column that are shown
	maxPaired = 8       // columns whose pairs are checked
	maxToken  = 64
)

func newProfile(values bool) *profile {
	return &profile{at: map[string]int{}, tokens: map[Null]int64{}, seed: maphash.MakeSeed(), values: values, within: map[string]bool{}}
}

// places returns the indexes of a file's columns, and adds new columns.
func (p *profile) places(names []string) []int {
	places := make([]int, len(names))
	for i, name := range names {
		at, ok := p.at[name]
		if !ok {
			at = len(p.columns)
			p.at[name] = at
			p.columns = append(p.columns, Column{Name: name, Type: TypeUnknown, Nulls: p.rows})
		}
		places[i] = at
	}
	if len(p.columns) > p.width {
		p.width, p.sums, p.kept = len(p.columns), nil, 0 // the rows kept so far lack the new columns
	}
	return places
}

// Checksums of missing values and marks of others.
const (
	sumNull  = 0
	sumEmpty = 2 // an empty text, which cannot be a key
	sumSet   = 1
)

// keyed reports whether a value can be a key.
func keyed(sum uint64) bool { return sum != sumNull && sum != sumEmpty }

func (p *profile) begin() {
	p.row = append(p.row[:0], make([]uint64, p.width)...)
}

func (p *profile) value(at int, v []byte) {
	c := &p.columns[at]
	p.row[at] = maphash.Bytes(p.seed, v) | sumSet
	if len(v) == 0 {
		p.row[at] = sumEmpty
		c.Empty++
	} else {
		c.cell.narrow(v)
		if c.Type != TypeText {
			c.Type = join(c.Type, typeOf(v))
		}
	}
	if p.values && len(c.Values) < maxShown {
		if s := string(v[:min(len(v), 60)]); !slices.Contains(c.Values, s) {
			c.Values = append(c.Values, s)
		}
	}
}

func (p *profile) end() {
	p.rows++
	for i, sum := range p.row {
		if sum == sumNull {
			p.columns[i].Nulls++
		}
	}
	if p.width > 0 && len(p.sums)+p.width <= maxSums {
		p.sums = append(p.sums, p.row...)
		p.kept++
	}
}

// token counts a text that may stand for NULL.
func (p *profile) token(text string, quoted, null bool) {
	if k := (Null{Text: text, Quoted: quoted, IsNull: null}); len(p.tokens) < maxToken || p.tokens[k] > 0 {
		p.tokens[k]++
	}
}

func (r *Report) addProfile(p *profile) {
	r.Sample.Rows = p.rows
	for k, n := range p.tokens {
		k.Count = n
		r.Nulls = append(r.Nulls, k)
	}
	slices.SortFunc(r.Nulls, func(a, b Null) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text), cmp.Compare(bit(a.Quoted), bit(b.Quoted)))
	})
	for i := range p.columns {
		p.columns[i].Distinct = p.distinct(i, i)
	}
	r.Columns, r.Keys = withInner(p.columns, p.inner), p.keys()
	for i := range r.Files {
		f := &r.Files[i]
		if f.Lacks == nil {
			continue
		}
		has := f.Lacks
		f.Lacks = nil
		for _, c := range p.columns {
			if !slices.Contains(has, c.Name) {
				f.Lacks, r.extra = append(f.Lacks, c.Name), true
			}
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// distinct counts the different values of a column, or of a pair, in the kept rows.
func (p *profile) distinct(a, b int) int64 {
	sums := make([]uint64, 0, p.kept)
	for row := range p.kept {
		x, y := p.sums[row*p.width+a], p.sums[row*p.width+b]
		if !keyed(x) || !keyed(y) {
			continue
		}
		if a != b {
			x = x*0x9e3779b97f4a7c15 ^ (y>>7 | y<<57)
		}
		sums = append(sums, x)
	}
	slices.Sort(sums)
	return int64(len(slices.Compact(sums)))
}

// nulls counts the kept rows without one of the values.
func (p *profile) nulls(a, b int) (n int64) {
	for row := range p.kept {
		if !keyed(p.sums[row*p.width+a]) || !keyed(p.sums[row*p.width+b]) {
			n++
		}
	}
	return n
}

// keys returns the columns with a different value in each row, and the pairs of other columns with a different pair of values in each row. If there are
// none, it returns the ones that come closest.
func (p *profile) keys() []Key {
	if p.kept < 2 {
		return nil
	}
	var all []Key
	var places []int
	for i := range p.columns {
		if t := p.columns[i].Type; t != TypeJSON && t != TypeUnknown && t != TypeDouble {
			all = append(all, Key{[]string{p.columns[i].Name}, p.columns[i].Distinct, int64(p.kept), p.nulls(i, i)})
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(p.columns[b].Distinct, p.columns[a].Distinct) })
	single := func(i int) bool { return p.columns[i].Distinct == int64(p.kept) }
	places = slices.DeleteFunc(places, single)
	places = places[:min(len(places), maxPaired)]
	for i, a := range places {
		for _, b := range places[i+1:] {
			all = append(all, Key{[]string{p.columns[a].Name, p.columns[b].Name}, p.distinct(a, b), int64(p.kept), p.nulls(a, b)})
		}
	}
	slices.SortStableFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Distinct, a.Distinct), cmp.Compare(len(a.Columns), len(b.Columns)))
	})
	unique := 0
	for unique < len(all) && all[unique].Distinct == int64(p.kept) {
		unique++
	}
	return all[:min(len(all), max(min(unique, 8), 3))]
}
