package source

import (
	"bulkload/internal/test/testcheck"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const orcDir = "../../testdata/source/orc/"

// TestORCOfSpark reads a table that Spark has written.
func TestORCOfSpark(t *testing.T) {
	columns := strings.Fields("id check_id name amount n d ts flag remark")
	got, err := chosenRows(t, Options{Columns: columns}, exporterSamples+"spark/orc.orc")
	if err != nil {
		t.Fatal(err)
	}
	testcheck.SameRows(t, columns, got, expectedRows(t, "expected.jsonl"))
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
