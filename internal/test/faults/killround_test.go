package faults

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// TestKilledCommands kills each command that changes a table or writes files at random moments, with splits, merges,
// compactions and restarts of servers in between. BULKLOAD_KILLS is the number of rounds, BULKLOAD_KILLS_SEED the first seed,
// BULKLOAD_KILLS_COMMAND a command.
func TestKilledCommands(t *testing.T) {
	onlyWhole(t, os.Getenv("BULKLOAD_KILLS") == "")
	l := sharedLab(t)
	rounds, seed := number(t, "BULKLOAD_KILLS", len(killedCommands())), number(t, "BULKLOAD_KILLS_SEED", 1)
	typical := map[string]time.Duration{}
	wrong := 0
	for i := range rounds {
		r, err := l.KillRound(t.Context(), uint64(seed+i), os.Getenv("BULKLOAD_KILLS_COMMAND"), typical)
		t.Log(r)
		if err != nil {
			t.Fatalf("seed %d: %v", seed+i, err)
		}
		if !r.OK() {
			wrong++
			for n, e := range r.Errors {
				t.Logf("error %d: %s", n+1, e)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d rounds broke a promise", wrong, rounds)
	}
}

// number is the number in a variable of the environment, or otherwise the default.
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
