package estimate

import (
	"path/filepath"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/partition"
)

// TestEstimateOfAFilter checks that an estimate covers the records that pass the filter, with computed cells.
func TestEstimateOfAFilter(t *testing.T) {
	env := jobtest.Env(t)
	input, err := data.WriteFile(t.Context(), t.TempDir(), data.Spec{Table: data.Check, Rows: 100_000, Seed: 7, Regions: 10}, data.CSV)
	testcheck.Must(t, err)
	s := jobtest.Spec(t, "check")
	s.Inputs, s.Format, s.Timestamp, s.Filter = []string{input}, "csv", 1700000000000, "hit_ind = 'Y' and update_date >= '2015'"
	s.Mapping = spec.Mapping{Cells: []spec.CellSpec{{Expr: "upper(rule_desc)", Qualifier: "u"}, {Rest: true}}}
	splits := partition.SaltSplits(10)
	for _, memory := range []spec.Size{0, 14 << 20} {
		w := build.WorkOptions{Workers: 2, Memory: memory, SpillDir: t.TempDir()}
		got := smallEstimate(t, env, s, splits, w)
		m, err := build.Directory(t.Context(), env, jobtest.Resolve(t, s), jobtest.Family, splits, filepath.Join(t.TempDir(), "out"), w)
		testcheck.Must(t, err)
		if m.Filtered == 0 || m.Digest.Rows == 0 {
			t.Fatalf("%d records are filtered, %s", m.Filtered, m.Digest)
		}
		const near5 = 0.05 // the estimate is based on a sample of the records
		near(t, "rows", got.Rows, m.Digest.Rows, near5)
		near(t, "cells", got.Cells, m.Digest.Cells, near5)
		near(t, "bytes", got.HFileBytes, m.Bytes, near5+fileOverhead(m))
		near(t, "spill", got.SpillBytes, m.SpillBytes, 3*near5+runSpread)
	}
	s.Filter, s.AllowEmpty = "hit_ind = 'x'", true
	if e := smallEstimate(t, env, s, splits, build.WorkOptions{Workers: 2}); e.Rows != 0 || e.Cells != 0 {
		t.Errorf("nothing is left, and it expects %d rows, %d cells", e.Rows, e.Cells)
	}
}
