package build

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
)

// BenchmarkMapped builds the same rows with increasingly complex mappings.
// Allocations are for whole builds: they do not grow with the rows.
func BenchmarkMapped(b *testing.B) {
	const rows = 100_000
	var records [][]string
	for i := range rows {
		records = append(records, []string{fmt.Sprintf("%d%08d", i%10, i), fmt.Sprint(i), "2017-01-01", "true", "some text of a record", "x", "20150524002300", "86400"})
	}
	input := filepath.Join(b.TempDir(), "rows.dump")
	jobtest.WriteRecords(b, input, records)
	typed := []spec.CellSpec{{Column: "n", Type: "long"}, {Column: "day", Type: "date"}, {Column: "flag", Type: "boolean"}, {Rest: true}}
	for _, c := range []struct {
		name string
		m    spec.Mapping
	}{
		{"none", spec.Mapping{}},
		{"renamed", spec.Mapping{Cells: []spec.CellSpec{{Column: "n", Qualifier: "q"}, {Rest: true}}}},
		{"families", spec.Mapping{Cells: []spec.CellSpec{{Column: "n", Family: "g"}, {Rest: true}}}},
		{"typed", spec.Mapping{Cells: typed}},
		{"json", spec.Mapping{Cells: []spec.CellSpec{{JSON: true, Qualifier: "j"}}}},
		{"timed", spec.Mapping{Cells: typed, CellTimestamp: &spec.TimeColumn{Column: "at", Layout: "yyyyMMddHHmmss"}, CellTTL: &spec.TTLColumn{Column: "ttl"}}},
		{"wide", spec.Mapping{Cells: []spec.CellSpec{{Column: "n", QualifierFrom: "text"}, {Rest: true}}}},
		{"computed", spec.Mapping{Cells: []spec.CellSpec{{Expr: "upper(text)", Qualifier: "u"}, {Expr: "multiply(n, 2)", Qualifier: "m", Type: "long"}, {Rest: true}}}},
		{"filtered", spec.Mapping{}}, // half of the rows
	} {
		b.Run(c.name, func(b *testing.B) {
			s := spec.Spec{Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Timestamp: 1, Mapping: c.m}
			if c.name == "filtered" {
				s.Filter = "id < '5'"
			}
			env := jobtest.Env(b)
			b.ReportAllocs()
			for b.Loop() {
				out := b.TempDir()
				if _, err := Directory(b.Context(), env, jobtest.Resolve(b, s), jobtest.Family, partition.SaltSplits(10), out, WorkOptions{}); err != nil {
					b.Fatal(err)
				}
				if err := os.RemoveAll(out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
