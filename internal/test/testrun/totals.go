package testrun

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slowest is how many tests the summary names, and most how many lines of a failure it repeats.
const slowest, most = 10, 8

// totals are what a summary says of all packages.
type totals struct {
	start        time.Time
	tests, again int
	names        map[string]bool
	times        []timed
	failed       []failure
}

// A failure is what failed, a test or a package, and the begin of what it printed.
type failure struct {
	name string
	said []string
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
		t.failed = append(t.failed, failure{p.path + mode, begin(p.output[""])})
	}
	for _, name := range p.failures {
		if !slices.ContainsFunc(p.failures, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			t.failed = append(t.failed, failure{p.path + " " + name + mode, begin(p.output[name])})
		}
	}
}

// begin gives the first lines without those of the test's course. Scripts say at the end what failed.
func begin(output []string) []string {
	said := slices.DeleteFunc(slices.Clone(output), func(line string) bool {
		return strings.HasPrefix(line, "=== ") || strings.HasPrefix(strings.TrimSpace(line), "--- ")
	})
	if i := slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, "FAIL: ") }); i > 0 {
		said = said[max(0, i-most/2):]
	}
	return said[:min(most, len(said))]
}

// print prints the summary: what failed comes last, where it is seen, with the begin of what it said.
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
	slices.SortFunc(t.failed, func(a, b failure) int { return cmp.Compare(a.name, b.name) })
	fmt.Fprintf(out, "\n%d failed:\n", len(t.failed))
	for _, f := range t.failed {
		fmt.Fprintln(out, "    ", f.name)
		for _, line := range f.said {
			fmt.Fprintf(out, "         %.200s\n", strings.TrimRight(line, "\n"))
		}
	}
}
