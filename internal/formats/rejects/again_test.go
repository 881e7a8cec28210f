package rejects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// readAgain reads a reject file in pieces, and returns its first form, the text of its records and their sections.
func readAgain(path string, in io.Reader, marks Marks) (*Form, string, []Section, error) {
	r := NewReader(path, in, 1<<20, func(*Form) (Marks, error) { return marks, nil })
	form, err := r.Form()
	if err != nil {
		return nil, "", nil, err
	}
	text, err := io.ReadAll(iotest.HalfReader(r))
	return form, string(text), r.Sections(), err
}

// TestRecordsComeBack writes random records of several splits and forms in a random order of splits, and reads their text in the order of the input.
func TestRecordsComeBack(t *testing.T) {
	r := testcheck.Rand(t)
	pieces := []string{"a", "规", "\xff", "\"", "\\", "\r", "\n", "\x00", "\u2028", "1,2", strings.Repeat("b", 40<<10)}
	for range race.Cases(t, 1000) {
		gbk := &dialect.Dialect{Name: "text", Charset: "gbk"}
		marks := Marks{End: "|\n", Lines: r.IntN(2) == 0}
		// The forms have the same columns; only their partitions differ.
		forms := []*Form{{Version: 1, Format: "csv", Columns: []string{"a"}, Partitions: []string{"dt=1"}}, {Version: 1, Format: "csv", Columns: []string{"a"}, Partitions: []string{"dt=2"}}}
		if r.IntN(3) == 0 {
			for _, f := range forms {
				f.Format, f.Dialect = "text", gbk
			}
		}
		f := NewFile(setting.RejectFile, filepath.Join(t.TempDir(), "r.jsonl"))
		texts := make([][]string, 1+r.IntN(6)) // of each split
		formOf := func(split int) *Form { return forms[split*len(forms)/len(texts)] }
		records := 0
		for range r.IntN(40) {
			split := r.IntN(len(texts))
			var raw []byte
			for range r.IntN(4) {
				raw = append(raw, pieces[r.IntN(len(pieces))]...)
			}
			testcheck.Must(t, f.Write(split, formOf(split), &Record{Path: "x", Offset: int64(records), Number: int64(records), Raw: raw}))
			if f.spool.most = 1 << r.IntN(12); marks.Lines && bytes.HasSuffix(raw, []byte{'\r'}) {
				raw = append(raw, '\r')
			}
			texts[split] = append(texts[split], string(raw)+marks.End)
			records++
		}
		n, err := f.Finish()
		if n != records || err != nil {
			t.Fatal(n, err)
		}
		data, err := os.ReadFile(f.Path())
		if records == 0 {
			if err == nil {
				t.Fatal("a file without records")
			}
			continue
		}
		testcheck.Must(t, err)
		var first *Form
		want, sections := "", []Section(nil)
		for split, list := range texts {
			if form := formOf(split); len(list) > 0 && (first == nil || sections[len(sections)-1].Partitions[0] != form.Partitions[0]) {
				if first == nil {
					first = form
				}
				sections = append(sections, Section{int64(len(want)), form.Partitions})
			}
			want += strings.Join(list, "")
		}
		form, got, at, err := readAgain(f.Path(), bytes.NewReader(data), marks)
		if err != nil || got != want || !reflect.DeepEqual(at, sections) || !form.same(first) || strings.Count(string(data), Magic) != len(sections) {
			t.Fatalf("%q, %v, %v, %v, want %q, %v of\n%s", got, form, at, err, want, sections, data)
		}
	}
}

// TestFormsAreCompared checks which forms describe the same text, the same columns, and the same records.
func TestFormsAreCompared(t *testing.T) {
	form := func(change func(*Form)) *Form {
		f := &Form{Version: 1, Format: "text", FieldSep: ",", RecordSep: "\n", Columns: []string{"a", "b"}, Partitions: []string{"dt=1"}, Dialect: &dialect.Dialect{Name: "x", FieldSep: ","}}
		change(f)
		return f
	}
	one := form(func(*Form) {})
	for name, tt := range map[string]struct {
		change             func(*Form)
		text, columns, all bool
	}{
		"nothing":         {func(*Form) {}, true, true, true},
		"a partition":     {func(f *Form) { f.Partitions = []string{"dt=2"} }, true, true, false},
		"its name":        {func(f *Form) { f.Partitions = []string{"day=1"} }, true, false, false},
		"no partition":    {func(f *Form) { f.Partitions = nil }, true, false, false},
		"their order":     {func(f *Form) { f.Columns = []string{"b", "a"} }, true, false, false},
		"format":          {func(f *Form) { f.Format = "csv" }, false, false, false},
		"field separator": {func(f *Form) { f.FieldSep = ";" }, false, false, false},
		"record's end":    {func(f *Form) { f.RecordSep = ";" }, false, false, false},
		"set":             {func(f *Form) { f.Charset = "gbk" }, false, false, false},
		"no dialect":      {func(f *Form) { f.Dialect = nil }, false, false, false},
		"dialect":         {func(f *Form) { f.Dialect.Null = []string{"x"} }, false, false, false},
	} {
		two := form(tt.change)
		for _, pair := range [][2]*Form{{one, two}, {two, one}} {
			if a, b := pair[0], pair[1]; a.SameText(b) != tt.text || a.sameColumns(b) != tt.columns || a.same(b) != tt.all {
				t.Errorf("%s: %v, %v, %v", name, a.SameText(b), a.sameColumns(b), a.same(b))
			}
		}
	}
	var none *Form
	if !none.same(nil) || none.same(one) || one.same(none) {
		t.Error("no form is a form")
	}
}

// TestLinesThatAreRefused checks that a reject file that a user has damaged is refused with the number of the line, and without its text.
func TestLinesThatAreRefused(t *testing.T) {
	const form, good = `{"bulkload_rejects":1,"format":"csv","columns":["a","b"]}` + "\n", `{"raw":"1,2"}` + "\n"
	whole := func(text []byte) bool { return bytes.Count(text, []byte(`"`))%2 == 0 }
	for text, want := range map[string]string{
		"":                                     "line 1: it does not say how the records were read",
		good:                                   "line 1: it does not say how the records were read",
		strings.Replace(form, ":1,", ":2,", 1): "line 1: form 2 is not known",
		form[:20] + "\n":                       "line 1: no JSON: syntax error at byte 20 of the line",
		`{"bulkload_rejects":1,"columns":"secret"}`:                                               "line 1: no JSON: a field is of another type",
		`{"bulkload_rejects":1,"charset":"none"}`:                                                 "line 1: ",
		`{"bulkload_rejects":1,"escaped":true,"dialect":{"field_sep":"\\y"}}`:                     "line 1: dialect: ",
		form + "\n\n" + good + "secret":                                                           "line 5: no JSON: syntax error at byte 1 of the line",
		form + `{"path":"secret"}`:                                                                "line 2: it has no record: raw or raw_base64",
		form + `{"raw_base64":""}`:                                                                "line 2: it has no record: raw or raw_base64",
		form + `{"raw":""}`:                                                                       "line 2: its record is empty",
		form + good + `{"raw":"\"secret"}`:                                                        "line 3: its record has a quote that is not closed",
		form + good + `{"raw":"` + "\xff" + `"}`:                                                  "line 3: it is not UTF-8",
		form + good + strings.Replace(form, `"a","b"`, `"b","a"`, 1):                              "line 3: from here on the records have another form or order of columns",
		form + `{"raw":"secret\ud800x"}`:                                                          "line 2: raw has the escape of half a character",
		form + good + `{"raw":"\uDCff"}`:                                                          "line 3: raw has the escape of half a character",
		form + `{"raw":["secret"]}`:                                                               "line 2: no JSON: a field is of another type",
		form + `{"raw":"` + strings.Repeat("x", 8<<20):                                            "line 2: it is longer than 7340032 bytes",
		strings.Replace(form, `"format":"csv"`, `"charset":"gbk"`, 1) + `{"raw":"secret规"}`:       "line 2: raw has characters that have other bytes in gb18030",
		strings.Replace(form, `"format":"csv"`, `"charset":"utf-16le"`, 1) + `{"raw":"secret,2"}`: "line 2: raw has characters that have other bytes in utf-16le",
	} {
		_, got, _, err := readAgain("x/r.jsonl", strings.NewReader(text), Marks{End: "\n", Whole: whole})
		if err == nil || !strings.HasPrefix(err.Error(), "reject file x/r.jsonl: "+want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.200q: %q, %v, want %s", text, got, err, want)
		}
	}
	// Files can be joined, records can be edited, and one column can be empty.
	for text, want := range map[string]string{
		form + good + form + good: "1,2\n1,2\n", form + `{"raw":"1,2\n3,4"}`: "1,2\n3,4\n", form + `{"raw_base64":"/zss"}`: "\xff;,\n",
		form + `{"reason":"\udcff","raw":null,"raw_base64":"LA=="}`: ",\n", form + `{ "reason" : "\ud800" , "raw" : "\ud83d\uDE00\ufffd\u002c\"\\\/\\ud800\t" }`: "😀\ufffd,\"\\/\\ud800\t\n",
		`{"bulkload_rejects":1,"columns":["a"]}` + "\n" + `{"raw":""}`: "\n", `{"bulkload_rejects":1,"columns":["a"],"charset":"utf-8"}` + "\n" + `{"raw":"规"}`: "规\n",
	} {
		if _, got, _, err := readAgain("x", strings.NewReader(text), Marks{End: "\n"}); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// aboutValue is an error about a value.
type aboutValue string

func (e aboutValue) Error() string { return "about it" }
func (e aboutValue) Data() []byte  { return []byte(e) }

// TestLines checks the lines of records against what the documents say.
func TestLines(t *testing.T) {
	f := NewFile(setting.RejectFile, filepath.Join(t.TempDir(), "r.jsonl"))
	for _, e := range []Record{
		{Path: "x.csv", Offset: 7, Number: 2, Lines: 1, Column: "a", Reason: "why", Raw: []byte("1,2")},
		{Path: "x.csv", Offset: 9, Number: 3, Since: 5, Lines: 4, Err: fmt.Errorf("%w here", aboutValue("v")), Raw: []byte("\xff"), Kept: &Place{Path: "y", Offset: 1}},
		{Path: "x.csv", Reason: "other", Err: aboutValue("\xfe")},
	} {
		testcheck.Must(t, f.Write(0, nil, &e))
	}
	n, err := f.Finish()
	testcheck.Must(t, err)
	data, err := os.ReadFile(f.Path())
	testcheck.Must(t, err)
	want := []string{`{"bulkload_rejects":1}`, `{"path":"x.csv","offset":7,"record":2,"column":"a","reason":"why","raw":"1,2"}`,
		`{"path":"x.csv","offset":9,"record":3,"since":5,"lines":4,"value":"v","reason":"about it here","kept":{"path":"y","offset":1},"raw_base64":"/w=="}`,
		`{"path":"x.csv","offset":0,"record":0,"reason":"other","raw":""}`, ""}
	if n != 3 || !slices.Equal(strings.Split(string(data), "\n"), want) {
		t.Errorf("%d records:\n%s", n, data)
	}
	if err := f.Write(0, nil, &Record{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if n, err := f.Finish(); n != 3 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("the second end: %d, %v", n, err)
	}
	if d := ValuesDialect(); d.Check() != nil || !d.IsNull([]byte(Null), false) || d.IsNull([]byte(Null), true) || d.IsNull(nil, false) {
		t.Errorf("NULL of a row without text: %+v", d)
	}
}
