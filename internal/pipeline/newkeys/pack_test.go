package newkeys

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"bulkload/internal/model/manifest"
	"bulkload/pkg/hfile"
)

// randomRow returns the cells of a row, by family.
func randomRow(rnd *rand.Rand, columns int) (families []int, cells []*hfile.Cell) {
	stamp := rnd.Int64()
	for n := rnd.IntN(20); n >= 0; n-- {
		c := &hfile.Cell{Qualifier: fmt.Appendf(nil, "q%d", rnd.IntN(columns)), Timestamp: stamp, Value: make([]byte, rnd.IntN(200)), Type: hfile.Put}
		if rnd.IntN(4) == 0 {
			c.Timestamp = rnd.Int64()
		}
		if rnd.IntN(4) == 0 {
			c.Tags = make([]byte, 1+rnd.IntN(9))
		}
		if rnd.IntN(10) == 0 {
			c.Qualifier = nil
		}
		families, cells = append(families, rnd.IntN(3)), append(cells, c)
	}
	return families, cells
}

// TestPacked checks that unpacked cells equal the packed ones, in columns with numbers and without, packed by several workers.
func TestPacked(t *testing.T) {
	for _, columns := range []int{1, 30, 2 * maxNames} {
		rnd := rand.New(rand.NewPCG(1, uint64(columns)))
		names := &columnNames{}
		workers := []*packer{{names: newColumnGuess(names)}, {names: newColumnGuess(names)}}
		type row struct {
			families []int
			cells    []*hfile.Cell
			packed   []byte
		}
		var rows []row
		for i := range 4000 {
			p := workers[i%2]
			p.begin()
			r := row{}
			r.families, r.cells = randomRow(rnd, columns)
			for j, c := range r.cells {
				p.add(r.families[j], c)
			}
			r.packed = bytes.Clone(p.cells)
			rows = append(rows, r)
		}
		all := names.all()
		if want := min(3*(columns+1), maxNames); len(all) != want {
			t.Errorf("%d columns have numbers, of %d", len(all), want)
		}
		for i, r := range rows {
			p := packed{rest: r.packed, names: all}
			for j, want := range r.cells {
				if !p.next() || p.family != r.families[j] || !bytes.Equal(p.cell.Qualifier, want.Qualifier) || p.cell.Timestamp != want.Timestamp ||
					!bytes.Equal(p.cell.Value, want.Value) || !bytes.Equal(p.cell.Tags, want.Tags) || p.cell.Type != hfile.Put {
					t.Fatalf("row %d, cell %d: %+v of family %d, packed was %+v of family %d (%v)", i, j, p.cell, p.family, want, r.families[j], p.err)
				}
			}
			if p.next() || p.err != nil {
				t.Fatalf("row %d has more cells, or %v", i, p.err)
			}
		}
	}
}

// FuzzPacked checks that unpacking does not read beyond its input.
func FuzzPacked(f *testing.F) {
	p := &packer{names: newColumnGuess(&columnNames{})}
	p.begin()
	p.add(0, &hfile.Cell{Qualifier: []byte("a"), Timestamp: 1, Value: []byte("v"), Tags: []byte("t")})
	p.add(1, &hfile.Cell{Qualifier: []byte("b"), Timestamp: 1, Value: []byte("w")})
	f.Add(p.cells)
	f.Fuzz(func(t *testing.T, b []byte) {
		p := packed{rest: b, names: []column{{0, []byte("a")}}}
		n := 0
		for p.next() {
			n++
		}
		if n > len(b) {
			t.Errorf("%d cells in %d bytes", n, len(b))
		}
	})
}

// TestRowHash checks that a row has one sum, whatever its length, and a dropped row none.
func TestRowHash(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	h := &RowHash{}
	var want manifest.RowSum
	for range 200 {
		var all []byte
		cells := 1 + rnd.IntN(40)
		for range cells {
			value := make([]byte, rnd.IntN(9000))
			for i := range value {
				value[i] = byte(rnd.Uint32())
			}
			all = append(all, "\x01f\x00\x00\x00\x01q"...)
			all = binary.BigEndian.AppendUint64(all, 7)
			all = append(binary.BigEndian.AppendUint32(all, uint32(len(value))), value...)
			h.Add([]byte("f"), []byte("q"), 7, value)
		}
		if rnd.IntN(3) == 0 {
			h.drop()
			continue
		}
		h.End()
		sum := xxh3.Hash128(all)
		want.Add(manifest.RowSum{Rows: 1, Cells: int64(cells), High: sum.Hi, Low: sum.Lo})
	}
	if h.Sum != want {
		t.Errorf("%s, not %s", h.Sum, want)
	}
}
