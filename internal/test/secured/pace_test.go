package secured

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
)

// measures is the number of runs of a job for its median; one earlier run does not count.
const measures = 5

// measured skips a test that only measures.
func measured(t *testing.T) {
	if os.Getenv("BULKLOAD_BENCH_SECURE") == "" {
		t.Skip("make bench-secure measures")
	}
}

// TestPace runs the same job repeatedly on each kind of cluster, each time into a new table, and logs the medians of the total and of each
// phase. For comparison it measures the time in which HBase's Java client scans the same table, in a JVM that already runs.
func TestPace(t *testing.T) {
	measured(t)
	for _, kind := range levels() {
		t.Run(kind.name, func(t *testing.T) {
			s := at(t, kind.security)
			e := made(t, data.Opinion, data.Parquet, 10, rowsEach)
			took := map[string][]time.Duration{}
			for i := range measures + 1 {
				table := fmt.Sprintf("pace_%d", i)
				s.create(t, table, e.salts)
				r := s.load(t, e, table)
				begun := time.Now()
				s.digest(t, table)
				scanned := time.Since(begun)
				s.adm(t, "drop", table)
				if i == 0 {
					continue
				}
				took["all"], took["java_scan"] = append(took["all"], r.took), append(took["java_scan"], scanned)
				for name, d := range phasesOf(r.err) {
					took[name] = append(took[name], d)
				}
			}
			line := fmt.Sprintf("%-30s", kind.name)
			for _, name := range slices.Sorted(maps.Keys(took)) {
				line += fmt.Sprintf("  %s %.2f", name, median(took[name]).Seconds())
			}
			t.Log(line)
		})
	}
}

func median(of []time.Duration) time.Duration {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// phasesOf reads the duration of each phase from a log.
func phasesOf(log string) map[string]time.Duration {
	all := map[string]time.Duration{}
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `msg="phase ended"`) {
			continue
		}
		_, rest, _ := strings.Cut(line, " phase=")
		name, rest, _ := strings.Cut(rest, " took=")
		took, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if d, err := time.ParseDuration(took); err == nil {
			all[name] = d
		}
	}
	return all
}
