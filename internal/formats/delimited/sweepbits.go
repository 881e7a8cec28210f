package delimited

import (
	"math/bits"
	"slices"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/source/span"
)

// escapeState is the state at the end of a block, for the next one.
type escapeState struct {
	escaped uint64 // 1: the next byte is escaped
	open    uint64 // 1: the open field has an escape
}

// apply removes escaped bytes from seps, and replaces each mask of escapes by a mask of the separators that end a field with an escape.
// It reports whether there are escapes in the blocks or in the field that was open before them.
func (e *escapeState) apply(seps, escapes []uint64) bool {
	const odds = 0xaaaaaaaaaaaaaaaa
	escapes = escapes[:len(seps)]
	escaped, open := e.escaped, e.open
	all := open
	for i, m := range seps {
		esc := escapes[i]
		all |= esc
		// In a run of escapes every second byte is escaped, and the byte after the run if its length is odd. The subtraction
		// borrows through the run from its first byte, separately for even and odd positions.
		first := esc &^ escaped
		series := ((first<<1 | odds) - first) ^ odds
		m &^= series ^ (esc | escaped)
		escaped = (series & esc) >> 63
		// The sum carries from an escape up to the end of its field, or out of the block.
		var carried uint64
		carried, open = bits.Add64(^m, esc, open)
		seps[i], escapes[i] = m, carried&m
	}
	e.escaped, e.open = escaped, open
	return all != 0
}

// places sets Off of the first fields to base plus the positions of the bits of m, and returns their number; fields has [swar.Block] elements.
// It always sets eight at a time, because the number of bits is unpredictable but mostly at most eight.
func places(fields []span.Span, m uint64, base uint32) int {
	count := bits.OnesCount64(m)
	for i := 0; i < count; i += 8 {
		f := (*[8]span.Span)(fields[i:])
		f[0].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[1].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[2].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[3].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[4].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[5].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[6].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
		f[7].Off = base + uint32(bits.TrailingZeros64(m))
		m &= m - 1
	}
	return count
}

// appendRanks appends, for each bit of some, k plus the number of bits of m below it; some is a subset of m. It handles two bits at a time,
// as places handles eight.
func appendRanks(dst []uint32, k int, m, some uint64) []uint32 {
	count, have := bits.OnesCount64(some), len(dst)
	dst = slices.Grow(dst, swar.Block)
	list := dst[have : have+swar.Block]
	for i := 0; i < count; i += 2 {
		two := (*[2]uint32)(list[i:])
		two[0] = uint32(k + bits.OnesCount64((m&(some-1))&^some))
		some &= some - 1
		two[1] = uint32(k + bits.OnesCount64((m&(some-1))&^some))
		some &= some - 1
	}
	return dst[:have+count]
}

// load returns the little-endian word at p[i].
func load(p []byte, i int) uint64 {
	_ = p[i+7] // a single bounds check; a slice would need more instructions
	return uint64(p[i]) | uint64(p[i+1])<<8 | uint64(p[i+2])<<16 | uint64(p[i+3])<<24 | uint64(p[i+4])<<32 | uint64(p[i+5])<<40 | uint64(p[i+6])<<48 | uint64(p[i+7])<<56
}
