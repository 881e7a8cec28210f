package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// toJSON returns lines with all columns, in order.
func toJSON(columns []string, rows [][]string) []byte {
	var b bytes.Buffer
	for _, row := range rows {
		for i, v := range row {
			b.WriteByte(",{"[min(1-min(i, 1), 1)])
			name, _ := json.Marshal(columns[i])
			value, _ := json.Marshal(v) // texts
			b.Write(append(append(name, ':'), value...))
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

// memory resolves every path to one file in memory.
func memory(name string, data []byte) Resolve {
	return func(path string) (FS, string, error) { return &memFile{name, data}, path, nil }
}

// writeIn creates a file in a directory.
func writeIn(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mend replaces a text in a file by another.
func mend(t *testing.T, path, old, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s: %v", data, err)
	}
	writeIn(t, filepath.Dir(path), filepath.Base(path), string(bytes.ReplaceAll(data, []byte(old), []byte(text))))
}

// TestJSONEqualsDump reads rows in splits of any size, and compares them with the rows that were written.
func TestJSONEqualsDump(t *testing.T) {
	rows := checkRows(300)
	data := toJSON(checkColumns, rows)
	for _, o := range []Options{{}, {SplitSize: 1000}, {SplitSize: 77, ChunkSize: 50}, {SplitSize: 1 << 14, ChunkSize: 700}, {Columns: checkColumns}} {
		for _, name := range []string{"x.jsonl", "x.ndjson", "x.json", "x.dat", "x"} {
			got, err := loadBytes(t, o, name, data)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(values(got)) != fmt.Sprint(rows) {
				t.Fatalf("%+v: other rows", o)
			}
		}
	}
}

// TestJSONLines checks the rows of small files, and the positions and reasons of bad records.
func TestJSONLines(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		o        Options
		columns  string
		rows     string // of each its values, "-" for NULL
		bad      []string
	}{
		{name: "mark, blank lines, CR LF, no last LF", in: "\ufeff\r\n  \n{\"a\":1}\r\n\n{\"a\":2.50}", columns: "a", rows: "1|2.50"},
		{name: "absent and null are NULL, empty is not", in: `{"a":"","b":null}` + "\n" + `{"b":"x"}` + "\n", columns: "a b", rows: ",-|-,x"},
		{name: "columns of later lines", in: `{"a":1}` + "\n" + `{"b":2,"a":3}` + "\n", columns: "a b", rows: "1,-|3,2"},
		{name: "leaves", in: `{"a":{"b":1,"c":{"d":[1, 2]}}}`, columns: "a.b a.c.d", rows: "1,[1, 2]"},
		{name: "null, then an object", in: `{"a":null,"z":0}` + "\n" + `{"a":{"b":1}}`, columns: "z a.b", rows: "0,-|-,1"},
		{name: "an object, then a value", in: `{"a":{"b":1}}` + "\n" + `{"a":"x"}`, columns: "a", rows: `{"b":1}|x`},
		{name: "chosen", in: `{"a":{"b":"\u4e2d\/","c":2},"d":3}`, o: Options{Columns: []string{"d", "a.b", "a"}}, columns: "d a.b a", rows: `3,中/,{"b":"\u4e2d\/","c":2}`},
		{name: "bad lines", in: `{"a":1}` + "\n" + `{"a":2` + "\n" + "x\r\n" + `{"a":3,"a":4}` + "\n" + `[1]` + "\n" + `{"a":5}` + "\n" + "{\"a\":\"\xff\"}\n", columns: "a", rows: "1|5",
			bad: []string{
				`/f.jsonl: record 2 at byte 8: JSON, byte 6 of the line: the line ends within an object or an array: {"a":2`,
				`/f.jsonl: record 3 at byte 15: JSON, byte 0 of the line: the line does not begin with {: x`,
				`/f.jsonl: record 4 at byte 18, column a: JSON, byte 7 of the line: a member's name occurs twice in an object: {"a":3,"a":4}`,
				`/f.jsonl: record 5 at byte 32: JSON, byte 0 of the line: the line is an array, not an object: [1]`,
				"/f.jsonl: record 7 at byte 44, column a: JSON, byte 6 of the line: invalid UTF-8: {\"a\":\"\xff\"}",
			}},
		{name: "an array further down", in: `{"a":1}` + "\n[{\n", columns: "a", rows: "1", bad: []string{
			"/f.jsonl: record 2 at byte 8: JSON, byte 0 of the line: it is an array, or an object that does not end: [{"}},
	} {
		for _, size := range []int64{0, 1, 5, 9} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, size), func(t *testing.T) {
				var bad []string
				o := tt.o
				o.SplitSize = size
				o.Reject = func(e RowError) error {
					bad = append(bad, fmt.Sprintf("%v: %s", &e, e.Raw))
					return nil
				}
				in, err := Open(t.Context(), memory("/f.jsonl", []byte(tt.in)), []string{"/f.jsonl"}, o)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(in.Columns(), " "); got != tt.columns || in.Files()[0].Format != FormatJSON {
					t.Errorf("columns %s of format %s", got, in.Files()[0].Format)
				}
				rows, err := rowsOf(t, in)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, row := range rows {
					var line []string
					for _, c := range in.Columns() {
						if v, ok := row[c].(string); ok {
							line = append(line, v)
						} else {
							line = append(line, "-")
						}
					}
					got = append(got, strings.Join(line, ","))
				}
				if s := strings.Join(got, "|"); s != tt.rows || !slices.Equal(bad, tt.bad) {
					t.Errorf("%s\nbad %q", s, bad)
				}
			})
		}
	}
}

// TestJSONRefusals checks the reasons for files without a readable line.
func TestJSONRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, file, in string
		o              Options
		want           string
	}{
		{"array", "x.json", "[\n{\"a\":1}]", Options{}, "jq -c '.[]'"},
		{"array in one line", "x.json", `[{"a":1}]`, Options{Columns: []string{"a"}}, "jq -c '.[]'"},
		{"pretty", "x", "{\n \"a\": 1\n}\n", Options{}, "jq -c"},
		{"no lines", "x.jsonl", "a,b\n1,2\n", Options{}, "line 1: JSON, byte 0"},
		{"no members", "x.jsonl", "{}\n{}\n", Options{}, "are empty"},
		{"no members, columns", "x.jsonl", "{}\n", Options{Columns: []string{"a"}, Format: FormatJSON}, ""},
		{"other members", "x.jsonl", `{"b":1}`, Options{Columns: []string{"a"}}, "none of the members in its first lines is a column compared with the given names"},
		{"extra", "x.jsonl", `{"b":1}`, Options{Extra: ExtraFail}, "not for JSON lines"},
		{"path", "x.jsonl", `{"b":1}`, Options{Columns: []string{`b`, `b\x`}}, "a backslash stands before"},
		{"long", "x.jsonl", `{"b":1}` + "\n" + `{"b":"` + strings.Repeat("x", 200) + `"}`, Options{MaxRecord: 100}, "the line is longer than 100 bytes"},
		{"UTF-16", "x.jsonl", "{\x00\"\x00a\x00\"\x00:\x001\x00}\x00\n\x00", Options{}, "UTF-16"},
		{"dialect", "x.jsonl", `{"b":1}`, Options{Format: "jsonl"}, `"jsonl" is not known`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, err := loadBytes(t, tt.o, tt.file, []byte(tt.in))
			if tt.want == "" && (err != nil || len(rows) != 1) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, %d rows", err, len(rows))
			}
		})
	}
}

// TestJSONDetected checks that text of other formats is not mistaken for JSON.
func TestJSONDetected(t *testing.T) {
	for in, want := range map[string]Format{
		" \n{\"a\":1}\n":              FormatJSON,
		"{ }\n{\"a\":1}\n":            FormatJSON,
		"{id},name\n1,2\n":            FormatCSV,
		"a,{\"b\":1}\n1,2\n":          FormatCSV,
		"{\"a\x01b\x10":               FormatDump,
		"{\"a\x01b\n{\"a\x10\n{\"\":": FormatDump,
	} {
		f, err := Open(t.Context(), memory("/x", []byte(in)), []string{"/x"}, Options{Columns: []string{"a", "b"}, Missing: MissingNull, Extra: ""})
		if err != nil {
			if want == FormatCSV {
				continue // the columns have other names
			}
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := f.Files()[0].Format; got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}

// TestJSONFiles checks that the columns are those of the first file, and that a reject file is read again.
func TestJSONFiles(t *testing.T) {
	dir := t.TempDir()
	writeIn(t, dir, "1.jsonl", `{"a":1,"b":"x"}`+"\n"+`{"a":2`+"\n")
	writeIn(t, dir, "2.jsonl", `{"c":1,"a":3}`+"\n")
	writeIn(t, dir, "3.csv", "b,a\ny,4\n")
	rejects := NewRejectFile(dir + "/_rejects")
	budget, err := NewBudget("1")
	if err != nil {
		t.Fatal(err)
	}
	budget.File = rejects
	in, err := Open(t.Context(), disk, []string{dir}, Options{Reject: budget.RejectRead})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(t, in)
	if err != nil || fmt.Sprintf("%q %q", in.Columns(), rows) != `["a" "b"] [map["a":"1" "b":"x"] map["a":"3" "b":<nil>] map["a":"4" "b":"y"]]` {
		t.Errorf("%q %q, %v", in.Columns(), rows, err)
	}
	if n, err := rejects.Finish(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	_, err = load(t, Options{Format: FormatRejects}, dir+"/_rejects")
	e, ok := errors.AsType[*RowError](err)
	if !ok || !strings.Contains(e.Reason, "byte 6 of the line") {
		t.Fatal(err)
	}
	mend(t, dir+"/_rejects", `{\"a\":2`, `{\"b\":\"\\u4e2d\",\"a\":2}`)
	again, err := load(t, Options{Format: FormatRejects}, dir+"/_rejects")
	if err != nil || fmt.Sprintf("%q", values(again)) != `[["2" "中"]]` {
		t.Errorf("%q, %v", values(again), err)
	}
}

// BenchmarkJSON reads the rows of BenchmarkDump; MB/s count the JSON text.
func BenchmarkJSON(b *testing.B) {
	data := toJSON(checkColumns, checkRows(benchRows))
	path := writeFile(b, "check.jsonl", data)
	b.Run("all", func(b *testing.B) { benchmark(b, path, Options{}, int64(len(data))) })
	b.Run("5 of 18", func(b *testing.B) {
		benchmark(b, path, Options{Columns: []string{"check_id", "id", "rule_no", "hit_ind", "update_date"}}, int64(len(data)))
	})
}

// FuzzJSON checks that the result does not depend on the sizes of splits and chunks, and that encoding/json reads the
// same values.
func FuzzJSON(f *testing.F) {
	f.Add([]byte("{\"a\":1,\"b\":\"x\\n\"}\n\n{\"b\":null}\r\n{\"a\":[1,{}]}"), uint16(3), uint16(9))
	f.Add([]byte("\ufeff {\"a\":\"\\ud83d\\ude00\"}\n{\"a\":2\nx\n[{"), uint16(1), uint16(1))
	f.Add([]byte("{\"a\":{\"b\":1}}\n{\"a\":0,\"b\":00}\n{\"a\":\"\xff\"}"), uint16(20), uint16(2000))
	f.Fuzz(func(t *testing.T, data []byte, split, chunk uint16) {
		var bad []string
		o := Options{Columns: []string{"a", "b", "a.b"}, MaxRecord: 1 << 20, Reject: func(e RowError) error {
			bad = append(bad, fmt.Sprintf("%v: %q", &e, e.Raw))
			return nil
		}}
		whole, err := loadBytes(t, o, "x.jsonl", data)
		badWhole := bad
		o.SplitSize, o.ChunkSize, bad = int64(split)+1, int(chunk)+1, nil
		if len(data) > 1000 {
			o.SplitSize += 100
		}
		cut, errCut := loadBytes(t, o, "x.jsonl", data)
		if fmt.Sprint(whole, err) != fmt.Sprint(cut, errCut) || !slices.Equal(badWhole, bad) {
			t.Fatalf("%v %v %q\n%v %v %q", whole, err, badWhole, cut, errCut, bad)
		}
		for _, r := range whole {
			var object map[string]json.RawMessage
			line, _, _ := bytes.Cut(data[r.Offset:], []byte{'\n'})
			if err := json.Unmarshal(line, &object); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			var text string
			if v := object["b"]; len(v) > 0 && v[0] == '"' {
				if err := json.Unmarshal(v, &text); err != nil || text != r.Values[1] {
					t.Errorf("%q: %q, want %q", line, r.Values[1], text)
				}
			}
		}
	})
}
