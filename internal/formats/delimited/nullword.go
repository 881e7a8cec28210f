package delimited

import (
	"encoding/binary"
	"math"

	"bulkload/pkg/source/span"
)

// nullWord detects NULL, if there is only one text for it, by comparing words. It has no branch, because NULLs are unpredictable: a
// branch would be mispredicted in every second row.
type nullWord struct {
	usable     bool // there is at most one text for NULL, of at most 7 bytes
	text, mask uint64
	size       uint64
}

func newNullWord(nulls []string) nullWord {
	switch {
	case len(nulls) == 0:
		return nullWord{usable: true, size: math.MaxUint64} // no field has this size
	case len(nulls) > 1 || len(nulls[0]) > 7:
		return nullWord{}
	}
	w := nullWord{usable: true, size: uint64(len(nulls[0]))}
	for i := range len(nulls[0]) {
		w.text |= uint64(nulls[0][i]) << (8 * i)
	}
	w.mask = 1<<(8*w.size) - 1
	return w
}

// zero returns 1 for 0, and 0 for other numbers.
func zero(n uint64) uint64 { return ((n - 1) &^ n) >> 63 }

// span returns the span of the field data[from:to], or [span.Null]. data must have eight more bytes. The field is NULL if its bytes and its
// length equal those of the word: any bit that differs in either stays set.
func (w *nullWord) span(data []byte, from, to int) span.Span {
	size := uint64(to - from)
	null := -uint32(zero((binary.LittleEndian.Uint64(data[from:])&w.mask ^ w.text) | (size ^ w.size)))
	return span.Span{Off: uint32(from) | null, Len: uint32(size) &^ null}
}
