package export

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/source"

	"github.com/apache/arrow/go/v15/parquet/file"
)

// moreTypes are cells of all types and layouts that have Parquet types, with the expected schema.
var moreTypes = []struct {
	cell spec.CellSpec
	want string
}{
	{spec.CellSpec{Column: "small", Type: "decimal(9,2)"}, "INT32 Decimal(precision=9, scale=2)"},
	{spec.CellSpec{Column: "money", Type: "decimal(18,4)"}, "INT64 Decimal(precision=18, scale=4)"},
	{spec.CellSpec{Column: "wide", Type: "decimal(38,10)"}, "FIXED_LEN_BYTE_ARRAY Decimal(precision=38, scale=10)"},
	{spec.CellSpec{Column: "any", Type: "decimal"}, "BYTE_ARRAY String"},
	{spec.CellSpec{Column: "day", Type: "date"}, "INT32 Date"},
	{spec.CellSpec{Column: "hday", Type: "date", Zone: "Asia/Shanghai", Encoding: "phoenix"}, "INT32 Date"},
	{spec.CellSpec{Column: "cday", Type: "date", Layout: "yyyyMMdd"}, "BYTE_ARRAY String"},
	{spec.CellSpec{Column: "at", Type: "timestamp"}, "INT64 Timestamp(isAdjustedToUTC=true, timeUnit=milliseconds, is_from_converted_type=false, force_set_converted_type=false)"},
	{spec.CellSpec{Column: "local", Type: "timestamp", Zone: "Asia/Shanghai"}, "INT64 Timestamp(isAdjustedToUTC=false, timeUnit=milliseconds, is_from_converted_type=false, force_set_converted_type=false)"},
	{spec.CellSpec{Column: "fine", Type: "timestamp", Encoding: "phoenix"}, "INT64 Timestamp(isAdjustedToUTC=true, timeUnit=nanoseconds, is_from_converted_type=false, force_set_converted_type=false)"},
	{spec.CellSpec{Column: "second", Type: "timestamp", Layout: "yyyy-MM-dd HH:mm:ss"}, "INT64 Timestamp(isAdjustedToUTC=true, timeUnit=milliseconds, is_from_converted_type=false, force_set_converted_type=false)"},
	{spec.CellSpec{Column: "unix", Type: "timestamp", Layout: "unix"}, "INT64 Int(bitWidth=64, isSigned=true)"},
	{spec.CellSpec{Column: "n", Type: "int"}, "INT32 Int(bitWidth=32, isSigned=true)"},
	{spec.CellSpec{Column: "x", Type: "double"}, "DOUBLE None"},
	{spec.CellSpec{Column: "yes", Type: "boolean"}, "BOOLEAN None"},
}

// moreTexts returns random values of moreTypes; a quarter is NULL.
func moreTexts(r *rand.Rand, cell spec.CellSpec) string {
	if r.IntN(4) == 0 {
		return ""
	}
	decimal := func(digits, scale int) string {
		text := []string{"", "-"}[r.IntN(2)] + strconv.Itoa(r.IntN(10))
		for range r.IntN(digits - scale) {
			text += strconv.Itoa(r.IntN(10))
		}
		text += "."
		for range scale {
			text += strconv.Itoa(r.IntN(10))
		}
		return text
	}
	at := time.Date(1+r.IntN(9998), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
	switch cell.Column {
	case "small":
		return decimal(9, 2)
	case "money":
		return decimal(18, 4)
	case "wide":
		return decimal(38, 10)
	case "any":
		return decimal(20, 1+r.IntN(5))
	case "day", "hday":
		return at.Format("2006-01-02")
	case "cday":
		return at.Format("20060102")
	case "at", "local":
		return at.Format("2006-01-02 15:04:05") + []string{"", ".5", ".123", ".007"}[r.IntN(4)]
	case "second":
		return at.Format("2006-01-02 15:04:05")
	case "fine":
		return fmt.Sprintf("%d", 1700+r.IntN(500)) + at.Format("-01-02 15:04:05") + []string{"", ".000000001", ".123456789", ".1"}[r.IntN(4)]
	case "x":
		return strconv.FormatFloat(r.NormFloat64(), 'g', -1, 64)
	case "yes":
		return strconv.FormatBool(r.IntN(2) == 0)
	}
	return strconv.Itoa(r.IntN(1 << 31))
}

// TestParquetTypesRoundTrip builds a table with cells of every type, exports it, and builds the export: the HFiles are the same byte for byte, and
// the schema has the types. If BULKLOAD_DIALECTS_PYTHON names a Python that has DuckDB, it reads the same values.
func TestParquetTypesRoundTrip(t *testing.T) {
	seed := testcheck.Seed(t)
	if s := os.Getenv("BULKLOAD_EXPORT_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		testcheck.Must(t, err)
	}
	t.Logf("BULKLOAD_EXPORT_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 29))
	s := spec.Spec{Key: "id", Table: "t", Timestamp: 1700000000000, Columns: []string{"id"}}
	s.Cells = []spec.CellSpec{{Column: "id"}}
	for _, m := range moreTypes {
		s.Columns, s.Cells = append(s.Columns, m.cell.Column), append(s.Cells, m.cell)
	}
	var text bytes.Buffer
	texts := map[string][]string{}
	for id := range 500 {
		line := []string{fmt.Sprintf("%04d", id)}
		for _, m := range moreTypes {
			line = append(line, moreTexts(r, m.cell))
		}
		texts[line[0]] = line
		text.WriteString(strings.Join(line, ",") + "\n")
	}
	csv := s
	csv.Dialect, csv.Header, csv.Inputs = "postgres-csv", "no", []string{filepath.Join(t.TempDir(), "t.csv")}
	writeOver(t, csv.Inputs[0], text.Bytes())
	env, splits := jobtest.Env(t), [][]byte{[]byte("0200")}
	first, m := built(t, env, csv, splits)
	snap := labBuild(t, first, m, splits)
	for _, format := range []Format{Parquet, JSONL} {
		p, err := Compile(Options{Format: format, Job: resolve(t, s)})
		testcheck.Must(t, err)
		dir := filepath.Join(t.TempDir(), "out")
		made, err := p.Run(t.Context(), snap, hdfsio.Local{}, dir)
		testcheck.Must(t, err)
		again := s
		again.Inputs = []string{dir}
		second, _ := built(t, env, again, splits)
		if a, b := jobtest.Hashes(t, first), jobtest.Hashes(t, second); fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: the files of what was exported are others: %v, %v", format, a, b)
		}
		if format == Parquet {
			checkParquetTypes(t, filepath.Join(dir, made.Files[0].Name))
			duckdbReads(t, dir, made, texts)
		}
	}
}

// checkParquetTypes compares a file's schema with moreTypes.
func checkParquetTypes(t *testing.T, path string) {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	testcheck.Must(t, err)
	defer func() { _ = f.Close() }()
	for i, m := range moreTypes {
		c := f.MetaData().Schema.Column(i + 1)
		if got := fmt.Sprintf("%v %v", c.PhysicalType(), c.LogicalType()); got != m.want {
			t.Errorf("%s: %s, want %s", c.Name(), got, m.want)
		}
	}
}

// duckdbReads compares the files with what DuckDB reads from them, as text.
func duckdbReads(t *testing.T, dir string, made *Manifest, texts map[string][]string) {
	t.Helper()
	python := os.Getenv("BULKLOAD_DIALECTS_PYTHON")
	if python == "" {
		return
	}
	const program = `import duckdb, sys
duckdb.execute("set timezone='UTC'")
q = """select columns(*)::varchar from (select * replace (epoch_ms(epoch_ms("at")) as "at", epoch_ms(epoch_ms("second")) as "second") from read_parquet(?))"""
for path in sys.argv[1:]:
    for row in duckdb.execute(q, [path]).fetchall():
        print("\x01".join("" if v is None else v for v in row))`
	args := []string{"-c", program}
	for _, f := range made.Files {
		args = append(args, filepath.Join(dir, f.Name))
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		got := strings.Split(strings.TrimSuffix(line, "\n"), "\x01")
		want := texts[got[0]]
		n++
		for i, m := range moreTypes {
			switch g, w := got[i+1], want[i+1]; {
			case m.cell.Column == "x", g == w:
			case strings.TrimLeft(g, "0-") == strings.TrimLeft(w, "0-") && strings.HasPrefix(m.cell.Type, "decimal"): // leading zeros
			case m.cell.Column == "fine" && strings.TrimSuffix(g, "+00") == w:
			default:
				t.Fatalf("row %s, column %s: DuckDB reads %q, want %q", got[0], m.cell.Column, g, w)
			}
		}
	}
	if n != len(texts) {
		t.Errorf("DuckDB reads %d rows", n)
	}
}

// TestParquetNanos checks that a time out of the range of nanoseconds is refused, by row and column.
func TestParquetNanos(t *testing.T) {
	s := spec.Spec{Columns: []string{"at"}, Mapping: spec.Mapping{Cells: []spec.CellSpec{{Column: "at", Type: "timestamp", Encoding: "phoenix"}}}}
	for at, fits := range map[string]bool{"1677-09-22 00:00:00": true, "2262-04-11 23:00:00.999999999": true, "1677-09-01 00:00:00": false, "2262-04-12 00:00:00": false, "0001-01-01 00:00:00": false} {
		snap := labCells(t, []hfile.Cell{put("r", "f:at", typed(t, s.Cells[0].CellType(), at))})
		p, err := Compile(Options{Format: Parquet, Job: resolve(t, s)})
		testcheck.Must(t, err)
		fsys := hdfsio.NewMemory()
		if _, err = p.Run(t.Context(), snap, fsys, "/out"); fits != (err == nil) || !fits && !strings.Contains(err.Error(), "column at: the time is before 1677 or after 2262") {
			t.Errorf("%s: %v", at, err)
		}
		if fits {
			rows, err := readBack(t, fsys, "/out", source.Options{})
			if err != nil || rows[0]["at"] != at {
				t.Errorf("%s: %v, %v", at, rows, err)
			}
		}
	}
}
