package cells

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
)

// TestMappingErrors checks that all errors of an invalid job file are reported together.
func TestMappingErrors(t *testing.T) {
	for _, c := range []struct {
		yaml string
		want []string
	}{
		{"cells: [{column: a, type: number}, {rest: true, qualifier: x}, {json: true}]\nskip: [a]",
			[]string{`cell 1 (column a): type "number" is invalid: want one of text, short`, "cell 2 (rest): a qualifier is for a single cell", "cell 3 (json): it needs a qualifier", `column "a" is under skip too`}},
		{"cells: [{column: a, value: x, qualifier: q}]", []string{"say one of column, columns, value, expr, json and rest"}},
		{"cells: [{qualifier: q}]", []string{"say one of column"}},
		{"cells: [{rest: true}, {rest: true}]", []string{"rest is given twice"}},
		{"cells: [{value: x1, qualifier: q, type: int}]", []string{`value: value of 2 bytes is not a whole number`}},
		{"cells: [{column: a, family: 'x:y'}]", []string{`"x:y" is not a family name`}},
		{"cell_timestamp: {column: a, layout: nix}\ncell_ttl: {unit: h}", []string{`cell_timestamp: the layout "nix" has "n"`, "cell_ttl: it needs a column", `unit "h" is invalid: want s or ms`}},
		{"cells: [{column: a, qualifier: x, qualifier_from: b}, {rest: true, qualifier_from: b}]", []string{"cell 1 (column a): qualifier_from is for", "cell 2 (rest): qualifier_from is for"}},
		{"cells: [{columns: [a, a]}]", []string{`column "a" is named twice`}},
	} {
		s, err := spec.ParseSpec("x", []byte("key: id\n"+c.yaml))
		if err == nil {
			_, err = s.Resolve()
		}
		for _, want := range c.want {
			if fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", c.yaml, err, want)
			}
		}
	}
	if _, err := spec.ParseSpec("x", []byte("cell_timestamp: {colum: a}]")); fail.KindOf(err) != fail.Config {
		t.Errorf("a misspelt field: %v", err)
	}
	for _, c := range []struct{ yaml, want string }{
		{"cells: [{column: nix}, {columns: [id, nax]}]\nskip: [nox]", "nox"},
		{"cells: [{column: nix}, {columns: [id, nax]}]\nskip: [nox]", "nax"},
		{"cells: [{column: nix}]", `unknown column "nix" (the input has`},
		{"cells: [{column: id, qualifier: n}, {column: n}]", "two of them are f:n"},
		{"cell_timestamp: {column: x}\ncell_ttl: {column: y}", `cell_ttl: unknown column "y"`},
		{"cells: [{column: n, qualifier_from: q}]", `unknown column "q"`},
		{"skip: [id, n]", "no column is left"},
	} {
		s, err := spec.ParseSpec("x", []byte("key: id\n"+c.yaml))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPlan(jobtest.Resolve(t, *s), []string{"id", "n"}, jobtest.Family, nil, 1); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.yaml, err, c.want)
		}
	}
}

// BenchmarkColumns opens inputs with many columns and makes their plan.
func BenchmarkColumns(b *testing.B) {
	for _, n := range []int{5_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("column_%05d", i)
			}
			s := spec.Spec{Columns: names, Key: "column_00000", Family: "f"}
			for b.Loop() {
				if _, err := NewPlan(jobtest.Resolve(b, s), names, jobtest.Family, nil, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPlanOfManyColumns makes the plan of 20,000 columns. Formerly, each name was searched for among all others.
func TestPlanOfManyColumns(t *testing.T) {
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("column_%05d", i)
	}
	s := spec.Spec{Columns: names, Key: "column_00000", Family: "f"}
	s.Skip = names[10_000:]
	s.Cells = []spec.CellSpec{{Columns: names[:5_000]}, {Rest: true}}
	p, err := NewPlan(jobtest.Resolve(t, s), names, jobtest.Family, nil, 1)
	if err != nil || len(p.Slots) != 10_000 {
		t.Fatal(len(p.Slots), err)
	}
	s.Columns = append(names[:1:1], names...)
	if _, err := s.Resolve(); err == nil || !strings.Contains(err.Error(), `column "column_00000" is named twice`) {
		t.Errorf("%.200v", err)
	}
}

// TestUnknownModulusIsRefused checks the error for a salt whose modulus neither the split points nor the settings show.
func TestUnknownModulusIsRefused(t *testing.T) {
	s := jobtest.Spec(t, "check")
	_, err := NewPlan(jobtest.Resolve(t, s), s.Columns, jobtest.Family, [][]byte{[]byte("19999999"), []byte("33333332")}, 1)
	if fail.KindOf(err) != fail.Config || !strings.Contains(fmt.Sprint(err), "the key salt(check_id) + md5hex(check_id) + id needs a modulus for its salt") {
		t.Fatalf("error is %v", err)
	}
	s.Regions = 7
	if p, err := NewPlan(jobtest.Resolve(t, s), s.Columns, jobtest.Family, [][]byte{[]byte("m")}, 1); err != nil || p.Modulus != 7 {
		t.Fatalf("%v", err)
	}
	s.Regions, s.Key = 0, "check_id + id"
	if _, err := NewPlan(jobtest.Resolve(t, s), s.Columns, jobtest.Family, [][]byte{[]byte("m")}, 1); err != nil {
		t.Fatalf("a key without a salt needs no modulus: %v", err)
	}
}
