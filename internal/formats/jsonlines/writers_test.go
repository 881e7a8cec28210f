package jsonlines

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWritersRows compares the rows of other programs' files with the rows from which they were written.
func TestWritersRows(t *testing.T) {
	columns := []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}
	for file, expected := range map[string]string{
		"jq-c.jsonl": "28", "jq-ascii.jsonl": "28", "duckdb-copy.jsonl": "table", "spark-default.jsonl": "16",
		"spark-nested.jsonl": "16", "pandas.jsonl": "33",
	} {
		lines, want := readLines(t, file), readLines(t, "expected-"+expected+".jsonl")
		if len(lines) != 44 || len(want) != 44 {
			t.Fatalf("%s: %d lines for %d rows", file, len(lines), len(want))
		}
		p := compile(t, columns...).NewParser()
		for i, line := range lines {
			row, err := parse(t, p, line, len(columns))
			if err != nil {
				t.Fatalf("%s, line %d: %v", file, i+1, err)
			}
			var object map[string]*string
			if err := json.Unmarshal(want[i], &object); err != nil {
				t.Fatal(err)
			}
			var wanted []*string
			for _, c := range columns {
				wanted = append(wanted, object[c])
			}
			if d := cmp.Diff(wanted, row); d != "" {
				t.Errorf("%s, line %d (-written +read):\n%s", file, i+1, d)
			}
		}
	}
	for i, line := range readLines(t, "jq-pretty.json") {
		if _, err := parse(t, compile(t, columns...).NewParser(), line, len(columns)); err == nil || errors.Is(err, ErrWholeFile) != (string(line) == "{") {
			t.Errorf("jq-pretty.json, line %d: %v", i+1, err)
		}
	}
}
