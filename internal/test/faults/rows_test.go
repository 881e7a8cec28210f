package faults

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/bench/data"
)

// TestDigest compares the computation with digests of exports that other programs made: the judge must not share an
// error with the program.
func TestDigest(t *testing.T) {
	for _, c := range []struct {
		table data.Table
		salts int
	}{{data.Check, 10}, {data.Opinion, 50}} {
		exports := "../../../testdata/exports"
		f, err := os.Open(filepath.Join(exports, string(c.table)+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		records, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(exports, string(c.table)+".digest"))
		if err != nil {
			t.Fatal(err)
		}
		for _, empty := range []string{"skip", "store"} {
			var rows []row
			for _, fields := range records[1:] {
				rows = append(rows, record(c.table, records[0], fields, c.salts, empty == "store"))
			}
			sortRows(rows)
			line := digest(rows, family)
			found := false
			for l := range strings.Lines(string(want)) {
				found = found || strings.HasPrefix(l, empty) && strings.HasSuffix(strings.TrimSpace(l), line)
			}
			if !found {
				t.Errorf("%s %s: %s is not a line of\n%s", c.table, empty, line, want)
			}
		}
	}
}
