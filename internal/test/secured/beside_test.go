package secured

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcluster"
)

// TestAuthenticationBeside runs the same job of a million rows on a cluster without security and on one with authentication, in
// turn, and notes the medians and what the second takes of the first, in the whole and in each phase.
func TestAuthenticationBeside(t *testing.T) {
	testcluster.SecuredAll(t)
	plain, err := testcluster.Start(context.Background(), testcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plain.Stop(); err != nil {
			t.Error(err)
		}
	})
	sites := []*site{on(t, plain), at(t, authentication)}
	e := made(t, data.Check, data.Dump, 10, 1_000_000)
	took := []map[string][]time.Duration{{}, {}}
	for i := range 2*measures + 1 {
		for k := range sites {
			k := (i + k) % 2 // each is first in turn
			table := fmt.Sprintf("beside_%d", i)
			sites[k].create(t, table, e.salts)
			r := sites[k].load(t, e, table)
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
	for _, name := range slices.Sorted(maps.Keys(took[0])) {
		a, b := median(took[0][name]), median(took[1][name])
		var ratios []float64
		for i := range took[0][name] {
			ratios = append(ratios, took[1][name][i].Seconds()/took[0][name][i].Seconds())
		}
		slices.Sort(ratios)
		t.Logf("%-8s simple %.2f s, authentication %.2f s: %.3f (of the rounds %.3f, %.3f to %.3f)", name, a.Seconds(), b.Seconds(),
			b.Seconds()/a.Seconds(), ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1])
	}
}
