package hfile

import (
	"bytes"
	"fmt"
	"testing"

	"bulkload/internal/test/testcheck"
)

// TestRowsCopyValues compares copied rows with their values, of all lengths about that of the copies of a fixed size, with and without room after
// them, up to the end of the copies' memory and beyond.
func TestRowsCopyValues(t *testing.T) {
	r := testcheck.Rand(t)
	for range 20 {
		b := &Rows{form: &rowsForm{quals: make([]int, 8), row: 1 << 10}}
		var keys, data [][]byte
		for i, size := 0, 0; size < 2*maxRows; i++ {
			key := fmt.Appendf(nil, "%08d%s", i, bytes.Repeat([]byte("k"), r.IntN(40)))
			values := make([][]byte, 8)
			var joined []byte
			for j := range values {
				n := r.IntN(shortValue + 3)
				switch r.IntN(6) {
				case 0:
					continue // no cell
				case 1:
					n = r.IntN(maxRows / 64)
				}
				v := bytes.Repeat([]byte{byte(1 + r.IntN(255))}, n+r.IntN(2)*shortValue) // bytes after the value must not be seen
				values[j] = v[:n:cap(v)]
				joined = append(joined, values[j]...)
			}
			b.addValues(key, values)
			lens := b.lens[len(b.lens)-8:]
			for j, v := range values {
				if v == nil && lens[j] != -1 || v != nil && int(lens[j]) != len(v) {
					t.Fatalf("row %d, value %d of %d bytes has the length %d", i, j, len(v), lens[j])
				}
			}
			keys, data = append(keys, key), append(data, joined)
			size += len(key) + len(joined)
		}
		for i, v := range b.rows {
			if !bytes.Equal(v.key, keys[i]) || !bytes.Equal(v.data, data[i]) {
				t.Fatalf("row %d of %d: key %q and %d bytes, want %q and %d", i, len(b.rows), v.key, len(v.data), keys[i], len(data[i]))
			}
		}
		if len(b.rows) != len(keys) || b.err != nil {
			t.Fatalf("%d rows of %d: %v", len(b.rows), len(keys), b.err)
		}
	}
}

// TestRowsThatDoNotFit checks that a row whose lengths are not those of the schema's columns, or not those of its values, is an error of AppendRows.
func TestRowsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		lens []int32
		data string
		fits bool
	}{
		"right": {[]int32{1, -1, 2}, "abc", true}, "few lengths": {[]int32{1, 2}, "abc", false}, "many lengths": {[]int32{1, 1, 1, 0}, "abc", false},
		"short data": {[]int32{1, -1, 5}, "abc", false}, "long data": {[]int32{1, -1, 1}, "abc", false}, "below -1": {[]int32{1, -5, 2}, "abc", true},
		"no cell": {[]int32{-1, -1, -1}, "", false},
	} {
		w, err := NewRowWriter(new(bytes.Buffer), Options{Family: []byte("f")}, Schema{Qualifiers: [][]byte{[]byte("a"), []byte("b"), []byte("c")}, Timestamp: 1})
		testcheck.Must(t, err)
		b := w.NewRows()
		b.Add([]byte("k1"), []int32{1, 1, 1}, []byte("xyz"))
		b.Add([]byte("k2"), c.lens, []byte(c.data))
		b.Add([]byte("k3"), []int32{1, 1, 1}, []byte("xyz"))
		if err := w.AppendRows(b); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
