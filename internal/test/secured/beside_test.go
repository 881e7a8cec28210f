package secured

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
)

// TestPaceWithAuthentication runs the same job of a million rows on a cluster without security and on one with authentication.
func TestPaceWithAuthentication(t *testing.T) {
	measured(t)
	beside(t, "authentication", on(t, testcluster.Own(t, testcluster.Options{})), at(t, authentication))
}

// TestPaceInZone runs it on a cluster without security and on one whose HBase root, input and staging are in an encryption zone.
func TestPaceInZone(t *testing.T) {
	measured(t)
	beside(t, "zone", on(t, testcluster.Own(t, testcluster.Options{})), zoneSite(t, testcluster.Security{}))
}

// beside runs a job of a million rows, whose input is on HDFS, on two clusters in turn, and logs the medians and the ratio of the second
// to the first, in total and for each phase.
func beside(t *testing.T, name string, plain, other *site) {
	sites := []*site{plain, other}
	e := made(t, data.Check, data.Dump, 10, 1_000_000)
	took, inputs := []map[string][]time.Duration{{}, {}}, []export{plain.onHDFS(t, "/tmp", e), other.onHDFS(t, cmp.Or(other.inputs, "/tmp"), e)}
	for i := range 2*measures + 1 {
		for k := range sites {
			k := (i + k) % 2 // each one is first in turn
			table := fmt.Sprintf("beside_%d", i)
			sites[k].create(t, table, e.salts)
			r := sites[k].load(t, inputs[k], table)
			sites[k].adm(t, "drop", table)
			if i == 0 {
				continue
			}
			took[k]["all"] = append(took[k]["all"], r.took)
			for name, d := range phasesOf(r.err) {
				took[k][name] = append(took[k][name], d)
			}
		}
	}
	for _, phase := range slices.Sorted(maps.Keys(took[0])) {
		a, b := median(took[0][phase]), median(took[1][phase])
		var ratios []float64
		for i := range took[0][phase] {
			ratios = append(ratios, took[1][phase][i].Seconds()/took[0][phase][i].Seconds())
		}
		slices.Sort(ratios)
		t.Logf("%-8s simple %.2f s, %s %.2f s: %.3f (of the rounds %.3f, %.3f to %.3f)", phase, a.Seconds(), name, b.Seconds(),
			b.Seconds()/a.Seconds(), ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	}
}
