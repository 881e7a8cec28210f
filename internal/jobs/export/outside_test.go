package export

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/partition"
)

// TestOutsideReaders compares exports of check with the results of Python's csv and json, and of DuckDB if BULKLOAD_DIALECTS_PYTHON names a Python
// that has it.
func TestOutsideReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("runs Python, which -short leaves out")
	}
	python, hows := "python3", []string{"csv", "jsonl"}
	if p := os.Getenv("BULKLOAD_DIALECTS_PYTHON"); p != "" {
		python, hows = p, []string{"csv", "jsonl", "duckdb-csv", "duckdb-parquet"}
	}
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Timestamp = []string{jobtest.Export(t, "check.csv")}, 1700000000000
	splits := partition.SaltSplits(3)
	dir, m := built(t, jobtest.Env(t), s, splits)
	snap := labBuild(t, dir, m, splits)
	s.Format = "parquet" // so that CSV has a NULL, which readers read as an empty text or as NULL
	want, err := readBack(t, hdfsio.Local{}, jobtest.Export(t, "check.csv"), readerOptions(s.Columns))
	testcheck.Must(t, err)
	texts := map[string]map[string]any{}
	for _, r := range want {
		texts[r["id"].(string)] = r
	}
	for _, how := range hows {
		format := Format(strings.TrimPrefix(how, "duckdb-"))
		p, err := Compile(Options{Format: format, Job: resolve(t, s)})
		testcheck.Must(t, err)
		out := filepath.Join(t.TempDir(), "out")
		made, err := p.Run(t.Context(), snap, hdfsio.Local{}, out)
		testcheck.Must(t, err)
		args := []string{filepath.Join("testdata", "read.py"), how}
		for _, f := range made.Files {
			args = append(args, filepath.Join(out, f.Name))
		}
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), python, args...)
		cmd.Stderr = &said
		b, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", how, err, said.Bytes())
		}
		n := 0
		for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
			var rows []map[string]any
			testcheck.Must(t, d.Decode(&rows))
			for _, r := range rows {
				for c, v := range r {
					if v == nil {
						r[c] = "" // an empty value has no cell in this table
					}
				}
				id, _ := r["id"].(string)
				if n++; !reflect.DeepEqual(r, texts[id]) {
					t.Fatalf("%s reads %q, want %q", how, r, texts[id])
				}
			}
		}
		if n != len(texts) || n != 3000 {
			t.Errorf("%s reads %d rows of %d", how, n, len(texts))
		}
	}
}
