package rowjson

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

func cells(pairs ...string) loader.Row {
	r := loader.Row{Key: []byte("k")}
	for i := 0; i < len(pairs); i += 2 {
		family, qualifier, _ := strings.Cut(pairs[i], ":")
		r.Cells = append(r.Cells, loader.Cell{Family: []byte(family), Qualifier: []byte(qualifier), Value: []byte(pairs[i+1])})
	}
	return r
}

func names(s *Shape) string {
	var all []string
	for _, c := range s.Columns {
		all = append(all, c.Name)
	}
	return strings.Join(all, " ")
}

func TestShape(t *testing.T) {
	one := "1"
	for _, c := range []struct {
		name string
		spec spec.Spec
		want string
		open bool
	}{
		{"columns", spec.Spec{Columns: []string{"b", "a"}}, "b a", false},
		{"a header's columns", spec.Spec{}, "", true},
		{"cells", spec.Spec{Columns: []string{"a", "b", "c", "d"}, Mapping: spec.Mapping{Skip: []string{"d"}, Cells: []spec.CellSpec{
			{Column: "b", Family: "g", Qualifier: "x"}, {Value: &one, Qualifier: "one"}, {Rest: true}, {JSON: true, Qualifier: "all"}}}}, "g:x one a c all", false},
		{"qualifiers that are values", spec.Spec{Columns: []string{"a", "b"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "a", QualifierFrom: "b"}}}}, "", true},
		{"no rest", spec.Spec{Columns: []string{"a", "b"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Columns: []string{"b"}, Type: "int"}}}}, "b", false},
	} {
		if s := New(c.spec); names(s) != c.want || s.Open() != c.open {
			t.Errorf("%s: %q, open %t, want %q", c.name, names(s), s.Open(), c.want)
		}
	}
}

func TestSelect(t *testing.T) {
	s := New(spec.Spec{Columns: []string{"a", "b", "c"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "b", Family: "g"}, {Rest: true}}}})
	selected, err := s.Select([]string{"c", "g:b"}, query.SplitColumn)
	if err != nil || names(selected) != "c g:b" {
		t.Fatalf("%q, %v", names(selected), err)
	}
	if got := string(NewEncoder(selected).Append(nil, cells("f:a", "x", "f:c", "1", "g:b", "2"))); got != `{"c":"1","g:b":"2"}` {
		t.Errorf("%s", got)
	}
	for _, bad := range [][]string{{"b"}, {"a", "f:a"}, {""}, {"g:"}} {
		_, err := s.Select(bad, query.SplitColumn)
		if _, ok := errors.AsType[*ColumnError](err); !ok {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestSelectOfOpenShapes checks that columns that a job does not name can be selected only in the families that have such cells by the job file: other
// families of its table are not the job's.
func TestSelectOfOpenShapes(t *testing.T) {
	values := spec.Mapping{Cells: []spec.CellSpec{{Column: "a"}, {Column: "b", Family: "g", QualifierFrom: "c"}}}
	for name, c := range map[string]struct {
		spec spec.Spec
		yes  []string
		no   []string
	}{
		"a rest": {spec.Spec{Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "b", Family: "g"}, {Rest: true}}}},
			[]string{"any", "f:any", "g:b", "f:x:y"}, []string{"other:any", ":any", "g:any", "g:", "other:"}},
		"a rest of another family":     {spec.Spec{Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "b"}, {Rest: true, Family: "g"}}}}, []string{"b", "g:any"}, []string{"any", "other:any", ":any"}},
		"qualifiers that are values":   {spec.Spec{Columns: []string{"a", "b", "c"}, Mapping: values}, []string{"a", "g:any"}, []string{"any", "other:any"}},
		"a header's columns":           {spec.Spec{Family: "own"}, []string{"any", "own:any"}, []string{"f:any"}},
		"a rest of columns with names": {spec.Spec{Columns: []string{"a"}}, []string{"a"}, []string{"any", "other:a"}},
	} {
		s := New(c.spec)
		for _, column := range c.yes {
			if selected, err := s.Select([]string{column}, query.SplitColumn); err != nil || len(selected.Columns) != 1 {
				t.Errorf("%s: %s: %v", name, column, err)
			}
		}
		for _, column := range c.no {
			_, err := s.Select([]string{column}, query.SplitColumn)
			if _, ok := errors.AsType[*ColumnError](err); !ok {
				t.Errorf("%s: %s: %v", name, column, err)
			}
		}
	}
}

// TestNamesDiffer checks that no two cells of a row have one name.
func TestNamesDiffer(t *testing.T) {
	s := New(spec.Spec{Columns: []string{"g:x", "y"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "g:x"}, {Column: "y", Family: "g", Qualifier: "x"}}}})
	row := cells("f:\\xFF", "1", "f:g:x", "2", "f:\xff", "3", "g:x", "4")
	if got, want := string(NewEncoder(s).Append(nil, row)), `{"f:g:x":"2","g:x":"4","\\x5CxFF":"1","\\xFF":"3"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	selected, err := s.Select([]string{"f:g:x", "g:x"}, query.SplitColumn)
	if err != nil || names(selected) != "f:g:x g:x" {
		t.Errorf("%v", err)
	}
}

// TestColumnsByTheirNames selects each column of a row by the name that the whole row shows.
func TestColumnsByTheirNames(t *testing.T) {
	s := New(spec.Spec{Columns: []string{`\xFF`, `a\b`}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Rest: true}, {Column: "q", QualifierFrom: "q"}}}})
	row := cells(`f:\xFF`, "four", `f:a\b`, "declared", "f:b,c", "comma", `f:c\xF`, "odd", "f:\xff", "byte")
	if got, want := string(NewEncoder(s).Append(nil, row)), `{"\\x5CxFF":"four","a\\b":"declared","b,c":"comma","c\\x5CxF":"odd","\\xFF":"byte"}`; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	for name, want := range map[string]string{`\x5CxFF`: "four", `a\b`: "declared", "b,c": "comma", `b\x2Cc`: "comma", `c\x5CxF`: "odd", `c\xF`: "odd", `\xFF`: "byte", "\xff": "byte", `f:\xFF`: "byte"} {
		selected, err := s.Select([]string{name}, query.SplitColumn)
		testcheck.Must(t, err)
		if got := string(NewEncoder(selected).Append(nil, row)); !strings.HasSuffix(got, `:"`+want+`"}`) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := s.Select([]string{"\xff", `\xFF`}, query.SplitColumn); err == nil {
		t.Error("a column is given twice")
	}
}

// TestTypesOfValuesAsQualifiers checks that cells whose qualifiers are values have the form of their type, and are base64 if their family has several types.
func TestTypesOfValuesAsQualifiers(t *testing.T) {
	wide := func(family, typ string) spec.CellSpec {
		return spec.CellSpec{Column: "n", Family: family, QualifierFrom: "q", Type: typ}
	}
	s := New(spec.Spec{Columns: []string{"id", "n", "q"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "id", Family: "o"}, wide("o", "int"), wide("p", "int"), wide("p", "")}}})
	row := cells("o:17", "\x00\x00\x00A", "o:18", "no number", "o:id", "text", "p:1", "A")
	if got, want := string(NewEncoder(s).Append(nil, row)), `{"o:id":"text","o:17":65,"o:18":{"base64":"bm8gbnVtYmVy"},"p:1":{"base64":"QQ=="}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	selected, err := s.Select([]string{"p:1", "o:17"}, query.SplitColumn)
	testcheck.Must(t, err)
	if got, want := string(NewEncoder(selected).Append(nil, row)), `{"p:1":{"base64":"QQ=="},"o:17":65}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEncoder(t *testing.T) {
	s := New(spec.Spec{Columns: []string{"id", "n", "text"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "n", Type: "int"}, {Rest: true}}}})
	e := NewEncoder(s)
	for _, c := range []struct {
		row  loader.Row
		want string
	}{
		{cells("f:id", "1", "f:n", "\x00\x00\x00\x07", "f:text", ""), `{"n":7,"id":"1","text":""}`},
		{cells("f:id", "2"), `{"n":null,"id":"2","text":null}`},
		{cells("f:n", "no number"), `{"n":{"base64":"bm8gbnVtYmVy"},"id":null,"text":null}`},
		{cells("a:x", "\xff", "f:id", "3", "f:other", "o", "f:\xfe", "q"), `{"n":null,"id":"3","text":null,"a:x":{"base64":"/w=="},"other":"o","\\xFE":"q"}`},
		{loader.Row{}, `{"n":null,"id":null,"text":null}`},
	} {
		if got := string(e.Append(nil, c.row)); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	if got := string(NewEncoder(New(spec.Spec{})).Append(nil, cells("f:a", "1", "f:b", "2"))); got != `{"a":"1","b":"2"}` {
		t.Errorf("without columns: %s", got)
	}
	if got := string(NewEncoder(s.Texts()).Append(nil, cells("f:n", "7", "f:other", "o"))); got != `{"n":"7","id":null,"text":null}` {
		t.Errorf("texts only: %s", got)
	}
}

// TestEncoderAny compares rows of any bytes with their decoding by encoding/json.
func TestEncoderAny(t *testing.T) {
	s := New(spec.Spec{Columns: []string{"a", "b", "c"}})
	e := NewEncoder(s)
	testcheck.Check(t, func(t *rapid.T) {
		want := map[string][]byte{}
		var row loader.Row
		for _, q := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e \"", "f\n"}), 0, 6, rapid.ID[string]).Draw(t, "qualifiers") {
			v := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 20), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "value")
			want[q] = v
			row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte(q), Value: v})
		}
		var got map[string]any
		if err := json.Unmarshal(e.Append(nil, row), &got); err != nil {
			t.Fatal(err)
		}
		for name, v := range got {
			var b []byte
			switch v := v.(type) {
			case nil:
				if _, ok := want[name]; ok || !slices.Contains([]string{"a", "b", "c"}, name) {
					t.Fatalf("%s is null", name)
				}
				continue
			case string:
				b = []byte(v)
			case map[string]any:
				b, _ = base64.StdEncoding.DecodeString(v["base64"].(string))
			}
			if w, ok := want[name]; !ok || string(w) != string(b) {
				t.Fatalf("%s is %q, want %q", name, b, w)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Fatalf("left out: %q", want)
		}
	})
}

func wideRow() (*Shape, loader.Row) {
	var columns []string
	var row loader.Row
	for i := range 18 {
		c := "column_" + string(rune('a'+i))
		columns = append(columns, c)
		row.Cells = append(row.Cells, loader.Cell{Family: []byte("f"), Qualifier: []byte(c), Value: []byte(strings.Repeat("检查", i))})
	}
	return New(spec.Spec{Columns: columns}), row
}

func TestEncoderAllocs(t *testing.T) {
	s, row := wideRow()
	e := NewEncoder(s)
	dst := e.Append(nil, row)
	if n := testing.AllocsPerRun(100, func() { dst = e.Append(dst[:0], row) }); n > 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func BenchmarkEncoder(b *testing.B) {
	s, row := wideRow()
	e := NewEncoder(s)
	dst := e.Append(nil, row)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = e.Append(dst[:0], row)
	}
}
