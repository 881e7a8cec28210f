package main

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/spf13/pflag"
)

// TestSpareProcessors checks that the runtime gets two processors for each core, that there are as many workers as cores or
// as given, and that the environment has precedence.
func TestSpareProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, c := range []struct {
		env, workers string
		want         string
		processors   int
	}{
		{"", "0", "3", 6}, {"", "8", "8", 6}, {"5", "0", "0", before},
	} {
		t.Setenv("GOMAXPROCS", c.env)
		runtime.GOMAXPROCS(before)
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		workers, _ := strconv.Atoi(c.workers)
		f.Int("workers", workers, "")
		if err := spareProcessors(f.Lookup("workers"), 3); err != nil {
			t.Fatal(err)
		}
		if got := f.Lookup("workers").Value.String(); got != c.want || runtime.GOMAXPROCS(0) != c.processors || f.Changed("workers") {
			t.Errorf("GOMAXPROCS=%s --workers %s: %s workers, %d processors", c.env, c.workers, got, runtime.GOMAXPROCS(0))
		}
	}
}
