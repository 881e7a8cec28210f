package source

import (
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
)

// orcStripe returns the streams of a stripe, each of which is given by its column, its kind and its bytes, and the footer that describes them.
func orcStripe(columns int, streams ...orcStream) (stripe, footer []byte) {
	for _, s := range streams {
		var m []byte
		for field, v := range []int{s.kind, s.column, len(s.data)} {
			m = protowire.AppendVarint(protowire.AppendTag(m, protowire.Number(field+1), protowire.VarintType), uint64(v))
		}
		footer = protowire.AppendBytes(protowire.AppendTag(footer, 1, protowire.BytesType), m)
		stripe = append(stripe, s.data...)
	}
	for range columns {
		footer = protowire.AppendBytes(protowire.AppendTag(footer, 2, protowire.BytesType), nil)
	}
	return stripe, footer
}

type orcStream struct {
	column, kind int // kinds: 0 present, 1 data, 2 length
	data         []byte
}

// TestORCUnions checks that a union at the top is the text of its branch, and NULL if its branch is.
func TestORCUnions(t *testing.T) {
	stripe, footer := orcStripe(7,
		orcStream{1, 1, []byte{0xf9, 2, 4, 6, 8, 10, 12, 14}},          // seven numbers
		orcStream{2, 0, []byte{0xff, 0b11110110}},                      // the fifth row is NULL
		orcStream{2, 1, []byte{0xfa, 0, 0, 1, 1, 2, 1}},                // six branches
		orcStream{3, 0, []byte{0xff, 0b10000000}},                      // the second number is NULL
		orcStream{3, 1, []byte{0xff, 18}},                              // 9
		orcStream{4, 1, []byte(`a"b`)},                                 // three texts, of which two are empty
		orcStream{4, 2, []byte{0xfd, 3, 0, 0}},                         // lengths
		orcStream{5, 0, []byte{0xff, 0b10000000}},                      // the list is there
		orcStream{5, 2, []byte{0xff, 2}},                               // and has two texts
		orcStream{6, 0, []byte{0xff, 0b10000000}},                      // of which the second is NULL
		orcStream{6, 1, []byte("x")}, orcStream{6, 2, []byte{0xff, 1}}, // x
	)
	data := orcFile(0, 7, stripe, footer, nil, orcType(12, 1, 2, "id", "u"), orcType(4), orcType(13, 3, 4, 5), orcType(3), orcType(7), orcType(10, 6), orcType(7))
	in, err := Open(t.Context(), disk, []string{writeFile(t, "unions.orc", data)}, Options{})
	testcheck.Must(t, err)
	var got []string
	testcheck.Must(t, showRows(t, in, &got))
	if want := []string{"1/9", "2/-", `3/a"b`, "4/", `5/-`, `6/["x",null]`, "7/"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
