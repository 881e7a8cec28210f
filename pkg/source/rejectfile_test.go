package source

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestRejectFileIsNoInput checks that an input of the job is refused as its reject file, also under another link.
func TestRejectFileIsNoInput(t *testing.T) {
	ours := `{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["a"]}` + "\n"
	input := writeFile(t, "x.jsonl", []byte(ours))
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Link(input, link); err != nil {
		t.Fatal(err)
	}
	in, err := Open(t.Context(), disk, []string{input}, Options{Format: FormatRejects})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{input, link} {
		if err := NewRejectFile(path).Check(in); !errors.Is(err, rejects.ErrPath) || !strings.Contains(err.Error(), "it is the input "+input) {
			t.Error(err)
		}
	}
}

// rejected reads inputs, and returns the good records, the bad ones, and the path of the reject file.
func rejected(t *testing.T, o Options, inputs ...string) (good [][]string, bad []string, path string) {
	path = filepath.Join(t.TempDir(), "rejects.jsonl")
	f := NewRejectFile(path)
	o.Reject = func(e RowError) error {
		bad = append(bad, fmt.Sprintf("%s %q %d", e.Reason, e.Raw, e.Lines))
		return f.Write(e)
	}
	in, err := Open(t.Context(), disk, inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	records, err := readAll(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Finish(); n != len(bad) || err != nil {
		t.Fatal(n, err)
	}
	return values(records), bad, path
}

// TestRejectsAreReadAgain corrects records in a reject file, as a user would, and reads it.
func TestRejectsAreReadAgain(t *testing.T) {
	csv := writeFile(t, "x.csv", []byte("a;b\n1;x\n2\n3;\"y\n4;\"z;w\n\"\xff\";5;6\n7;v\n"))
	dump := writeFile(t, "x.dump", []byte("1\x01x\x102\x103\x01y\nz\x01w\x10"))
	for name, tt := range map[string]struct {
		o          Options
		input      string
		edit, with string
		want       [][]string
		bad        int // before it was edited
	}{
		"csv":  {Options{FieldSep: SepOf(';')}, csv, `"raw":"2"`, `"raw":"2;\"u;\""`, [][]string{{"2", "u;"}}, 3},
		"more": {Options{FieldSep: SepOf(';')}, csv, `"raw":"3;\"y\n4;\"z;w"`, `"raw":"3;y\n4;z"`, [][]string{{"3", "y"}, {"4", "z"}}, 3},
		"base": {Options{FieldSep: SepOf(';')}, csv, `"raw_base64":"Iv8iOzU7Ng=="`, `"raw_base64":"/zs2"`, [][]string{{"\xff", "6"}}, 3},
		"dump": {Options{Format: FormatDump, Columns: []string{"a", "b"}}, dump, `"raw":"2"`, `"raw":"2\u0001\n"`, [][]string{{"2", "\n"}}, 2},
	} {
		_, bad, path := rejected(t, tt.o, tt.input)
		if len(bad) != tt.bad {
			t.Fatalf("%s: %q", name, bad)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.Replace(string(data), tt.edit, tt.with, 1)
		if edited == string(data) {
			t.Fatalf("%s: no %s in %s", name, tt.edit, data)
		}
		if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		good, again, _ := rejected(t, Options{Format: FormatRejects, Columns: []string{"a", "b"}, Header: HeaderFirst}, path)
		if diff := cmp.Diff(tt.want, good); diff != "" || len(again) != tt.bad-1 {
			t.Errorf("%s: %d bad (-want +got):\n%s", name, len(again), diff)
		}
	}
}

// TestRejectsOfParquetAreReadAgain reads rows of a format without text, which are kept as lines of CSV.
func TestRejectsOfParquetAreReadAgain(t *testing.T) {
	rows := [][]string{{"1", "a,\"b\"\n"}, {"2", ""}, {"", "x"}}
	line := &rejects.Form{Version: 1, Format: string(FormatCSV), FieldSep: ",", Columns: []string{"a", "b"}}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	f := NewRejectFile(path)
	for _, row := range rows {
		var raw []byte
		for i, v := range row {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = appendCSV(raw, []byte(v))
		}
		if err := f.Write(RowError{Path: "x", Raw: raw, form: line}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Finish(); err != nil {
		t.Fatal(err)
	}
	good, bad, _ := rejected(t, Options{Format: FormatRejects}, path)
	if diff := cmp.Diff(rows, good); diff != "" || len(bad) > 0 {
		t.Errorf("%q (-want +got):\n%s", bad, diff)
	}
}

// TestRejectsAreBadForTheSameReasons reads the bad records of any text again, and checks that their texts and reasons are unchanged.
func TestRejectsAreBadForTheSameReasons(t *testing.T) {
	dir := t.TempDir()
	testcheck.Check(t, func(rt *rapid.T) {
		data := []byte(rapid.OneOf(text("ab,,\"\"\n\n\r"), rapid.Map(rapid.SliceOfN(text("a,\"\n\r"), 0, 20), func(s []string) string { return strings.Join(s, "\n") })).Draw(rt, "data"))
		cols := []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(rt, "cols")]
		o := Options{Header: HeaderNone, Columns: cols, ChunkSize: rapid.IntRange(1, 20).Draw(rt, "chunk")}
		var before, after []string
		f := NewRejectFile(filepath.Join(dir, "r.jsonl"))
		defer f.Abort()
		o.Reject = func(e RowError) error {
			before = append(before, fmt.Sprintf("%s %q %d", e.Reason, e.Raw, e.Lines))
			return f.Write(e)
		}
		if _, err := loadBytes(rt, o, "x.csv", data); err != nil {
			rt.Skip(err)
		}
		n, err := f.Finish()
		if err != nil {
			rt.Fatal(err)
		}
		if n == 0 {
			return
		}
		file, err := os.ReadFile(f.Path())
		if err != nil {
			rt.Fatal(err)
		}
		again := Options{Format: FormatRejects, Columns: cols, ChunkSize: o.ChunkSize, Reject: func(e RowError) error {
			after = append(after, fmt.Sprintf("%s %q %d", e.Reason, e.Raw, e.Lines))
			return nil
		}}
		got, err := loadBytes(rt, again, "r.jsonl", file)
		if err != nil || len(got) > 0 {
			rt.Fatalf("%q, %v", values(got), err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			rt.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

// TestRejectsOfOneColumn checks that a repeated header of one column is bad again when it is read from a reject file, once and twice, and that a
// word that is the name of its column is no header where no file had one.
func TestRejectsOfOneColumn(t *testing.T) {
	id := []string{"id"}
	for name, tt := range map[string]struct {
		o     Options
		files []string
		want  []string // the bad records
	}{
		"csv":       {Options{Columns: id}, []string{"id\n1\nid\n2\n"}, []string{"id"}},
		"others":    {Options{}, []string{"id\n1\nid\n\"\"x\n2\n"}, []string{"id", `""x`}},
		"dialect":   {Options{Dialect: withHeader(t, dialect.Excel, dialect.HeaderYes)}, []string{"id\nid\n"}, []string{"id"}},
		"match":     {Options{Columns: id, Dialect: withHeader(t, dialect.Excel, dialect.HeaderMatch)}, []string{"1\n\"\"x\n", "id\n1\nid\n"}, []string{`""x`, "id"}},
		"partition": {Options{}, []string{"id\nid\n", "id\n2\nid\n"}, []string{"id", "id"}},
	} {
		var inputs []string
		for i, text := range tt.files {
			path := fmt.Sprintf("%d.csv", i)
			if name == "partition" {
				path = "dt=" + path + "/x.csv"
			}
			inputs = append(inputs, tree(t, map[string]string{path: text}))
		}
		o := tt.o
		for range 3 {
			good, bad, path := rejected(t, o, inputs...)
			if len(bad) != len(tt.want) || o.Format == FormatRejects && len(good) > 0 {
				t.Fatalf("%s: %q, and bad %q, want %q", name, good, bad, tt.want)
			}
			o, inputs = Options{Format: FormatRejects}, []string{path}
		}
	}
	good, bad, _ := rejected(t, Options{Format: FormatRejects}, writeFile(t, "filtered.jsonl", []byte(`{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["id"]}`+"\n"+`{"raw":"id"}`+"\n")))
	if diff := cmp.Diff([][]string{{"id"}}, good); diff != "" || len(bad) > 0 {
		t.Errorf("bad %q (-want +got):\n%s", bad, diff)
	}
}

// TestDamagedRejectsAreRefused checks that the errors for lines without a record have the numbers of the lines.
func TestDamagedRejectsAreRefused(t *testing.T) {
	const form = `{"bulkload_rejects":1,"format":"csv","field_sep":",","columns":["a","b"]}` + "\n"
	const good = `{"path":"x","raw":"1,2"}` + "\n"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":           {"", "it is an empty file"},
		"no form":         {good, "line 1: it does not say how"},
		"another version": {strings.Replace(form, ":1,", ":2,", 1), "line 1: form 2 is not known"},
		"no format":       {`{"bulkload_rejects":1}` + "\n" + good, "line 1: it names no format"},
		"no columns":      {`{"bulkload_rejects":1,"format":"csv"}` + "\n" + good, "line 1: it names no columns"},
		"no JSON":         {form + good + "secret\n", "line 3: no JSON: syntax error at byte 1"},
		"no record":       {form + "\n" + `{"path":"x"}`, "line 3: it has no record"},
		"emptied":         {form + `{"raw":""}`, "line 2: its record is empty: remove the line"},
		"an open quote":   {form + `{"raw":"1,\"2"}` + "\n" + good, "line 2: its record has a quote that is not closed"},
		"an open escape": {`{"bulkload_rejects":1,"format":"text","columns":["a"],"dialect":{"name":"hive","escape_map":"literal","field_sep":"\u0001","header":"no","trim":"no","escape":"\\"}}` + "\n" + `{"raw":"\\"}` + "\n",
			"line 2: its record has a quote that is not closed, or an escape that nothing follows"},
		"open behind a bad": {form + `{"raw":"1\"\n1,\"2"}` + "\n" + good, "line 2: its record has a quote"},
		"another form":      {form + good + strings.Replace(form, `"a","b"`, `"b","a"`, 1) + good, "line 3: from here on the records have another form"},
		"cut":               {form + good[:12], "line 2: no JSON"},
	} {
		path := writeFile(t, "r.jsonl", []byte(tt.text))
		_, err := load(t, Options{Format: FormatRejects}, path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := writeFile(t, "r.jsonl", []byte(form+good))
	for _, format := range []Format{FormatAuto, FormatCSV} {
		if _, err := load(t, Options{Format: format}, path); err == nil || !strings.Contains(err.Error(), "`format` rejects") {
			t.Errorf("as %q: %v", format, err)
		}
	}
	// A repeated form is not another form: files can be concatenated.
	if got, err := load(t, Options{Format: FormatRejects}, writeFile(t, "r.jsonl", []byte(form+good+form+good))); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
}

// TestRecordsBeforeARejectAreCountedOnce checks that the number of records before a split is determined once, not for each of its bad records.
func TestRecordsBeforeARejectAreCountedOnce(t *testing.T) {
	in, err := Open(t.Context(), disk, []string{writeFile(t, "x.csv", []byte("a,b\n"+strings.Repeat("1\n", 1000)))}, Options{SplitSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	in.opts.Reject = func(RowError) error { bad++; return nil }
	r := in.NewReader()
	for i := range in.splits {
		if err := r.Read(t.Context(), i, nil); err != nil {
			t.Fatal(err)
		}
	}
	if bad != 1000 || in.lookups != int64(len(in.splits)-1) {
		t.Errorf("%d bad records, %d times counted what is before %d splits", bad, in.lookups, len(in.splits))
	}
}

// BenchmarkReject writes records to a reject file.
func BenchmarkReject(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			raw := bytes.Repeat([]byte("x,"), 60)
			b.ReportAllocs()
			for b.Loop() {
				f := NewRejectFile(filepath.Join(b.TempDir(), "r.jsonl"))
				for i := range n {
					if err := f.Write(RowError{Path: "x.csv", Offset: int64(i), Record: int64(i), Reason: "3 columns found, 2 expected", Raw: raw, split: i / 1000}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := f.Finish(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
		})
	}
}

// TestPlacesInRejectFiles checks that messages name the line of the reject file that has a record, and no byte, since no file has the text of the records.
func TestPlacesInRejectFiles(t *testing.T) {
	form := func(format string) string {
		return `{"bulkload_rejects":1,"format":"` + format + `","columns":["a","b"]}` + "\n"
	}
	for _, text := range []string{
		form("csv") + `{"raw":"7,x"}` + "\n\n" + `{"raw":"8,y\n9,z"}` + "\n" + form("csv") + `{"raw":"10"}` + "\n",
		form("dump") + `{"raw":"7\u0001x"}` + "\n\n" + `{"raw":"\n\u0001y"}` + "\n" + form("dump") + `{"raw":"10"}` + "\n" + `{"raw":"11"}` + "\n",
	} {
		budget, err := NewBudget("0")
		testcheck.Must(t, err)
		path := writeFile(t, "r.jsonl", []byte(text))
		in, err := Open(t.Context(), disk, []string{path}, Options{Format: FormatRejects, Reject: budget.RejectRead})
		testcheck.Must(t, err)
		records, err := readAll(t.Context(), in)
		in.AddLine(err)
		want := fmt.Sprintf("%s: record %d: 1 column found, 2 expected (line 6; ", path, len(records)+1)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if place := in.Place(0, records[1].Offset); place != path+", line 4" {
			t.Errorf("%s", place)
		}
	}
}
