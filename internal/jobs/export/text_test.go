package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/source"
	"bulkload/pkg/source/dialect"
	"bulkload/pkg/source/span"

	"pgregory.net/rapid"
)

// textOf returns the text of a spec's settings.
func textOf(t testing.TB, format Format, s spec.Spec) *text {
	t.Helper()
	x, err := newText(format, resolve(t, s))
	testcheck.Must(t, err)
	return x
}

// reading returns the options with which package source reads a text of a job.
func reading(x *text, columns []string) source.Options {
	d := x.dialect
	return source.Options{Format: source.FormatText, Dialect: &d, Columns: columns, AllowEmpty: true}
}

// always are dialects that can represent every text.
var always = []string{dialect.CSV, dialect.MySQLText, dialect.MySQLCSV, dialect.PostgresTxt, dialect.PostgresCSV, dialect.OpenCSV, dialect.Spark, dialect.Pandas, dialect.Excel}

// TestTextAny writes any values in any dialect, and checks that they are read back
// equal, or are refused.
func TestTextAny(t *testing.T) {
	kinds := map[string]spec.Spec{}
	for _, name := range dialect.Separated() {
		kinds[name] = spec.Spec{Reading: spec.Reading{Dialect: name}}
	}
	kinds["bars"] = spec.Spec{FieldSep: "@|@", RecordSep: "#@#\\n", Reading: spec.Reading{Dialect: "mysql", Escape: "none", NullValue: spec.Texts{"-"}}}
	kinds["bars with escapes"] = spec.Spec{FieldSep: "@|@", RecordSep: "#@#\\n", Reading: spec.Reading{Dialect: "mysql"}}
	kinds["comments"] = spec.Spec{Reading: spec.Reading{Dialect: "csv", Comment: "#a", NullValue: spec.Texts{"NULL", "-"}}}
	kinds["plain comments"] = spec.Spec{Reading: spec.Reading{Dialect: "hive", Comment: "#a"}}
	kinds["trimmed"] = spec.Spec{Reading: spec.Reading{Dialect: "csv", Trim: "both", NullValue: spec.Texts{"N"}}}
	kinds["plain trimmed"] = spec.Spec{Reading: spec.Reading{Dialect: "mysql", Trim: "both"}}
	kinds["NULL in quotes"] = spec.Spec{Reading: spec.Reading{Dialect: "csv", NullValue: spec.Texts{"NULL"}, NullQuoted: "yes"}}
	kinds["separated"] = spec.Spec{FieldSep: "|", Reading: spec.Reading{Dialect: "mysql", LastColumn: "separated"}}
	kinds["separated CSV"] = spec.Spec{Reading: spec.Reading{Dialect: "postgres-csv", LastColumn: "separated"}}
	kinds["rest"] = spec.Spec{FieldSep: "|", Reading: spec.Reading{Dialect: "hive", LastColumn: "rest"}}
	pieces := []string{"a", "N", "NULL", "-", "#a", "#", `\`, `\N`, `"`, `""`, ",", "\n", "\r", "\r\n", "\t", "\x00", "\x01", "\x10", "@", "|", "@|@", "#@#", " ", "x", "t", "0", "拒绝", "\ufeff", "\\.", "\b", "\f", "\v", "\x1a", "\xff"}
	fsys := hdfsio.Local{}
	for name, s := range kinds {
		dir := t.TempDir()
		n := 0
		testcheck.Check(t, func(rt *rapid.T) {
			cols := rapid.IntRange(1, 3).Draw(rt, "columns")
			columns := []string{"a", "b b", "拒绝"}[:cols]
			s := s
			s.Columns = columns
			x := textOf(t, CSV, s)
			value := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 4), func(p []string) string { return strings.Join(p, "") })
			var out bytes.Buffer
			var plan []column
			for _, c := range columns {
				plan = append(plan, column{name: c})
			}
			e, err := newTextEncoder(&out, x, plan, true, 100)
			if err != nil {
				rt.Fatal(err)
			}
			var want [][]any
			for range rapid.IntRange(1, 5).Draw(rt, "rows") {
				var r row
				var values []any
				valid, bom := true, false
				for i := range cols {
					if x.hasNull() && rapid.IntRange(0, 4).Draw(rt, "null") == 0 {
						r.values = append(r.values, span.Null())
						values = append(values, nil)
						continue
					}
					v := value.Draw(rt, "value")
					valid = valid && utf8.ValidString(v)
					bom = bom || i == 0 && strings.HasPrefix(strings.TrimLeft(v, "\x1a"), "\ufeff")
					r.values = append(r.values, span.Span{Off: uint32(len(r.data)), Len: uint32(len(v))})
					r.data = append(r.data, v...)
					values = append(values, v)
				}
				at := len(e.b)
				_, err := e.row(&r)
				switch {
				case err == nil:
					want = append(want, values)
					continue
				case !valid:
				case slices.Contains(always, name) && !bom && !errors.Is(err, errHeader):
					rt.Fatalf("%s: %q is refused: %v", name, values, err)
				case !errors.Is(err, errSeparator) && !errors.Is(err, errNull) && !errors.Is(err, errBlanks) && !errors.Is(err, errComment) && !errors.Is(err, errMark) && !errors.Is(err, errHeader) && !errors.Is(err, errSub):
					rt.Fatalf("%s: %q: %v", name, values, err)
				}
				e.b = e.b[:min(at, len(e.b))] // the record is dropped
			}
			if err := e.close(); err != nil || name == dialect.CSV && bytes.Contains(out.Bytes(), []byte(",\\N,")) {
				rt.Fatalf("%v, or \\N without quotes, which readers that detect the format refuse: %q", err, out.Bytes())
			}
			n++
			file := filepath.Join(dir, "x.txt")
			writeOver(t, file, out.Bytes())
			var header []string
			if !x.header(true) || x.dialect.Header == dialect.HeaderMatch {
				header = columns
			}
			if len(want) == 0 {
				return
			}
			got, err := readBack(t, fsys, file, reading(x, header))
			if err != nil && strings.Contains(err.Error(), "another text with NUL bytes") {
				return // half of such a short file is NUL: it is refused as text with two bytes per character
			}
			if err != nil || len(got) != len(want) {
				rt.Fatalf("%s: %q: %d records of %d, %v\n%q", name, want, len(got), len(want), err, out.String())
			}
			for i, values := range want {
				for c, v := range values {
					if got[i][columns[c]] != v {
						rt.Fatalf("%s: %q is read as %q\n%q", name, v, got[i][columns[c]], out.String())
					}
				}
			}
		})
	}
}

// TestReadAs checks that the fields of a manifest are those of a job file that
// reads the text.
func TestReadAs(t *testing.T) {
	jobs := []spec.Spec{{Columns: []string{"a"}, FieldSep: ";"}, {Columns: []string{"a"}, Header: "no"}, {Columns: []string{"a"}, Format: "parquet"},
		{Columns: []string{"a"}, Reading: spec.Reading{Dialect: "csv", Comment: "#", Trim: "left", NullValue: spec.Texts{"-"}, NullQuoted: "yes", Escape: "!", EscapeMap: "jq"}}}
	for _, name := range dialect.Separated() {
		jobs = append(jobs, spec.Spec{Columns: []string{"a"}, Reading: spec.Reading{Dialect: name}})
	}
	for _, s := range jobs {
		for _, format := range []Format{CSV, Dump} {
			p, err := Compile(Options{Format: format, Job: resolve(t, s)})
			testcheck.Must(t, err)
			b, err := json.Marshal(p.Settings())
			testcheck.Must(t, err)
			read, err := spec.ParseSpec("read_as", b)
			testcheck.Must(t, err)
			if got := textOf(t, format, *read); !got.dialect.Equal(p.text.dialect) {
				t.Errorf("%+v as %s: %s is read as %s, written as %s", s, format, b, got.dialect, p.text.dialect)
			}
		}
	}
}

// TestTextRefused checks the errors for settings with which text cannot be read
// back.
func TestTextRefused(t *testing.T) {
	for says, s := range map[string]spec.Spec{
		"quotes: ":       {Reading: spec.Reading{Dialect: "csv", Quotes: "lenient"}},
		"UTF-8 only":     {Reading: spec.Reading{Dialect: "csv", Charset: "gbk"}},
		"skip_lines":     {Reading: spec.Reading{Dialect: "csv", SkipLines: 2}},
		"cannot be writ": {Columns: []string{"a\x01b"}, Header: "yes", Reading: spec.Reading{Dialect: "hive"}},
	} {
		s.Columns = append(s.Columns, "z")
		_, err := Compile(Options{Format: CSV, Job: resolve(t, s)})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}
