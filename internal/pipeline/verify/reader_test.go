package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
)

// checkRows returns rows as wide as those of check. Some columns have no cell.
func checkRows(n int, names []spec.CellName) []loader.Row {
	r := rand.New(rand.NewPCG(7, 8))
	rows := make([]loader.Row, n)
	for i := range rows {
		rows[i].Key = fmt.Appendf(nil, "%064d", i)
		for _, name := range names {
			if r.IntN(5) > 0 {
				rows[i].Cells = append(rows[i].Cells, loader.Cell{Family: []byte(name.Family), Qualifier: []byte(name.Qualifier),
					Value: fmt.Appendf(nil, "value %d", r.IntN(1e6)), Timestamp: 5, Type: hfile.Put})
			}
		}
	}
	return rows
}

func wideManifest() *manifest.Manifest {
	m := &manifest.Manifest{Timestamp: 5}
	for _, family := range []string{"f", "g"} {
		for i := range 9 {
			m.Cells = append(m.Cells, spec.CellName{Family: family, Qualifier: fmt.Sprintf("column_%02d", i)})
		}
	}
	return m
}

// TestCellsAreFoundAtTheirPlaces checks that cells are found in any order, after any gap, and that cells that were not loaded are not.
func TestCellsAreFoundAtTheirPlaces(t *testing.T) {
	m := wideManifest()
	r, random := NewRows(m), testcheck.Rand(t)
	for _, row := range checkRows(200, m.Cells) {
		next := 0
		for i := range row.Cells {
			c := &row.Cells[i]
			want := r.at[string(c.Family)][string(c.Qualifier)]
			at, ok := r.place(c, next)
			if !ok || at != want {
				t.Fatalf("%s:%s after %d: %d, want %d", c.Family, c.Qualifier, next, at, want)
			}
			if any, ok := r.place(c, random.IntN(25)); !ok || any != want {
				t.Fatalf("%s:%s out of order: %d, want %d", c.Family, c.Qualifier, any, want)
			}
			next = at + 1
		}
	}
	for _, c := range []loader.Cell{{Family: []byte("f"), Qualifier: []byte("column_99")}, {Family: []byte("h"), Qualifier: []byte("column_00")}, {}} {
		if at, ok := r.place(&c, 0); ok {
			t.Errorf("%s:%s is at %d", c.Family, c.Qualifier, at)
		}
	}
}

// TestScansAtATime checks that the number grows with the region servers, up to a limit.
func TestScansAtATime(t *testing.T) {
	for servers, want := range map[int]int{0: 4, 1: 4, 3: 6, 8: 16, 100: 16} {
		var regions []loader.Region
		for i := range 3 * servers {
			regions = append(regions, loader.Region{Server: fmt.Sprint("host", i%servers)})
		}
		if got := scansAtATime(regions); got != want {
			t.Errorf("%d servers: %d, want %d", servers, got, want)
		}
	}
}

// TestRowsAreDigestedWithoutAllocation checks that digesting rows does not allocate.
func TestRowsAreDigestedWithoutAllocation(t *testing.T) {
	m := wideManifest()
	r, rows := newStoredRows(m), checkRows(100, m.Cells)
	add := func() {
		for _, row := range rows {
			if err := r.add(row, loader.Hidden{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add()
	if n := testing.AllocsPerRun(10, add); n > 0 {
		t.Errorf("%v allocations in %d rows", n, len(rows))
	}
}

// BenchmarkDigest digests rows of check's width as a full verification does.
func BenchmarkDigest(b *testing.B) {
	m := wideManifest()
	r, rows := newStoredRows(m), checkRows(1000, m.Cells)
	b.ReportAllocs()
	for b.Loop() {
		for _, row := range rows {
			if err := r.add(row, loader.Hidden{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
