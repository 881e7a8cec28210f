package tablesource_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// listed iterates over the cells of a list. Next overwrites the previous cell.
type listed struct {
	cells []hfile.Cell
	at    int // index after the current cell
	is    hfile.Cell
	err   error
}

func (l *listed) Next() bool {
	if l.at >= len(l.cells) {
		return false
	}
	for _, b := range [][]byte{l.is.Row, l.is.Family, l.is.Qualifier, l.is.Value} {
		clear(b)
	}
	c := l.cells[l.at]
	l.is = hfile.Cell{Row: bytes.Clone(c.Row), Family: bytes.Clone(c.Family), Qualifier: bytes.Clone(c.Qualifier), Timestamp: c.Timestamp, Type: c.Type, Value: bytes.Clone(c.Value)}
	l.at++
	return true
}

func (l *listed) Cell() *hfile.Cell { return &l.is }

func (l *listed) NewRow() bool {
	return l.at == 1 || !bytes.Equal(l.cells[l.at-1].Row, l.cells[l.at-2].Row)
}

func (l *listed) Err() error {
	if l.at < len(l.cells) {
		return nil
	}
	return l.err
}

// TestByTime checks that the cells of random rows are ordered by row, then time from new to old, then column, and that each pair of row
// and time begins a record.
func TestByTime(t *testing.T) {
	r := testcheck.Rand(t)
	lost := errors.New("lost")
	for range 300 {
		cells := slices.DeleteFunc(testsnapshot.Random(r, r.IntN(12), "f", "g"), func(c hfile.Cell) bool { return c.Type != hfile.Put })
		column := func(a, b hfile.Cell) int {
			return cmp.Or(bytes.Compare(a.Row, b.Row), bytes.Compare(a.Family, b.Family), bytes.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Timestamp, a.Timestamp))
		}
		slices.SortFunc(cells, column)
		in := &listed{cells: slices.Clone(cells)}
		if r.IntN(2) == 0 {
			in.err = lost
		}
		slices.SortFunc(cells, func(a, b hfile.Cell) int {
			return cmp.Or(bytes.Compare(a.Row, b.Row), cmp.Compare(b.Timestamp, a.Timestamp), column(a, b))
		})
		var want []string
		for i, c := range cells {
			if in.err != nil && len(cells) > 0 && bytes.Equal(c.Row, cells[len(cells)-1].Row) {
				break // the last row may lack cells
			}
			first := i == 0 || !bytes.Equal(c.Row, cells[i-1].Row) || c.Timestamp != cells[i-1].Timestamp
			want = append(want, fmt.Sprintf("%s %s %t", testsnapshot.Key(&c), c.Value, first))
		}
		var got []string
		b := tablesource.NewByTime(in, 1<<20)
		for b.Next() {
			got = append(got, fmt.Sprintf("%s %s %t", testsnapshot.Key(b.Cell()), b.Cell().Value, b.NewRow()))
		}
		if !slices.Equal(got, want) || !errors.Is(b.Err(), in.err) || b.Next() {
			t.Fatalf("%d cells, want %d; %v", len(got), len(want), b.Err())
		}
	}
}

// TestByTimeBounds checks that a row that exceeds the limit ends the cells with an error, and that a row of exactly this size does not.
func TestByTimeBounds(t *testing.T) {
	row := []hfile.Cell{testsnapshot.Put("r", "f", "q", 2, "12345"), testsnapshot.Put("r", "f", "q", 1, "123")}
	for most, want := range map[int]int{14: 2, 13: 0} { // the row key counts once in the held row, and once in each compared cell
		b := tablesource.NewByTime(&listed{cells: row}, most)
		n := 0
		for b.Next() {
			n++
		}
		if bad := want == 0; n != want || bad != (b.Err() != nil) || bad && (fail.KindOf(b.Err()) != fail.Input || !strings.Contains(b.Err().Error(), "more than 13 bytes in its versions")) || b.Next() {
			t.Errorf("%d bytes: %d cells, want %d; %v", most, n, want, b.Err())
		}
	}
}
