package delimited

import (
	"encoding/binary"
	"math"

	"bulkload/pkg/source/span"
)

// nullWord finds the one text for NULL by comparing words. Whether a field is NULL cannot be predicted, so a branch for it would be taken
// wrongly in every second row: there is none.
type nullWord struct {
	usable     bool // there is one text for NULL at most, and it fits into a word
	text, mask uint64
	size       uint64
}

func newNullWord(nulls []string) nullWord {
	switch {
	case len(nulls) == 0:
		return nullWord{usable: true, size: math.MaxUint64} // which no field has
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

// zero is 1 for 0, and 0 for all else.
func zero(n uint64) uint64 { return ((n - 1) &^ n) >> 63 }

// span returns the place of the field data[from:to], or [span.Null]. Data has eight bytes more than that. The field is NULL if its bytes and its
// length both are the word's: a bit that differs in either stays set.
func (w *nullWord) span(data []byte, from, to int) span.Span {
	size := uint64(to - from)
	null := -uint32(zero((binary.LittleEndian.Uint64(data[from:])&w.mask ^ w.text) | (size ^ w.size)))
	return span.Span{Off: uint32(from) | null, Len: uint32(size) &^ null}
}
