package testrun

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slowest is how many tests the summary names.
const slowest = 10

// totals are what a summary says of all packages.
type totals struct {
	start        time.Time
	tests, again int
	names        map[string]bool
	times        []timed
	failed       []string
}

func (t *totals) add(p *result) {
	if t.names == nil {
		t.names = map[string]bool{}
	}
	for _, x := range p.tests {
		if t.names[x.name] {
			t.again++
		} else {
			t.tests++
		}
		t.names[x.name] = true
	}
	t.times = append(t.times, p.tests...)
	if !p.failed {
		return
	}
	mode := ""
	if p.mode != "" {
		mode = " (" + p.mode + ")"
	}
	if len(p.failures) == 0 {
		t.failed = append(t.failed, p.path+mode)
	}
	for _, name := range p.failures {
		if !slices.ContainsFunc(p.failures, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			t.failed = append(t.failed, p.path+" "+name+mode)
		}
	}
}

// print prints the summary: what failed comes last, where it is seen.
func (t *totals) print(out io.Writer) {
	slices.SortFunc(t.times, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(out, "\n%d tests in %s; %d of them once more without the race detector. The slowest:\n", t.tests, time.Since(t.start).Round(time.Second), t.again)
	for _, x := range t.times[:min(slowest, len(t.times))] {
		fmt.Fprintf(out, "%8.1f s  %s\n", x.seconds, x.name)
	}
	if len(t.failed) == 0 {
		fmt.Fprintln(out, "All passed.")
		return
	}
	slices.Sort(t.failed)
	fmt.Fprintf(out, "\n%d failed:\n", len(t.failed))
	for _, name := range t.failed {
		fmt.Fprintln(out, "    ", name)
	}
}
