package inspect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/jobs/inspect"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
)

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
