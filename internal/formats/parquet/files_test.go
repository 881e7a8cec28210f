package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/span"
)

const (
	parquetDir    = "../../../testdata/source/parquet"
	parquetOthers = parquetDir + "/others/"
)

// rowsOf reads columns of a file, all if there are none, and returns each row's values by column, nil for NULL.
func rowsOf(data []byte, zone *time.Location, columns ...string) (rows []map[string]any, err error) {
	raw := bytes.NewReader(data)
	m, err := Open(raw, raw.Size(), limited(64<<20))
	if err != nil {
		return nil, err
	}
	if columns == nil {
		columns = m.Names()
	}
	plan := []Column{{Null: true}} // between columns of the path
	for _, c := range columns {
		plan = append(plan, Column{Name: c})
	}
	if err := m.Plan(append(plan, Column{Fixed: true, Value: []byte("of the path")}), zone); err != nil {
		return nil, err
	}
	width := len(columns) + 2
	r := NewReader(limited(64<<20), 1<<20)
	fields := make([]span.Span, MaxRows*width)
	for group, left := range m.Groups() {
		if left == 0 {
			continue
		}
		if err := r.Begin(m, raw, group, fields); err != nil {
			return rows, err
		}
		for left > 0 {
			n, err := r.Rows(fields, int(min(left, MaxRows)))
			if err != nil || len(rows) > 1e6 { // nulls take no bytes
				return rows, err
			}
			for i := range n {
				row, of := map[string]any{}, fields[i*width:(i+1)*width]
				for c, name := range columns {
					if row[name] = nil; !of[c+1].IsNull() {
						row[name] = string(of[c+1].Of(r.Data()))
					}
				}
				if !of[0].IsNull() || string(of[width-1].Of(r.Data())) != "of the path" {
					return rows, errors.New("the columns of the path have other values")
				}
				rows = append(rows, row)
			}
			left -= int64(n)
		}
		if _, err := r.Finish(nil); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// chosenRows is rowsOf of a file, with instants in UTC.
func chosenRows(t *testing.T, path string, columns ...string) ([]map[string]any, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	testcheck.Must(t, err)
	return rowsOf(data, time.UTC, columns...)
}

// TestParquetFiles reads files of pyarrow and DuckDB, and compares them with texts that were made without a Parquet
// reader.
func TestParquetFiles(t *testing.T) {
	expected, err := os.ReadFile(filepath.Join(parquetDir, "expected.csv"))
	testcheck.Must(t, err)
	want, err := csv.NewReader(bytes.NewReader(expected)).ReadAll()
	testcheck.Must(t, err)
	names := want[0]
	paths, err := filepath.Glob(filepath.Join(parquetDir, "*.parquet"))
	if err != nil || len(paths) < 20 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if name == "nested.parquet" || name == "struct.parquet" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			got, err := chosenRows(t, path)
			testcheck.Must(t, err)
			rows := want[1:]
			if name == "arrow-empty.parquet" {
				rows = nil
			}
			if len(got) != len(rows) {
				t.Fatalf("%d rows, want %d", len(got), len(rows))
			}
			for i := range rows {
				for column, value := range got[i] {
					text, _ := value.(string)
					if w := rows[i][slices.Index(names, column)]; text != w || len(got[i]) < 2 {
						t.Fatalf("column %s, row %d: %q, want %q", column, i, value, w)
					}
				}
			}
		})
	}
}

// TestParquetOthers reads nested columns and features of other writers, chosen by name and in any order, and compares the values with pyarrow's.
func TestParquetOthers(t *testing.T) {
	paths, err := filepath.Glob(parquetOthers + "*.jsonl")
	if err != nil || len(paths) < 6 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		path = strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(path), func(t *testing.T) {
			columns, want := testcheck.ExpectedTexts(t, path+".jsonl")
			got, err := chosenRows(t, path+".parquet", columns...)
			if err != nil {
				t.Fatal(err)
			}
			testcheck.SameRows(t, columns, got, want)
			// A column that is read alone has the same values: other columns do not affect it.
			for _, c := range columns {
				if got, err = chosenRows(t, path+".parquet", c); err != nil {
					t.Fatal(err)
				}
				testcheck.SameRows(t, []string{c}, got, want)
			}
		})
	}
}

// TestVariantFiles reads Spark's VARIANTs, as values and shredded into columns, and compares them with Spark's to_json.
func TestVariantFiles(t *testing.T) {
	paths, err := filepath.Glob(parquetDir + "/variant/*.parquet")
	if err != nil || len(paths) < 6 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			texts := strings.TrimSuffix(path, ".parquet") + ".jsonl"
			shredded := strings.Contains(path, "shredded-") // the same rows without one column
			if shredded {
				texts = filepath.Dir(path) + "/plain.jsonl"
			}
			columns, want := testcheck.ExpectedTexts(t, texts)
			if shredded {
				columns = columns[:3]
			}
			got, err := chosenRows(t, path, columns...)
			if err != nil {
				t.Fatal(err)
			}
			testcheck.SameRows(t, columns, got, want)
		})
	}
	if _, err := chosenRows(t, parquetDir+"/variant/plain.parquet", "v.value"); err == nil {
		t.Error("a part of a VARIANT is read")
	}
}

// TestParquetDamage changes bytes of small files, and checks that the result is an error or other values, without a
// panic or an endless read.
func TestParquetDamage(t *testing.T) {
	for _, name := range []string{"arrow-v2-plain.parquet", "duckdb-v2.parquet", "others/nested-duckdb.parquet"} {
		whole, err := os.ReadFile(filepath.Join(parquetDir, name))
		if err != nil {
			t.Fatal(err)
		}
		step := 41
		if race.Reduced(t) {
			step = 211
		}
		for i := 0; i < len(whole); i += step {
			data := bytes.Clone(whole)
			data[i] ^= byte(1 << (i % 8))
			if records, err := rowsOf(data, time.UTC); err == nil && len(records) > 1000 {
				t.Fatalf("byte %d: %d records", i, len(records))
			}
		}
	}
}

// TestDamagedFooterLosesNoRows changes each bit of a footer, and sets stretches of it to zero: the row groups have all
// rows, or the file is refused. No checksum covers a footer, and a list of row groups may end early.
func TestDamagedFooterLosesNoRows(t *testing.T) {
	const rows = 40
	whole, err := os.ReadFile(parquetOthers + "fastparquet.parquet")
	testcheck.Must(t, err)
	end := len(whole) - footerTail
	begin := end - int(binary.LittleEndian.Uint32(whole[end:]))
	check := func(data []byte, what string, at int) {
		t.Helper()
		m, err := Open(bytes.NewReader(data), int64(len(data)), limited(64<<20))
		if err != nil {
			return
		}
		var got int64
		for _, n := range m.Groups() {
			got += n
		}
		if got != rows {
			t.Errorf("%s %d of the footer: %d of %d rows", what, at-begin, got, rows)
		}
	}
	check(whole, "whole", begin)
	for at := begin; at < end; at++ {
		for bit := range 8 {
			data := bytes.Clone(whole)
			data[at] ^= 1 << bit
			check(data, "bit of byte", at)
		}
		for n := 1; n <= min(128, end-at); n *= 2 {
			data := bytes.Clone(whole)
			clear(data[at : at+n])
			check(data, "zeros from byte", at)
		}
	}
}

func FuzzParquet(f *testing.F) {
	for _, name := range []string{"arrow-empty", "arrow-default", "duckdb-v2", "nested", "others/nested-duckdb", "others/nested-arrow-v2", "others/int96", "others/encrypted-column"} {
		data, err := os.ReadFile(filepath.Join(parquetDir, name+".parquet"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = rowsOf(data, time.UTC) })
}
