package cells

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// TestTablesOfOneSource tests which tables share encoded values.
func TestTablesOfOneSource(t *testing.T) {
	columns := []string{"id", "rule", "day", "note", "life", "row"}
	j := jobtest.Resolve(t, spec.Spec{Table: "a", Inputs: []string{"x"}, Columns: columns, Key: "id", Tables: []spec.TableSpec{
		{Table: "b", Key: "rule + id"}, {Table: "c", Key: "id", Columns: []string{"rule", "day"}}, {Table: "d", Key: "id", Empty: "store"},
		{Table: "e", Key: "day + id", Family: "g"}, {Table: "f", Key: "id", Columns: []string{"day", "rule"}},
		{Table: "g", Key: "id", Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "life", Type: "long"}, {Rest: true}}}}, {Index: "i", Table: "h", Key: "day + id"}}})
	var makers []*RowMaker
	for _, target := range j.Targets() {
		p, err := NewPlan(target.Job, columns, spec.DefaultFamily(target.FamilyName()), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := newRowMaker(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		makers = append(makers, m)
	}
	sources := func(nulls bool) (list []int) {
		SetNulls(makers, nulls)
		for _, m := range makers {
			list = append(list, slices.Index(makers, m.source))
		}
		return list
	}
	if got, want := sources(false), []int{0, 0, 2, 3, 0, 2, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("sources %v, want %v", got, want)
	}
	// With NULL besides empty text, empty text is stored by default too.
	if got, want := sources(true), []int{0, 0, 2, 0, 0, 2, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("sources %v with NULL, want %v", got, want)
	}
	// A table's own filter leaves out records, without values, that other tables have.
	makers[2].filter = &Filter{}
	if got, want := sources(true), []int{0, 0, 2, 0, 0, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("sources %v with a filter, want %v", got, want)
	}
}

// TestComputedRowsDoNotAllocate makes the same rows repeatedly: the buffers are reused.
func TestComputedRowsDoNotAllocate(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,name,amount,day\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "%06d, name %d ,%d.%02d,2017-01-%02d\n", i, i, i, i%100, 1+i%28)
	}
	input := filepath.Join(t.TempDir(), "x.csv")
	testcheck.Must(t, os.WriteFile(input, []byte(b.String()), 0o600))
	s := jobtest.Resolve(t, spec.Spec{Inputs: []string{input}, Key: "id", Timestamp: 1, Filter: "day < '2017-01-15' and amount > 100", Mapping: spec.Mapping{Cells: []spec.CellSpec{
		{Expr: "upper(trim(name))", Qualifier: "n"}, {Expr: "multiply(amount, 99999999999999999999.5)", Qualifier: "m", Type: "decimal"}, {Expr: "case when name matches '[0-4]' then substr(name, 2) else null end", Qualifier: "c"}, {Rest: true}}}})
	in, err := source.Open(t.Context(), jobtest.Env(t).Source, s.Inputs, source.Options{})
	testcheck.Must(t, err)
	p, err := NewPlan(s, in.Columns(), jobtest.Family, nil, 1)
	testcheck.Must(t, err)
	m, err := newRowMaker(p, 0)
	testcheck.Must(t, err)
	filter, err := p.NewFilter()
	testcheck.Must(t, err)
	m.first = m
	kept := 0
	testcheck.Must(t, in.NewReader().Read(t.Context(), 0, func(b *source.Batch) error {
		all := func() {
			kept = 0
			for row := range b.Rows {
				if keep, err := filter.Keeps(b, row); err != nil || !keep {
					continue
				}
				if m.Make(b, row) == nil {
					kept++
				}
			}
		}
		all()
		if n := testing.AllocsPerRun(3, all); n != 0 && !race.Reduced(t) { // with the race detector, sync.Pool drops the objects that regexp keeps there
			t.Errorf("%v allocations of %d rows", n, b.Rows)
		}
		return nil
	}))
	if kept == 0 {
		t.Error("no row")
	}
}
