package orc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/formats/parquet"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source/span"
)

const orcDir = "../../../testdata/source/orc/"

// chosenRows reads columns of a file, and returns each row's values by column, nil for NULL.
func chosenRows(t *testing.T, path string, limit int64, zone *time.Location, columns ...string) (rows []map[string]any, err error) {
	t.Helper()
	raw, err := os.Open(path)
	testcheck.Must(t, err)
	defer func() { _ = raw.Close() }()
	info, err := raw.Stat()
	testcheck.Must(t, err)
	m, err := Open(raw, info.Size(), limited(limit))
	if err != nil {
		return nil, err
	}
	plan := []parquet.Column{{Null: true}} // between columns of the path
	for _, c := range columns {
		plan = append(plan, parquet.Column{Name: c})
	}
	if err := m.Plan(append(plan, parquet.Column{Fixed: true, Value: []byte("of the path")}), zone); err != nil {
		return nil, err
	}
	width := len(columns) + 2
	r := NewReader(limited(limit), 1<<20)
	fields := make([]span.Span, maxRows*width)
	for stripe, left := range m.Groups() {
		if err := r.Begin(m, raw, stripe, fields); err != nil {
			return rows, err
		}
		for left > 0 {
			n, err := r.Rows(fields, int(min(left, maxRows)))
			if err != nil {
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
					t.Fatal("the columns of the path have other values")
				}
				rows = append(rows, row)
			}
			left -= int64(n)
		}
	}
	return rows, nil
}

// readORC compares the files of a directory with the texts next to them, with all columns and with single ones.
func readORC(t *testing.T, dir string, least int) (files, rows int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(paths) < least {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		path = strings.TrimSuffix(path, ".jsonl")
		t.Run(filepath.Base(path), func(t *testing.T) {
			columns, want := testcheck.ExpectedTexts(t, path+".jsonl")
			got, err := chosenRows(t, path+".orc", 512<<20, time.UTC, columns...)
			if err != nil {
				t.Fatal(err)
			}
			testcheck.SameRows(t, columns, got, want)
			// A column that is read alone has the same values: other columns do not affect it.
			for i, c := range columns {
				if i >= 3 && len(want) > 1000 {
					break
				}
				if got, err = chosenRows(t, path+".orc", 64<<20, time.UTC, c); err != nil {
					t.Fatal(err)
				}
				testcheck.SameRows(t, []string{c}, got, want)
			}
			files, rows = files+1, rows+len(want)
		})
	}
	return files, rows
}

// TestORCFiles reads files that pyarrow, Spark and Hive have written.
func TestORCFiles(t *testing.T) {
	readORC(t, orcDir, 10)
}

// TestORCRandom reads random tables that pyarrow writes. BULKLOAD_TEST_ORC is their number, and BULKLOAD_TEST_PYTHON a Python with pyarrow.
func TestORCRandom(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("BULKLOAD_TEST_ORC"))
	if count == 0 {
		t.Skip("BULKLOAD_TEST_ORC=300 has Python write so many files, with pyarrow")
	}
	python := os.Getenv("BULKLOAD_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	seed := os.Getenv("BULKLOAD_SEED")
	if seed == "" {
		seed = "1"
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), python, orcDir+"generate.py", dir, strconv.Itoa(count), seed, "5000").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, rows := readORC(t, dir, count)
	t.Logf("%d files, %d rows", files, rows)
}

// TestORCPaths reads members of structs, and checks that only instants are shifted to the time zone.
func TestORCPaths(t *testing.T) {
	file := orcDir + "hive-shanghai-snappy.orc"
	columns, want := testcheck.ExpectedTexts(t, strings.TrimSuffix(file, ".orc")+".jsonl")
	got, err := chosenRows(t, file, 64<<20, time.FixedZone("", 3600), "addr.zip", "ts", "addr.tags", "id")
	if err != nil || len(got) != len(want) || len(columns) != 17 {
		t.Fatal(len(got), err)
	}
	for i, row := range got {
		whole, _ := want[i]["addr"].(string)
		zip, tags := "", ""
		if _, rest, ok := strings.Cut(whole, `"zip":`); ok {
			zip, tags, _ = strings.Cut(strings.TrimSuffix(rest, "}"), `,"tags":`)
		}
		gotZip, _ := row["addr.zip"].(string)
		gotTags, _ := row["addr.tags"].(string)
		if gotZip != zip || gotTags != tags || row["ts"] != want[i]["ts"] || (whole == "") != (row["addr.zip"] == nil) {
			t.Fatalf("row %d: %v, want %v", i, row, want[i])
		}
	}
}
