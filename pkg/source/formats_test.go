package source

import (
	"errors"
	"fmt"
	"testing"

	"bulkload/internal/formats/jsonlines"
)

// TestExportersOfJSONAndAvro reads JSON lines and Avro files of other programs, in splits of several sizes.
func TestExportersOfJSONAndAvro(t *testing.T) {
	read := 0
	for _, s := range readSamples(t) {
		if s.Format != "jsonl" && s.Format != "json" && s.Format != "avro" {
			continue
		}
		read++
		t.Run(s.Path, func(t *testing.T) {
			charset := ""
			if s.Format == "jsonl" {
				charset = s.Read.Charset
			}
			for _, size := range []int64{0, 1 << 10, 64, 7} {
				in, err := Open(t.Context(), disk, []string{exporterSamples + s.Path}, Options{Columns: s.Read.Columns, Charset: charset, SplitSize: size})
				switch {
				case s.Format == "json":
					if !errors.Is(err, jsonlines.ErrWholeFile) {
						t.Errorf("%v", err)
					}
					continue
				case err != nil:
					t.Fatal(err)
				}
				rows, err := rowsOf(t, in)
				if err != nil || len(rows) != s.Rows {
					t.Fatalf("splits of %d: %d rows, want %d: %v", size, len(rows), s.Rows, err)
				}
				if s.Expected == nil {
					continue
				}
				for i, want := range expectedRows(t, *s.Expected) {
					if got, want := fmt.Sprintf("%q", rows[i]), fmt.Sprintf("%q", want); got != want {
						t.Errorf("splits of %d, row %d:\n%s\n%s", size, i+1, got, want)
					}
				}
				if size == 64 && len(in.Splits()) < 2 {
					t.Errorf("%d splits", len(in.Splits()))
				}
			}
		})
	}
	if read < 20 {
		t.Errorf("%d samples", read)
	}
}
