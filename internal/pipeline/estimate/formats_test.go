package estimate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/race"
	"bulkload/pkg/partition"

	"github.com/hamba/avro/v2/ocf"
)

// TestEstimateOfJSONAndAvro checks that a sample of a few percent predicts the rows of files whose text is JSON, or compressed in blocks.
func TestEstimateOfJSONAndAvro(t *testing.T) {
	if race.On {
		t.Skip("statistics of large files")
	}
	const rows = 120_000
	var lines, records bytes.Buffer
	w, err := ocf.NewEncoder(`{"type":"record","name":"r","fields":[{"name":"id","type":"string"},{"name":"v","type":"string"}]}`, &records,
		ocf.WithCodec(ocf.Deflate), ocf.WithBlockLength(500))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID string `avro:"id"`
		V  string `avro:"v"`
	}
	for i := range rows {
		h := uint64(i+1) * 0x9e3779b97f4a7c15
		r := row{fmt.Sprintf("k%016x", h), fmt.Sprintf("%032d%x%x", i, h*31, h*37)}
		fmt.Fprintf(&lines, "{\"id\":%q,\"v\":%q}\n", r.ID, r.V)
		if err := w.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"x.jsonl": lines.Bytes(), "x.avro": records.Bytes()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := jobtest.CSVSpec(path)
		s.Columns = []string{"id", "v"} // JSON lines have no list of columns
		e := smallEstimate(t, jobtest.Env(t), s, partition.SaltSplits(4), build.WorkOptions{Workers: 2, SpillDir: t.TempDir()})
		if e.SampledRows > rows*3/4 || e.SampledRows == 0 {
			t.Errorf("%s: the sample has %d of %d rows", name, e.SampledRows, rows)
		}
		near(t, name+": rows", e.Rows, rows, totalBound(e.SampledRows, rows))
	}
}
