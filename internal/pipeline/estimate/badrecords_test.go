package estimate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// TestExactWithBadRecords checks that an exact estimate has the rows, cells and bad records of the build, whatever makes records bad.
func TestExactWithBadRecords(t *testing.T) {
	const rows = 4000
	var b strings.Builder
	b.WriteString("id,u,n,ttl,q\n")
	for i := range rows {
		switch i % 8 {
		case 1:
			fmt.Fprintf(&b, ",%d,%d,60,q\n", i, i)
		case 3:
			fmt.Fprintf(&b, "%d,%d,bad,60,q\n", i, i)
		case 5:
			fmt.Fprintf(&b, "%d,%d,7,0,q\n", i, i)
		case 7:
			fmt.Fprintf(&b, "%d,%d,7,60,\n", i, i)
		default:
			fmt.Fprintf(&b, "%d,%d,%d,60,q\n", i, i, i)
		}
	}
	path := filepath.Join(t.TempDir(), "x.csv")
	testcheck.Must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	for _, job := range []string{
		"key: id",
		"{key: u, filter: n >= 0}",
		"{key: u, cells: [{column: n, type: int}, {rest: true}]}",
		"{key: u, cell_ttl: {column: ttl, unit: s}}",
		"{key: u, cells: [{column: n, qualifier_from: q}]}",
		"{key: u, cells: [{expr: 'add(n, 1)', qualifier: m}, {rest: true}]}",
		"{key: id, filter: ttl >= 60, cells: [{column: n, type: int}, {rest: true}]}",
		"{key: u, tables: [{table: v, key: id}, {table: w, key: u, cells: [{column: n, type: int}]}]}",
		"{key: u, tables: [{table: v, key: id, filter: ttl >= 60}]}",
	} {
		s, err := spec.ParseSpec("job.yaml", []byte(job))
		testcheck.Must(t, err)
		s.Table, s.Inputs, s.BadRecords, s.Timestamp = "t", []string{path}, "100%", 1700000000000
		j := jobtest.Resolve(t, *s)
		var shapes []build.Shape
		for _, target := range j.Targets() {
			shapes = append(shapes, build.Shape{Families: []spec.Family{spec.DefaultFamily(target.FamilyName())}})
		}
		built, err := build.Directories(t.Context(), jobtest.Env(t), j, shapes, filepath.Join(t.TempDir(), "out"), build.WorkOptions{Workers: 2})
		testcheck.Must(t, err)
		for i, e := range estimateOf(t, *s, nil, Options{Exact: true, WorkOptions: build.WorkOptions{Workers: 2, SpillDir: t.TempDir()}}).All() {
			m := built[i]
			if e.Rows != m.Digest.Rows || e.Cells != m.Digest.Cells || e.BadRecords != m.Rejected || m.Rejected == 0 {
				t.Errorf("%s: table %d: %d rows, %d cells, %d bad records, want %d, %d, %d", job, i, e.Rows, e.Cells, e.BadRecords, m.Digest.Rows, m.Digest.Cells, m.Rejected)
			}
			if !slices.Contains(warningNames(e), "bad records") {
				t.Errorf("%s: table %d: warnings %v", job, i, warningNames(e))
			}
		}
	}
}
