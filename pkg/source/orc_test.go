package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const orcDir = "../../testdata/source/orc/"

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
			columns, want := expectedTexts(t, path+".jsonl")
			got, err := chosenRows(t, Options{Columns: columns}, path+".orc")
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, columns, got, want)
			// A column that is read alone has the same values: other columns do not affect it.
			for i, c := range columns {
				if i >= 3 && len(want) > 1000 {
					break
				}
				if got, err = chosenRows(t, Options{Columns: []string{c}, Memory: 64 << 20}, path+".orc"); err != nil {
					t.Fatal(err)
				}
				sameRows(t, []string{c}, got, want)
			}
			files, rows = files+1, rows+len(want)
		})
	}
	return files, rows
}

// TestORCFiles reads files that pyarrow, Spark and Hive have written.
func TestORCFiles(t *testing.T) {
	readORC(t, orcDir, 10)
	columns := strings.Fields("id check_id name amount n d ts flag remark")
	got, err := chosenRows(t, Options{Columns: columns}, exporterSamples+"spark/orc.orc")
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, columns, got, expectedRows(t, "expected.jsonl"))
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

// BenchmarkORC reads tables that pyarrow writes as ORC and as Parquet: one of texts, and one of numbers, dates and times.
func BenchmarkORC(b *testing.B) {
	python := os.Getenv("BULKLOAD_TEST_PYTHON")
	if python == "" {
		b.Skip("BULKLOAD_TEST_PYTHON is a Python with pyarrow")
	}
	dir := b.TempDir()
	data := toCSV(append([][]string{checkColumns}, checkRows(benchRows)...)...)
	if err := os.WriteFile(dir+"/check.csv", data, 0o644); err != nil {
		b.Fatal(err)
	}
	const script = `
import sys, pyarrow as pa, pyarrow.csv as csv, pyarrow.orc as orc, pyarrow.parquet as pq, random, datetime, decimal
dir, n, r = sys.argv[1], int(sys.argv[2]), random.Random(1)
names = open(dir + "/check.csv").readline().strip().split(",")
text = csv.read_csv(dir + "/check.csv", parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=csv.ConvertOptions(column_types={c: pa.string() for c in names}))
t = datetime.datetime(2026, 1, 1)
typed = pa.table({"id": range(n), "i": [r.randrange(1000000) for _ in range(n)], "f": [r.random() for _ in range(n)], "ok": [i % 3 == 0 for i in range(n)],
  "d": pa.array([r.randrange(20000) for _ in range(n)], pa.int32()).cast(pa.date32()), "ts": pa.array([t + datetime.timedelta(seconds=r.randrange(10**7)) for _ in range(n)], pa.timestamp("ns")),
  "m": pa.array([decimal.Decimal(r.randrange(10**9)).scaleb(-2) for _ in range(n)], pa.decimal128(18, 2)), "s": ["w%d" % r.randrange(100) for _ in range(n)]})
for name, table in ("text", text), ("typed", typed):
    orc.write_table(table, dir + "/" + name + ".orc", compression="snappy", dictionary_key_size_threshold=0.8)
    pq.write_table(table, dir + "/" + name + ".parquet", compression="snappy")
`
	if out, err := exec.CommandContext(b.Context(), python, "-c", script, dir, strconv.Itoa(benchRows)).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"text", "typed"} {
		rows, err := load(b, Options{}, dir+"/"+name+".parquet")
		if err != nil {
			b.Fatal(err)
		}
		size := int64(0)
		for _, row := range rows {
			for _, v := range row.Values {
				size += int64(len(v)) + 1
			}
		}
		for _, format := range []string{"orc", "parquet"} {
			b.Run(name+" "+format, func(b *testing.B) { benchmark(b, dir+"/"+name+"."+format, Options{}, size) })
		}
	}
}
