package source

import (
	"bulkload/internal/test/testcheck"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const parquetOthers = parquetDir + "/others/"

// chosenRows reads files, and returns each row's values by column, nil for NULL.
func chosenRows(t *testing.T, o Options, paths ...string) ([]map[string]any, error) {
	t.Helper()
	in, err := Open(t.Context(), disk, paths, o)
	if err != nil {
		return nil, err
	}
	return rowsOf(t, in)
}

// TestParquetOfSpark reads Spark's files, with instants in UTC: files with nested columns that are not read, partitions, and files that lack columns.
func TestParquetOfSpark(t *testing.T) {
	columns := strings.Fields("id check_id name amount n d ts flag remark")
	want := expectedRows(t, "expected/35.jsonl")
	for _, path := range []string{"spark/parquet.parquet", "spark/parquet-nested.parquet"} {
		got, err := chosenRows(t, Options{Columns: columns}, exporterSamples+path)
		if err != nil {
			t.Fatal(path, err)
		}
		testcheck.SameRows(t, columns, got, want)
	}
	all, err := Open(t.Context(), disk, []string{exporterSamples + "spark/parquet-nested.parquet"}, Options{})
	if err != nil || !slices.Contains(all.Columns(), "nested") || !slices.Contains(all.Columns(), "m") {
		t.Fatal(all.Columns(), err)
	}
	parts, err := filepath.Glob(exporterSamples + "spark/part-parquet/*/*/*.parquet")
	if err != nil || len(parts) != 10 {
		t.Fatal(parts, err)
	}
	byID := map[any]map[string]any{}
	for _, row := range expectedRows(t, "expected/38.jsonl") {
		byID[row["id"]] = row
	}
	part, err := chosenRows(t, Options{}, parts...)
	if err != nil || len(part) != len(byID) {
		t.Fatal(len(part), err)
	}
	for _, row := range part {
		columns := slices.Collect(maps.Keys(row))
		testcheck.SameRows(t, columns, []map[string]any{row}, []map[string]any{byID[row["id"]]})
	}
	// Each file of the evolved table has only some of the columns.
	evolved, err := filepath.Glob(exporterSamples + "spark/evolve-parquet/*.parquet")
	if err != nil || len(evolved) != 2 {
		t.Fatal(evolved, err)
	}
	rows, err := chosenRows(t, Options{Columns: []string{"extra", "name", "id", "amount"}, Missing: MissingNull}, evolved...)
	if err != nil || len(rows) != 6 {
		t.Fatal(len(rows), err)
	}
	names, amounts := 0, 0
	for _, row := range rows {
		if row["id"] == nil || row["name"] != nil && (row["amount"] != nil || row["extra"] != nil) {
			t.Errorf("%q", row)
		}
		if row["name"] != nil {
			names++
		}
		if row["amount"] != nil {
			amounts++
		}
	}
	if names == 0 || amounts == 0 || names+amounts > 6 {
		t.Errorf("%d names, %d amounts: %q", names, amounts, rows)
	}
	if _, err := chosenRows(t, Options{Columns: []string{"name", "id", "amount"}}, evolved...); err == nil || !strings.Contains(err.Error(), `column "amount" is missing`) {
		t.Errorf("error %v", err)
	}
}

// TestParquetConstants checks values from the path among those of the records: before, between and after them, also NULL.
func TestParquetConstants(t *testing.T) {
	path := parquetOthers + "nested-arrow-v1.parquet"
	columns, want := testcheck.ExpectedTexts(t, parquetOthers+"nested-arrow-v1.jsonl")
	for i := range want {
		want[i]["dt"], want[i]["none"], want[i]["gone"] = "2026-03-05", nil, nil
	}
	columns = append([]string{"dt", "none"}, append(columns, "gone", "dt2")...)
	in, err := openWith(t, path, Options{Columns: columns, Missing: MissingNull}, []Partition{{Name: "none", Null: true}, {Name: "dt2", Value: "第二"}, {Name: "dt", Value: "2026-03-05"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := rowsOf(t, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i]["dt2"] = "第二"
	}
	testcheck.SameRows(t, columns, got, want)
}

// openWith opens a file with constants from its path.
func openWith(t *testing.T, path string, o Options, constants []Partition) (*Input, error) {
	t.Helper()
	in, err := Open(t.Context(), disk, []string{path}, Options{})
	if err != nil {
		return nil, err
	}
	in.opts = o.withDefaults()
	f := in.files[0]
	if err := f.found(f.kind.probe(t.Context(), f, nil, &in.opts)); err != nil {
		return nil, err
	}
	f.Partitions = constants
	return in, in.schema()
}
