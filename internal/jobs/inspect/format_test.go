package inspect_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
)

// TestColumnsThatAreGiven checks that the job file has the given columns alone, and that those which the input does not have are asked about.
func TestColumnsThatAreGiven(t *testing.T) {
	parquet, err := os.ReadFile("../../../testdata/source/dialects/spark/parquet-nested.parquet")
	testcheck.Must(t, err)
	const table = "id,a,b\n1,x,p\n2,y,q\n"
	gbk := "{\"id\":1,\"a\":\"\xc9\xcf\xba\xa3\",\"b\":2}\n"
	for _, c := range []struct{ name, text, columns, extra, charset, want, doubt string }{
		{"x.csv", table, "id,a", "ignore", "", "a=x id=1|a=y id=2", ""},
		{"x.csv", table, "b,a,id", "", "", "a=x b=p id=1|a=y b=q id=2", ""},
		{"x.csv", table, "id,a", "", "", "", "columns that are not given: b"},
		{"x.csv", table, "id,nosuch", "ignore", "", "", "no column nosuch"},
		{"day=7/x.csv", table, "id,day", "ignore", "", "day=7 id=1|day=7 id=2", ""},
		{"x.jsonl", gbk, "id,a", "", "gbk", "a=上海 id=1", ""},
		{"day=7/x.jsonl", gbk, "day,b", "", "gbk", "b=2 day=7", ""},
		{"x.parquet", string(parquet), "id", "", "", "id=1|id=2", ""},
		{"day=7/x.parquet", string(parquet), "id,day", "", "", "day=7 id=1|day=7 id=2", ""},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		testcheck.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testcheck.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
		s := spec.Spec{Columns: strings.Split(c.columns, ",")}
		s.Extra, s.Charset = c.extra, c.charset
		if strings.HasSuffix(c.name, ".csv") {
			s.Header = "yes"
		}
		r := look(t, path, s, inspect.Options{})
		if c.doubt != "" {
			if len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0].Text, c.doubt) || r.Job() != nil {
				t.Errorf("%s of %s: %+v", c.columns, c.name, r.Doubts)
			}
			continue
		}
		if r.Job() == nil {
			t.Errorf("%s of %s: %+v, %+v", c.columns, c.name, r.Doubts, r.Refused)
			continue
		}
		rows, err := readJob(t, r.Job(), nil)
		if got := rowTexts(rows); err != nil || !strings.HasPrefix(got+"|", c.want+"|") || len(r.Columns) != len(s.Columns) {
			t.Errorf("%s of %s: %s, want %s, %v\n%s", c.columns, c.name, got, c.want, err, r.Job())
		}
	}
}

// TestFormatThatIsGiven checks that a given format overrides the name and the first bytes of text, but not the first bytes of a binary format.
func TestFormatThatIsGiven(t *testing.T) {
	const lines, table = "{\"id\":1,\"a\":\"x\"}\n{\"id\":2,\"a\":\"y\"}\n", "id,a\n1,x\n2,y\n"
	parquet, err := os.ReadFile("../../../testdata/source/dialects/spark/parquet-nested.parquet")
	testcheck.Must(t, err)
	for _, c := range []struct{ name, text, format, want, refused string }{
		{"x.jsonl", lines, "", "json", ""},
		{"x.jsonl", lines, "json", "json", ""},
		{"x.jsonl", lines, "csv", "text", ""},
		{"x.jsonl", lines, "dump", "text", ""},
		{"x.txt", lines, "", "json", ""},
		{"x.txt", lines, "csv", "text", ""},
		{"x.json", table, "", "", "the line does not begin with {"},
		{"x.json", table, "csv", "text", ""},
		{"x.csv", string(parquet), "", "parquet", ""},
		{"x.csv", string(parquet), "csv", "", "x.csv is parquet, and `format` csv is given: leave it out, or give parquet"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		testcheck.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
		r := look(t, path, spec.Spec{Format: c.format}, inspect.Options{})
		if r.Format != c.want || (c.refused != "") != (len(r.Refused) == 1) || c.refused != "" && !strings.Contains(r.Refused[0].Reason, c.refused) {
			t.Errorf("%s with format %q: %q, %+v", c.name, c.format, r.Format, r.Refused)
		}
		if c.text != table || c.format != "csv" {
			continue
		}
		rows, err := readJob(t, r.Job(), nil)
		if err != nil || rowTexts(rows) != "a=x id=1|a=y id=2" || !bytes.Contains(r.Job(), []byte("\ndialect: ")) {
			t.Errorf("%s: %v, %v\n%s", c.name, rows, err, r.Job())
		}
	}
}

// TestDialectThatIsGiven checks that settings of text decide about files with names of JSON lines, and that others and names of CSV count next to them, as in a job.
func TestDialectThatIsGiven(t *testing.T) {
	const lines, table = "{\"id\":1,\"a\":\"x\"}\n{\"id\":2,\"a\":\"y\"}\n", "id,a\n1,x\n2,y\n"
	parquet, err := os.ReadFile("../../../testdata/source/dialects/spark/parquet-nested.parquet")
	testcheck.Must(t, err)
	null := func(r *spec.Reading) { r.NullValue = spec.Texts{"x"} }
	preset := func(r *spec.Reading) { r.Dialect = "postgres-csv" }
	for _, c := range []struct {
		name, text string
		give       func(r *spec.Reading)
		format     string
		want       string
	}{
		{"x.jsonl", table, null, "text", "id=1|a=y id=2"},
		{"x.jsonl", table, preset, "text", "a=x id=1|a=y id=2"},
		{"x.json", table, preset, "text", "a=x id=1|a=y id=2"},
		{"x.csv", table, null, "text", "id=1|a=y id=2"},
		{"x.csv.gz", packed(t, table), null, "text", "id=1|a=y id=2"},
		{"x.jsonl", lines, null, "text", ""},
		{"x.jsonl", lines, func(r *spec.Reading) { r.Charset = "gbk" }, "json", "a=x id=1|a=y id=2"},
		{"x.parquet", string(parquet), null, "parquet", ""},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		testcheck.Must(t, os.WriteFile(path, []byte(c.text), 0o600))
		var s spec.Spec
		if c.give(&s.Reading); c.text == table {
			s.Header = "yes"
		}
		r := look(t, path, s, inspect.Options{})
		if r.Format != c.format || len(r.Refused) > 0 {
			t.Errorf("%s %q: %q, %+v", c.name, c.text[:9], r.Format, r.Refused)
			continue
		}
		if c.want == "" {
			continue
		}
		rows, err := readJob(t, r.Job(), nil)
		if got := rowTexts(rows); err != nil || got != c.want {
			t.Errorf("%s %q: %s, want %s, %v, %+v\n%s", c.name, c.text[:9], got, c.want, err, r.Doubts, r.Job())
		}
	}
}

// packed returns a text packed by gzip.
func packed(t *testing.T, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	testcheck.Must(t, errors.Join(err, w.Close()))
	return b.String()
}

// TestLongFirstLine checks that text whose first line is longer than what candidates are first tried on is read, by itself and with a dialect that is given.
func TestLongFirstLine(t *testing.T) {
	const columns = 7000
	var text strings.Builder
	for row := range 10 {
		for c := range columns {
			if c > 0 {
				text.WriteByte(',')
			}
			if row == 0 {
				fmt.Fprintf(&text, "column%d", c)
			} else {
				fmt.Fprint(&text, row*c)
			}
		}
		text.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	testcheck.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
	for _, name := range []string{"", "csv"} {
		s := spec.Spec{}
		if s.Dialect = name; name != "" {
			s.Header = "yes"
		}
		if r := look(t, path, s, inspect.Options{}); len(r.Columns) != columns || len(r.Refused) > 0 {
			t.Errorf("dialect %q: %d columns, %+v", name, len(r.Columns), r.Refused)
		}
	}
}
