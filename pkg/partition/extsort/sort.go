package extsort

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// sorting maps a key to a sort value: the region in the top bits, then the
// key's bytes after the prefix that its region shares.
type sorting struct {
	regions int
	shift   int // bits of the region
	shared  []int
}

func newSorting(regions int, shared []int) sorting {
	return sorting{regions: regions, shift: bits.Len(uint(regions - 1)), shared: shared}
}

func (s *sorting) value(region int, key []byte) uint64 {
	if s.shared != nil {
		key = key[min(s.shared[region], len(key)):]
	}
	if s.shift == 0 {
		return load(key)
	}
	return uint64(region)<<(64-s.shift) | load(key)>>s.shift
}

// first returns the least sort value of a region.
func (s *sorting) first(region int) uint64 {
	if s.shift == 0 {
		return 0
	}
	return uint64(region) << (64 - s.shift)
}

// load returns the first eight bytes of b as a big-endian number, padded with zeros.
func load(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var x [8]byte
	copy(x[:], b)
	return binary.BigEndian.Uint64(x[:])
}

// fewRows is the least number of equal sort values for which loading the next
// eight bytes of all keys is faster than comparing keys.
const fewRows = 6

// sortEntries sorts the arena's index by key, then by position. In an arena
// positions follow sequence numbers. Rows that came in order are in order once
// the index is turned round.
func (a *arena) sortEntries() {
	slices.Reverse(a.entries)
	a.sortBy(a.entries, 0)
}

// sortBy sorts entries whose keys share their first depth bytes and whose sort
// values hold the following bytes. Sort values are unchanged when it returns.
func (a *arena) sortBy(e []entry, depth int) {
	sortEntries(e)
	touched := 0
	for from := 0; from < len(e); {
		if from >= touched {
			touched = min(from+touchRows, len(e))
			a.touchEqual(e[from:touched])
		}
		to := from + 1
		for to < len(e) && e[to].sort == e[from].sort {
			to++
		}
		if to-from > 1 {
			a.sortEqual(e[from:to], depth)
		}
		from = to
	}
}

// touchEqual prefetches the keys of entries that have the same sort value as a neighbour, for the reason that [cursor.prefetch]
// gives.
func (a *arena) touchEqual(e []entry) {
	for i, x := range e {
		if i > 0 && e[i-1].sort == x.sort || i+1 < len(e) && e[i+1].sort == x.sort {
			at := int(x.pos()) + recordHeader
			a.touched += a.data[at] + a.data[min(at+64, len(a.data)-1)]
		}
	}
}

func (a *arena) sortEqual(e []entry, depth int) {
	if len(e) < fewRows {
		slices.SortFunc(e, a.compare)
		return
	}
	first := a.key(e[0].pos())
	shared := len(first)
	shortest := len(first)
	for _, x := range e[1:] {
		k := a.key(x.pos())
		shortest = min(shortest, len(k))
		shared = min(shared, commonPrefix(first[:shared], k))
	}
	// A key that ends within the next eight bytes cannot be distinguished from one that
	// continues with zeros.
	if shared < depth || shortest < shared+8 {
		slices.SortFunc(e, a.compare)
		return
	}
	value := e[0].sort
	for i := range e {
		e[i].sort = load(a.key(e[i].pos())[shared:])
	}
	a.sortBy(e, shared)
	for i := range e {
		e[i].sort = value
	}
}

func (a *arena) compare(x, y entry) int {
	if c := bytes.Compare(a.key(x.pos()), a.key(y.pos())); c != 0 {
		return c
	}
	return cmp.Compare(x.pos(), y.pos())
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:])
		if x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for ; i < n && a[i] == b[i]; i++ {
	}
	return i
}
