package secured

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
)

// paces are the medians of the runs on each kind of cluster, in the order of the measurements.
type paces struct{ lines []string }

// measures is the number of runs of a job for its median; one earlier run does not count.
const measures = 5

// measure runs the same job repeatedly, each time into a new table, and records the medians of the total and of each phase. It
// asserts no time: the reader judges the ratio of two kinds. For comparison it records the time in which HBase's Java client scans
// the same table, in a JVM that already runs.
func (p *paces) measure(t *testing.T, kind string, s *site) {
	e := made(t, data.Opinion, data.Parquet, 10, rowsEach)
	var whole []time.Duration
	phases := map[string][]time.Duration{}
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
		whole = append(whole, r.took)
		for name, took := range phasesOf(r.err) {
			phases[name] = append(phases[name], took)
		}
		phases["java_scan"] = append(phases["java_scan"], scanned)
	}
	line := fmt.Sprintf("%-30s %6.2f s", kind, median(whole).Seconds())
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		line += fmt.Sprintf("  %s %.2f", name, median(phases[name]).Seconds())
	}
	t.Log(line)
	p.lines = append(p.lines, line)
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
