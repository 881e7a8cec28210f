package cells

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
	"bulkload/pkg/source/span"
)

// TestRecordsWithoutCell makes the rows of all records of NULLs, empty texts and values: those without any cell are refused, whether the values are
// located or made.
func TestRecordsWithoutCell(t *testing.T) {
	columns := []string{"id", "a", "b", "c"}
	for _, third := range []spec.CellSpec{{Column: "c"}, {Expr: "c", Qualifier: "c"}, {Column: "c", Type: "int"}, {JSON: true, Columns: []string{"c"}, Qualifier: "c"}} {
		for _, empty := range []string{"skip", "store"} {
			s := jobtest.Resolve(t, spec.Spec{Table: "t", Inputs: []string{"x"}, Columns: columns, Key: "id", Empty: empty, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "a"}, {Column: "b"}, third}}})
			p, err := NewPlan(s, columns, jobtest.Family, nil, 1)
			testcheck.Must(t, err)
			m, err := newRowMaker(p, 0)
			testcheck.Must(t, err)
			m.first = m
			kinds := []string{"null", "empty", "value"}
			for n := range 27 {
				b := &source.Batch{Rows: 1, Cols: 4, Data: []byte("7"), Fields: []span.Span{{Len: 1}}}
				name, cells := fmt.Sprintf("%+v, empty texts %s:", third, empty), 0
				for i, at := range []int{n % 3, n / 3 % 3, n / 9} {
					b.Fields = append(b.Fields, []span.Span{span.Null(), {}, {Len: 1}}[at])
					name += " " + kinds[at]
					if i == 2 && third.JSON || at == 2 || at == 1 && empty == "store" && !(i == 2 && third.Type == "int") {
						cells++
					}
				}
				err := m.Make(b, 0)
				if none := err != nil && strings.Contains(err.Error(), "no cell"); err != nil && !none || none != (cells == 0) {
					t.Errorf("%s: %v, want %d cells", name, err, cells)
				}
				if got := 0; err == nil {
					for _, l := range m.lengths {
						if l >= 0 {
							got++
						}
					}
					if got != cells {
						t.Errorf("%s: %d cells, want %d", name, got, cells)
					}
				}
			}
		}
	}
}
