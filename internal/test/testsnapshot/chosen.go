package testsnapshot

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"bulkload/internal/model/choice"
	"bulkload/internal/model/keyrange"
	"bulkload/pkg/hfile"
)

// The rows, columns and timestamps of [Random].
const (
	columnsOfRandom = 4
	firstOfRandom   = 100 // milliseconds
	timesOfRandom   = 8
)

// RandomRow returns the key of row i of [Random].
func RandomRow(i int) string { return fmt.Sprintf("r%04d", i) }

// Random returns cells of the given number of rows, no two of them equal: puts with few timestamps in few columns of some families,
// and markers of single columns. Each row has a cell in column id of the first family with some of the timestamps, and no marker of
// it.
func Random(r *rand.Rand, rows int, families ...string) (cells []hfile.Cell) {
	seen := map[string]bool{}
	add := func(c hfile.Cell) {
		if key := fmt.Sprint(Key(&c), c.Type); !seen[key] {
			seen[key] = true
			cells = append(cells, c)
		}
	}
	at := func() int64 { return firstOfRandom + int64(r.IntN(timesOfRandom)) }
	for i := range rows {
		row := RandomRow(i)
		for range 1 + r.IntN(3) {
			ts := at()
			add(Put(row, families[0], "id", ts, fmt.Sprintf("%04x-%d", uint16(i*40503), ts)))
		}
		for range r.IntN(9) {
			c := Put(row, families[r.IntN(len(families))], fmt.Sprint("q", r.IntN(columnsOfRandom)), at(), fmt.Sprint(r.IntN(1000)))
			if r.IntN(8) == 0 {
				c.Type, c.Value = []hfile.Type{hfile.Delete, hfile.DeleteColumn}[r.IntN(2)], nil
			}
			add(c)
		}
	}
	return cells
}

// RandomChoice returns a selection of cells of [Random]: each bound in half of the cases.
func RandomChoice(r *rand.Rand, rows int, families ...string) (c choice.Choice) {
	if r.IntN(2) == 0 {
		for at := r.IntN(rows); at < rows && len(c.Ranges) < 4; {
			from := at
			at += 1 + r.IntN(rows/3+1)
			c.Ranges = append(c.Ranges, keyrange.Range{Start: []byte(RandomRow(from)), Stop: []byte(RandomRow(at))})
			at += r.IntN(rows/4 + 1)
		}
		if last := len(c.Ranges) - 1; r.IntN(3) == 0 {
			c.Ranges[last].Stop = nil
		}
	}
	if r.IntN(2) == 0 {
		c.Since = firstOfRandom + int64(r.IntN(timesOfRandom))
	}
	if r.IntN(2) == 0 {
		c.Until = max(c.Since, firstOfRandom) + 1 + int64(r.IntN(timesOfRandom))
	}
	if r.IntN(2) == 0 {
		c.Columns = []choice.Column{{Family: families[0], Qualifier: []byte("q1")}, {Family: families[r.IntN(len(families))], Qualifier: []byte("q2")}}
		if last := families[len(families)-1]; r.IntN(2) == 0 {
			c.Columns = append(c.Columns, choice.Column{Family: last})
		}
	}
	return c
}

// Chosen returns the cells that a reader of the given number of versions sees of a selection, like [Seen] for all
// cells.
func Chosen(cells []hfile.Cell, versions int, c choice.Choice) map[string]string {
	return Seen(slices.DeleteFunc(slices.Clone(cells), func(x hfile.Cell) bool {
		if len(c.Ranges) > 0 && !slices.ContainsFunc(c.Ranges, func(r keyrange.Range) bool { return r.Has(x.Row) }) {
			return true
		}
		return x.Type == hfile.Put && (!c.Has(x.Family, x.Qualifier) || x.Timestamp < c.Since || c.Until > 0 && x.Timestamp >= c.Until)
	}), versions)
}
