package build

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
)

// cellsOf builds the inputs and lists the cells, as row:qualifier=value.
func cellsOf(t *testing.T, s spec.Spec) (cells []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	m, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), jobtest.Family, nil, out, WorkOptions{Workers: 2, RejectFile: filepath.Join(t.TempDir(), "rejects.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Files {
		r, c, err := filecheck.OpenHFile(t.Context(), hdfsio.Local{}, filepath.Join(out, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		for scan := r.Scan(); scan.Next(); {
			cell := scan.Cell()
			cells = append(cells, fmt.Sprintf("%s:%s=%s", cell.Row, cell.Qualifier, cell.Value))
		}
		c.Close()
	}
	slices.Sort(cells)
	return cells
}

// TestEmptyTextsAreCellsWhereThereIsNull builds the same rows from formats that have NULL as well as empty text, with all settings of a
// job and its cells for both. Name and remark are NULL and ” in some of the rows.
func TestEmptyTextsAreCellsWhereThereIsNull(t *testing.T) {
	const dir = "../../../testdata/source/dialects/"
	data, err := os.ReadFile(dir + "expected.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]*string
	for line := range strings.Lines(string(data)) {
		var row map[string]*string
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	columns := []string{"id", "check_id", "name", "amount", "n", "d", "ts", "flag", "remark"}
	for _, c := range []struct {
		empty string
		cell  spec.CellSpec
		store bool // an empty text is a cell
		nulls bool // NULL becomes an empty cell
	}{
		{"", spec.CellSpec{}, true, false},
		{"skip", spec.CellSpec{}, false, false},
		{"store", spec.CellSpec{}, true, false},
		{"", spec.CellSpec{Empty: "skip"}, false, false},
		{"skip", spec.CellSpec{Empty: "store"}, true, false},
		{"", spec.CellSpec{Nulls: "store"}, true, true},
		{"store", spec.CellSpec{Nulls: "skip"}, true, false},
	} {
		var want []string
		for _, row := range rows {
			for _, q := range []string{"name", "remark"} {
				switch v := row[q]; {
				case v == nil && c.nulls:
					want = append(want, *row["id"]+":"+q+"=")
				case v != nil && (*v != "" || c.store):
					want = append(want, *row["id"]+":"+q+"="+*v)
				}
			}
			want = append(want, *row["id"]+":z=1")
		}
		slices.Sort(want)
		for file, change := range map[string]func(*spec.Spec){
			"mysql/outfile-default.txt": func(s *spec.Spec) { s.Dialect = "mysql" },
			"duckdb/copy-csv.csv":       func(s *spec.Spec) { s.Dialect = "postgres-csv" },
			"duckdb/copy-json.jsonl":    func(*spec.Spec) {},
			"fastavro/null.avro":        func(*spec.Spec) {},
			"spark/parquet.parquet":     func(*spec.Spec) {},
		} {
			one, cell := "1", c.cell
			cell.Columns = []string{"name", "remark"}
			s := jobtest.CSVSpec(jobtest.Absolute(t, dir+file))
			s.Columns, s.Empty, s.Cells = columns, c.empty, []spec.CellSpec{cell, {Value: &one, Qualifier: "z"}}
			change(&s)
			if got := cellsOf(t, s); !slices.Equal(got, want) {
				t.Errorf("%s, empty %q, %+v:\n%q, want\n%q", file, c.empty, c.cell, got, want)
			}
			s.Cells[1] = spec.CellSpec{Column: "id", Qualifier: "z"} // rows that need nothing converted
			for i, v := range want {
				if id, ok := strings.CutSuffix(v, ":z=1"); ok {
					want[i] = id + ":z=" + id
				}
			}
			slices.Sort(want)
			if got := cellsOf(t, s); !slices.Equal(got, want) {
				t.Errorf("%s, empty %q, %+v, as text:\n%q, want\n%q", file, c.empty, c.cell, got, want)
			}
			for i, v := range want {
				if id, _, ok := strings.Cut(v, ":z="); ok {
					want[i] = id + ":z=1"
				}
			}
			slices.Sort(want)
		}
	}
}

// TestEmptyTextsOfSeveralFormats checks that in one job files with and without NULL are read by the rules of their formats.
func TestEmptyTextsOfSeveralFormats(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "id,a,b\n1,,x\n", "b.jsonl": `{"id":2,"a":"","b":null}` + "\n", "c.csv": "id,a,b\n3,,y\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := jobtest.CSVSpec(dir)
	s.Columns = []string{"id", "a", "b"}
	for empty, want := range map[string]string{
		"":      "1:b=x 1:id=1 2:a= 2:id=2 3:b=y 3:id=3",
		"skip":  "1:b=x 1:id=1 2:id=2 3:b=y 3:id=3",
		"store": "1:a= 1:b=x 1:id=1 2:a= 2:id=2 3:a= 3:b=y 3:id=3",
	} {
		s.Empty = empty
		if got := strings.Join(cellsOf(t, s), " "); got != want {
			t.Errorf("%q: %s, want %s", empty, got, want)
		}
	}
	s.Empty, s.Cells = "", []spec.CellSpec{{JSON: true, Qualifier: "j"}, {JSON: true, Qualifier: "k", Nulls: "store", Empty: "store"}, {JSON: true, Qualifier: "l", Empty: "skip"}}
	want := []string{`1:j={"id":"1","b":"x"}`, `1:k={"id":"1","a":"","b":"x"}`, `1:l={"id":"1","b":"x"}`,
		`2:j={"id":"2","a":""}`, `2:k={"id":"2","a":"","b":null}`, `2:l={"id":"2"}`, `3:j={"id":"3","b":"y"}`, `3:k={"id":"3","a":"","b":"y"}`, `3:l={"id":"3","b":"y"}`}
	if got := cellsOf(t, s); !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}
