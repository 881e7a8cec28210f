package rowtext

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/internal/formats/celltype"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

func cell(qualifier, value string) loader.Cell {
	return loader.Cell{Family: []byte("f"), Qualifier: []byte(qualifier), Value: []byte(value)}
}

func printed(t testing.TB, format string, spec spec.Spec, columns []string, rows ...loader.Row) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	p := New(w, format, spec, columns)
	for _, r := range rows {
		if err := p.Row(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.finish(); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	rows := []loader.Row{
		{Key: []byte("1a"), Cells: []loader.Cell{cell("a", "age < 22 \"订单\"\n"), cell("b", "\xff"), cell("c", "")}},
		{Key: []byte("2\x00\xfe"), Cells: []loader.Cell{cell("b", `back\slash, comma`), {Family: []byte("g"), Qualifier: []byte("x"), Value: []byte("\x00\x01")}}},
	}
	for _, c := range []struct {
		format  string
		columns []string
		known   []string
		want    string
	}{
		{"jsonl", nil, nil, `{"rowkey":"1a","a":"age < 22 \"订单\"\n","b":{"base64":"/w=="},"c":""}` + "\n" +
			`{"rowkey":{"base64":"MgD+"},"b":"back\\slash, comma","g:x":"\u0000\u0001"}` + "\n"},
		{"csv", nil, []string{"c", "b", "a"}, "rowkey,a,b,c,g:x\n1a,\"age < 22 \"\"订单\"\"\n\",\\xFF,,\n" + `2\x00\xFE,,"back\slash, comma",,\x00\x01` + "\n"},
		{"table", nil, nil, "rowkey     a                     b                  c  g:x\n" +
			`1a         age < 22 "订单"\x0A  \xFF` + "\n" +
			`2\x00\xFE                        back\slash, comma     \x00\x01` + "\n"},
	} {
		got := printed(t, c.format, spec.Spec{Columns: c.known}, c.columns, rows...)
		if c.format == "table" { // ignore the widths: compare the contents of the columns
			got = strings.Join(strings.Fields(got), " ")
			c.want = strings.Join(strings.Fields(c.want), " ")
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.format, got, c.want)
		}
	}
}

// TestTableWidths checks that columns begin at the same rune on each line.
func TestTableWidths(t *testing.T) {
	got := printed(t, "table", spec.Spec{}, []string{"name", "n"},
		loader.Row{Key: []byte("订1"), Cells: []loader.Cell{cell("name", "贷款申请"), cell("n", "1")}},
		loader.Row{Key: []byte("a"), Cells: []loader.Cell{cell("n", "22")}})
	const want = "rowkey         name  n\n\\xE8\\xAE\\xA21  贷款申请  1\na                    22\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestJobColumns checks that a CSV of rows with only columns of the job has all of the job's columns, in its order.
func TestJobColumns(t *testing.T) {
	row := loader.Row{Key: []byte("k"), Cells: []loader.Cell{cell("a", "1"), cell("c", "3")}}
	if got, want := printed(t, "csv", spec.Spec{Columns: []string{"c", "b", "a"}}, nil, row), "rowkey,c,b,a\nk,3,,1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := printed(t, "csv", spec.Spec{}, nil), "rowkey\n"; got != want {
		t.Errorf("no rows: %q, want %q", got, want)
	}
}

// TestLateColumn checks that a column that appears after the header was printed is an error, not a loss.
func TestLateColumn(t *testing.T) {
	p := New(bufio.NewWriter(&bytes.Buffer{}), "csv", spec.Spec{}, nil)
	var err error
	for i := range heldRows + 1 {
		name := "a"
		if i == heldRows {
			name = "late"
		}
		err = p.Row(loader.Row{Key: []byte("k"), Cells: []loader.Cell{cell(name, "1")}})
		if err != nil && i < heldRows {
			t.Fatal(err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), `"late"`) || !strings.Contains(err.Error(), "--columns") {
		t.Errorf("%v", err)
	}
}

// TestRoundTrip parses printed rows with the library's parsers.
func TestRoundTrip(t *testing.T) {
	testcheck.Check(t, func(t *rapid.T) {
		v := rapid.SliceOf(rapid.Byte()).Draw(t, "value")
		if rapid.Bool().Draw(t, "text") {
			v = []byte(rapid.String().Draw(t, "string"))
		}
		var x any
		err := json.Unmarshal(celltype.JSONForm{}.Append(nil, v), &x)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := x.(string)
		if m, isMap := x.(map[string]any); isMap {
			b, err := base64.StdEncoding.DecodeString(m["base64"].(string))
			got, ok = string(b), err == nil
		}
		if !ok || got != string(v) {
			t.Fatalf("%q came back as %q", v, got)
		}
		text := textOf(v, "")
		back := v
		if !isText(v, "") {
			if back, err = rowkey.Parse(text); err != nil {
				t.Fatal(err)
			}
		} else if text != string(v) {
			t.Fatalf("the text %q is printed as %q", v, text)
		}
		if !bytes.Equal(back, v) {
			t.Fatalf("%q printed as %s, read as %q", v, text, back)
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		text = textOf(v, "\t\r\n")
		if err := w.Write([]string{"k", text}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		rec, err := csv.NewReader(&b).Read()
		// the library's reader converts \r\n within quotes to \n
		if err != nil || rec[1] != strings.ReplaceAll(text, "\r\n", "\n") {
			t.Fatalf("%q came back as %q, %v", text, rec, err)
		}
	})
}

// TestLabelsDiffer checks that different columns have different names in all formats, whatever their bytes, and that the job's columns keep their order.
func TestLabelsDiffer(t *testing.T) {
	of := func(family, qualifier, value string) loader.Cell {
		return loader.Cell{Family: []byte(family), Qualifier: []byte(qualifier), Value: []byte(value)}
	}
	row := loader.Row{Key: []byte("k"), Cells: []loader.Cell{of("f", `\xFF`, "1"), of("f", `a\b`, "2"), of("f", "g:x", "3"), of("f", "\xff", "4"), of("g", "x", "5")}}
	if got, want := printed(t, "jsonl", spec.Spec{}, nil, row), `{"rowkey":"k","\\x5CxFF":"1","a\\b":"2","f:g:x":"3","\\xFF":"4","g:x":"5"}`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := printed(t, "csv", spec.Spec{}, nil, row), `rowkey,\x5CxFF,\xFF,a\b,f:g:x,g:x`+"\nk,1,4,2,3,5\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	row.Cells = []loader.Cell{of("f", "a", "1"), of("f", "rowkey", "2"), of("f", "z:a", "3")}
	if got, want := printed(t, "csv", spec.Spec{Columns: []string{"z:a", "rowkey", "a"}}, nil, row), "rowkey,f:z:a,f:rowkey,a\nk,3,2,1\n"; got != want {
		t.Errorf("the job's order: %s, want %s", got, want)
	}
	testcheck.Check(t, func(t *rapid.T) {
		draw := func(name string) (loader.Cell, string) {
			family := rapid.SampledFrom([]string{"f", "g", "rowkey"}).Draw(t, name+" family")
			qualifier := rapid.StringOfN(rapid.SampledFrom([]rune(`\xF5C:fg`)), 0, 8, -1).Draw(t, name) + rapid.SampledFrom([]string{"", "\xff", "\n", "rowkey"}).Draw(t, name+" end")
			return of(family, qualifier, ""), family + "\x00" + qualifier
		}
		a, nameA := draw("a")
		b, nameB := draw("b")
		if x, y := rowLabel(&a, "f"), rowLabel(&b, "f"); (x == y) != (nameA == nameB) {
			t.Fatalf("%q is %s, %q is %s", nameA, x, nameB, y)
		}
	})
}

// TestRowsBeforeAnError checks that the rows of a read that fails are printed before its page token, in all formats, and that a token is not printed
// after rows that could not be printed.
func TestRowsBeforeAnError(t *testing.T) {
	broken := errors.New("a region server is lost")
	for _, format := range []string{"jsonl", "csv", "table"} {
		for _, given := range []int{0, 1, 500, heldRows + 1} {
			var b, messages bytes.Buffer
			out := bufio.NewWriter(&b)
			p := New(out, format, spec.Spec{}, nil)
			for i := range given {
				testcheck.Must(t, p.Row(loader.Row{Key: fmt.Appendf(nil, "%04d", i), Cells: []loader.Cell{cell("a", "x")}}))
			}
			st := &query.ReadStats{Rows: given, Next: "TOKEN"}
			if given == 0 {
				st.Next = ""
			}
			report := func() error { PrintStats(&messages, st, false); return nil }
			if err := p.End(broken, st, report); err != broken {
				t.Errorf("%s: %v", format, err)
			}
			lines := strings.Count(b.String(), "\n")
			if format != "jsonl" && given > 0 {
				lines-- // the header
			}
			if lines != given || strings.Contains(messages.String(), "TOKEN") != (given > 0) {
				t.Errorf("%s: %d lines of %d rows, and %q", format, lines, given, messages.String())
			}
		}
		p := New(bufio.NewWriter(full{}), format, spec.Spec{}, nil)
		testcheck.Must(t, p.Row(loader.Row{Key: []byte("1"), Cells: []loader.Cell{cell("a", "x")}}))
		err := p.End(nil, &query.ReadStats{Rows: 1, Next: "TOKEN"}, func() error { t.Errorf("%s: a token after a row that was not printed", format); return nil })
		if !errors.Is(err, errFullDisk) {
			t.Errorf("%s to a full disk: %v", format, err)
		}
	}
}

var errFullDisk = errors.New("no space left on device")

// full takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFullDisk }
