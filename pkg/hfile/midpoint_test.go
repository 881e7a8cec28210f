package hfile

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"bulkload/internal/test/testcheck"
)

// TestMidpoint compares index keys with those of a plain function that makes the key between two cells from a new slice, for rows and for qualifiers,
// with any bytes before the key in the buffer.
func TestMidpoint(t *testing.T) {
	between := func(left, right []byte) []byte {
		n := commonPrefix(left, right)
		m := bytes.Clone(right[:n])
		if n == len(left) {
			return append(m, 0)
		}
		return append(m, left[n]+1)
	}
	testcheck.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 5)
		family := []byte("f")
		a := appendKey(nil, text.Draw(t, "row"), family, text.Draw(t, "qualifier"), 5, Put)
		b := appendKey(nil, text.Draw(t, "row of the other"), family, text.Draw(t, "qualifier of the other"), 4, Put)
		left, err := parseKey(a)
		if err != nil {
			t.Fatal(err)
		}
		right, err := parseKey(b)
		if err != nil {
			t.Fatal(err)
		}
		if c := bytes.Compare(left.row(), right.row()); c > 0 || c == 0 && bytes.Compare(left.qualifier(), right.qualifier()) > 0 {
			left, right = right, left
		}
		want := right.key
		switch {
		case !bytes.Equal(left.row(), right.row()):
			want = appendKey(nil, between(left.row(), right.row()), nil, nil, LatestTimestamp, typeMaximum)
		case !bytes.Equal(left.qualifier(), right.qualifier()):
			want = appendKey(nil, right.row(), family, between(left.qualifier(), right.qualifier()), LatestTimestamp, typeMaximum)
		}
		before := text.Draw(t, "before")
		kept := bytes.Clone(right.key)
		got := appendMidpoint(bytes.Clone(before), &left, &right)
		if !bytes.Equal(got, append(bytes.Clone(before), want...)) || !bytes.Equal(right.key, kept) {
			t.Fatalf("between %q and %q: %q, want %q", left.key, right.key, got[len(before):], want)
		}
	})
}
