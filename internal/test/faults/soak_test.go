package faults

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	soakRounds = flag.Int("rounds", 0, "rounds of TestSoak")
	soakSeed   = flag.Uint64("seed", uint64(time.Now().Unix()), "seed of the first round; the next has the next")
	soakKinds  = flag.String("kinds", "all", "kinds of faults, each with a weight if it is to have more rounds than others: kill,bit-flip=3, or none; \"all\" has three times "+
		"as many of "+strings.Join(Seams(), ", ")+" as of each other")
	soakSeeds = flag.String("seeds", "", "these seeds and no others: 7,12,1003")
	soakDry   = flag.Bool("dry-run", false, "only print the job and the fault of each round")
	soakJSON  = flag.String("json", "", "file for all rounds and the totals as JSON, written after each round")
)

// TestSoak runs rounds of a random job with a random fault, in sequence, and prints the outcome of each and totals by kind of fault. It
// continues after a wrong outcome.
func TestSoak(t *testing.T) {
	seeds, err := seedsOf(*soakSeeds, *soakSeed, *soakRounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(seeds) == 0 {
		t.Skip("has its own target: make soak")
	}
	mix, err := ParseMix(*soakKinds)
	if err != nil {
		t.Fatal(err)
	}
	if *soakDry {
		for _, s := range seeds {
			j, f := Draw(s, mix.Kind(s))
			t.Logf("seed %d | %s | %s", s, j, f)
		}
		return
	}
	l, sum, started := sharedLab(t), &Report{}, time.Now()
	defer func() { // also after a failure that ends the test
		t.Logf("%d rounds from seed %d", sum.Rounds, seeds[0])
		if err := sum.Write(t.Output()); err != nil {
			t.Error(err)
		}
	}()
	for i, s := range seeds {
		t.Logf("%s round %d of %d", time.Now().UTC().Format(time.TimeOnly), i+1, len(seeds))
		o := l.Round(t.Context(), s, mix.Kind(s))
		sum.Add(o)
		if err := writeJSON(*soakJSON, sum, started); err != nil {
			t.Fatal(err)
		}
		report(t, l, o)
	}
}

// seedsOf returns the seeds of the rounds: those of the list, or successive ones.
func seedsOf(list string, first uint64, rounds int) (all []uint64, err error) {
	if list == "" {
		for i := range uint64(rounds) {
			all = append(all, first+i)
		}
		return all, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		all = append(all, seed)
	}
	return all, nil
}

// writeJSON writes the report into a file, which is complete at any time.
func writeJSON(name string, r *Report, started time.Time) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(r.WriteJSON(f, started), f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
