package export

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"

	"pgregory.net/rapid"
)

// TestCompareText compares with bytes.Compare.
func TestCompareText(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("\x00a\x7f\u0080ÿ訂")), 0, 5, -1)
	testcheck.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), []byte(text.Draw(t, "b"))
		if got := cmp.Compare(compareText(a, b), 0); got != bytes.Compare([]byte(a), b) {
			t.Fatalf("%q and %q: %d", a, b, got)
		}
	})
}

// TestDigestLengths checks the lengths before the parts of a cell in the form that the digest covers: four bytes, little-endian.
func TestDigestLengths(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 255, 256, 257, 65535, 65536, 65537, 1<<24 - 1, 1 << 24, 1<<24 + 1} {
		r := &rows{}
		r.count(&hfile.Cell{Family: []byte("f"), Qualifier: make([]byte, n%300), Value: make([]byte, n)})
		var want []byte
		for _, part := range [][]byte{[]byte("f"), make([]byte, n%300), make([]byte, n)} {
			want = append(binary.LittleEndian.AppendUint32(want, uint32(len(part))), part...)
		}
		if !bytes.Equal(r.form, want) || r.cells != 1 {
			t.Errorf("a value of %d bytes: %x, want %x", n, r.form[:min(len(r.form), 20)], want[:min(len(want), 20)])
		}
	}
}
