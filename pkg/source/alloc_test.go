package source

import (
	"path/filepath"
	"testing"

	"bulkload/internal/test/race"

	"github.com/hamba/avro/v2/ocf"
)

// TestAllocations reads 20,000 rows with a reader whose buffers have grown, and checks that allocations depend on the
// number of splits, not of rows.
func TestAllocations(t *testing.T) {
	race.Plain(t)
	rows := checkRows(20_000)
	parquet := filepath.Join(t.TempDir(), "x.parquet")
	writeParquet(t, parquet, checkColumns, rows, len(rows))
	for _, path := range []string{
		writeFile(t, "x.dump", toDump(rows)),
		writeFile(t, "x.csv", toCSV(append([][]string{checkColumns}, rows...)...)),
		parquet,
		writeFile(t, "x.jsonl", toJSON(checkColumns, rows)),
		writeFile(t, "x.avro", toAvro(t, checkColumns, rows, ocf.Deflate, 1000, true)),
	} {
		in, err := Open(t.Context(), disk, []string{path}, Options{Columns: checkColumns})
		if err != nil {
			t.Fatal(err)
		}
		r := in.NewReader()
		got := testing.AllocsPerRun(3, func() {
			for i := range in.Splits() {
				if err := r.Read(t.Context(), i, func(*Batch) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
		})
		if got > 100 {
			t.Errorf("%s: %.0f allocations for %d rows", path, got, len(rows))
		}
	}
}
