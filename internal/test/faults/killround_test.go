package faults

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestKilledCommands kills each command that changes a table or writes files at random moments and records, with splits, merges,
// compactions and restarts of servers in between. BULKLOAD_KILLS is the number of rounds, BULKLOAD_KILLS_SEED the first seed,
// BULKLOAD_KILLS_COMMAND a command.
func TestKilledCommands(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Alone, len(killedCommands()), false)
}

// TestDisturbedCommands kills and stops daemons, drops calls and answers, and splits and merges regions, while such a
// command runs.
func TestDisturbedCommands(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Alone, len(killedCommands()), true)
}

// TestDisturbedShares does the same with processes that build files together.
func TestDisturbedShares(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	killRounds(t, Shares, len(killedBy(Shares)), true)
}

// TestKilledShares does the same with the processes that build the files together and load them. A few rounds take seconds.
func TestKilledShares(t *testing.T) { killRounds(t, Shares, 2, false) }

// TestKilledOnYARN does the same with commands whose files YARN builds, and with their tasks, their JVMs and their ApplicationMasters.
func TestKilledOnYARN(t *testing.T) {
	testcluster.NeedsYARN(t)
	killRounds(t, YARN, len(killedBy(YARN)), false)
}

// killRounds runs rounds of an engine, and lists the positions of their kills.
func killRounds(t *testing.T, engine Engine, otherwise int, disturbed bool) {
	l := sharedLab(t)
	rounds, seed := number(t, "BULKLOAD_KILLS", otherwise), number(t, "BULKLOAD_KILLS_SEED", 1)
	kills, hits, faults := map[string]int{}, 0, 0
	wrong := 0
	for i := range rounds {
		r, err := l.KillRound(t.Context(), uint64(seed+i), engine, os.Getenv("BULKLOAD_KILLS_COMMAND"), disturbed)
		t.Log(r)
		if err != nil {
			t.Fatalf("seed %d: %v", seed+i, err)
		}
		for _, k := range r.Kills {
			kills[r.Command+": "+k]++
			hits++
		}
		faults += len(r.Faults)
		if !r.OK() {
			wrong++
			for n, e := range r.Errors {
				t.Logf("error %d: %s", n+1, e)
			}
		}
	}
	for _, where := range slices.Sorted(maps.Keys(kills)) {
		t.Logf("%3d × %s", kills[where], where)
	}
	t.Logf("%d rounds, %d kills, %d faults of the cluster", rounds, hits, faults)
	if wrong > 0 {
		t.Errorf("%d of %d rounds broke a promise", wrong, rounds)
	}
}

// number returns the number in an environment variable, or else the default.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
