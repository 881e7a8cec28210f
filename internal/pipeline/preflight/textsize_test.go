package preflight

import "testing"

// TestTextSize checks that files that are packed, or in a binary format, count as several times as much text, whatever ending their names have.
func TestTextSize(t *testing.T) {
	for name, want := range map[string]int64{
		"a.csv": 100, "a": 100, "a.jsonl": 100, "x.orcs/part-0": 100, "a.gz.part": 100,
		"a.csv.gz": 400, "a.GZIP": 400, "a.zst": 400, "a.zstd": 400, "a.bz2": 400, "a.bz": 400, "a.xz": 400, "a.lz4": 400, "a.sz": 400, "a.snappy": 400, "a.deflate": 400, "a.zlib": 400,
		"a.parquet": 400, "a.parq": 400, "a.pq": 400, "a.avro": 400, "a.orc": 400, "x/A.ORC": 400, "a.snappy.parquet": 400,
	} {
		if got := textSize(name, 100); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
