package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// writeInput writes a file of records with the given text.
func writeInput(t testing.TB, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// buildCells builds a job with one region, and returns its cells as lines.
func buildCells(t testing.TB, s spec.Spec) ([]string, *manifest.Manifest, error) {
	t.Helper()
	dir := t.TempDir()
	m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, dir, WorkOptions{})
	if err != nil {
		return nil, nil, err
	}
	return builtCells(t, dir, m), m, nil
}

// TestComputedCells uses expressions of each kind, stored by type, on records with NULL and with empty text. The result is the same
// as that of a job that has the values as columns.
func TestComputedCells(t *testing.T) {
	cells := []spec.CellSpec{
		{Expr: "upper(trim(name))", Qualifier: "n"}, {Expr: "multiply(amount, 100)", Qualifier: "cents", Type: "long", Family: "g"},
		{Expr: "amount > 9", Qualifier: "large", Type: "boolean"}, {Expr: "nullif(name, '')", Qualifier: "null", Nulls: "store"},
		{Expr: "date(now(), 'unixms', 'yyyy-MM-dd')", Qualifier: "loaded", Type: "date"}, {Expr: "name + '!'", QualifierFrom: "id"},
	}
	computed := writeInput(t, "x.jsonl", `{"id":"a","name":" Wei ","amount":"12.34"}
{"id":"b","name":"","amount":null}
{"id":"c","name":null,"amount":5}
`)
	plain := writeInput(t, "x.jsonl", `{"id":"a","n":"WEI","cents":"1234","large":"true","null":" Wei ","loaded":"2023-11-14","w":" Wei !"}
{"id":"b","n":"","cents":null,"large":null,"null":null,"loaded":"2023-11-14","w":"!"}
{"id":"c","n":null,"cents":"500","large":"false","null":null,"loaded":"2023-11-14","w":null}
`)
	for name, last := range map[string]int{"all": len(cells), "without a qualifier of the record": len(cells) - 1} {
		t.Run(name, func(t *testing.T) {
			of := spec.Spec{Key: "id", Inputs: []string{computed}, Timestamp: 1700000000000, Columns: []string{"id", "name", "amount"}, Mapping: spec.Mapping{Cells: cells[:last]}}
			by := of
			by.Inputs, by.Columns, by.Cells = []string{plain}, []string{"id", "n", "cents", "large", "null", "loaded", "w"}, slices.Clone(cells[:last])
			for i, column := range by.Columns[1 : last+1] {
				by.Cells[i].Column, by.Cells[i].Expr = column, ""
			}
			// 1234.00 is a long, as are texts of digits alone
			of.Cells = slices.Clone(of.Cells)
			of.Cells[1].Expr = "round(multiply(amount, 100), 0)"
			got, _, err := buildCells(t, of)
			testcheck.Must(t, err)
			want, _, err := buildCells(t, by)
			testcheck.Must(t, err)
			if !slices.Equal(got, want) || len(got) < 10 {
				t.Errorf("cells\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestComputedErrors checks expressions that are refused before a record is read, and records without a value.
func TestComputedErrors(t *testing.T) {
	input := writeInput(t, "x.csv", "id,n\na,1\nb,x\n")
	for _, c := range []struct {
		s    spec.Spec
		want string
	}{
		{spec.Spec{Mapping: spec.Mapping{Cells: []spec.CellSpec{{Expr: "upper(m)", Qualifier: "q"}}}}, `cells: cell 1 (expr): unknown column "m"`},
		{spec.Spec{Filter: "m = '1'"}, `filter: unknown column "m"`},
		{spec.Spec{Filter: "n > 0"}, "column n: value of 1 byte is not a decimal number (in n > 0)"},
		{spec.Spec{Mapping: spec.Mapping{Cells: []spec.CellSpec{{Expr: "add(n, 1)", Qualifier: "q"}}}}, "column n: cell f:q: value of 1 byte is not a decimal number (in add(n, 1))"},
		{spec.Spec{Mapping: spec.Mapping{Cells: []spec.CellSpec{{Expr: "n + '0'", Qualifier: "q", Type: "int"}}}}, "column n: cell f:q: value of 2 bytes is not a whole number"},
	} {
		c.s.Inputs, c.s.Key = []string{input}, "id"
		_, _, err := buildCells(t, c.s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v: %v, want %s", c.s.Filter, c.s.Cells, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"filter: n":                           "filter: it is text, not a condition",
		"filter: n =":                         "filter: expression, position 4, at the end",
		"cells: [{expr: n}]":                  "cell 1 (expr): it needs a qualifier",
		"cells: [{expr: n + , qualifier: q}]": "cell 1 (expr): expr: expression, position 4",
		"cells: [{expr: n = '1', qualifier: q, type: int}]": "type int: the expression is a condition",
		"cells: [{expr: n, column: n, qualifier: q}]":       "say one of column, columns, value, expr, json and rest",
		"cells: [{expr: 'json(n, ''a'')', qualifier: q}]":   "is not a place in JSON",
		"cells: [{expr: n, qualifier: q, empty: maybe}]":    "empty: \"maybe\" is invalid",
		"filter: json(n, '$.a[') = 'x'":                     "is not a place in JSON",
	} {
		s, err := spec.ParseSpec("x", []byte("table: t\nkey: id\n"+text))
		if err == nil {
			_, err = s.Resolve()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestFilterCounts checks that filtered records are not bad records, even without a key, and that the counts add up.
func TestFilterCounts(t *testing.T) {
	input := writeInput(t, "x.csv", "id,n,flag\na,1,0\na,2,0\n,3,1\n,4,0\nb,5,1\nc,x,1\nd,6,0\n")
	s := spec.Spec{Inputs: []string{input}, Key: "id", Timestamp: 1, Filter: "flag = '0' and n >= 0", Duplicates: "first", BadRecords: "1"}
	cells, m, err := buildCells(t, s)
	testcheck.Must(t, err)
	if m.Records != 7 || m.Filtered != 3 || m.Rejected != 1 || m.Duplicates != 1 || m.Digest.Rows != 2 || len(cells) != 6 {
		t.Errorf("%d records, %d filtered, %d rejected, %d duplicates, %s; %q", m.Records, m.Filtered, m.Rejected, m.Duplicates, m.Digest, cells)
	}
	s.Filter = "n >= 0" // not defined for x
	if _, _, err := buildCells(t, s); fail.KindOf(err) != fail.BadRows {
		t.Error(err)
	}
	s.Filter = "n = '7'"
	if _, _, err := buildCells(t, s); fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "the filter leaves out all records of the input (7);") {
		t.Error(err)
	}
	s.AllowEmpty = true
	if _, m, err := buildCells(t, s); err != nil || m.Filtered != 7 || m.Digest.Rows != 0 {
		t.Error(m, err)
	}
}

// TestFilterOfRowKeys checks that a replacing job keeps exactly the rows of the records that pass the filter.
func TestFilterOfRowKeys(t *testing.T) {
	s := jobtest.Resolve(t, spec.Spec{Inputs: []string{writeInput(t, "x.csv", "id,n\na,1\nb,2\nc,3\n,2\n")}, Key: "id", Timestamp: 1, Filter: "n != '2'"})
	in, err := OpenInput(t.Context(), jobtest.Env(t).Source, s, WorkOptions{})
	testcheck.Must(t, err)
	p, err := cells.NewPlan(s, in.Source.Columns(), jobtest.Family, nil, 1)
	testcheck.Must(t, err)
	var mu sync.Mutex
	var keys []string
	testcheck.Must(t, RowKeys(t.Context(), p, in.Source, Options{Budget: in.Budget}, func() func([]byte) error {
		return func(key []byte) error {
			mu.Lock()
			defer mu.Unlock()
			keys = append(keys, string(key))
			return nil
		}
	}))
	if slices.Sort(keys); !slices.Equal(keys, []string{"a", "c"}) {
		t.Errorf("%q", keys)
	}
}
