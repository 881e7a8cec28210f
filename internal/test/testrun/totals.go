package testrun

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// slowest is the number of tests in the summary, and most the number of lines of each failure.
const slowest, most = 10, 8

// totals are the data of the summary of all packages.
type totals struct {
	start        time.Time
	tests, again int
	names        map[string]bool
	times        []timed
	cpu          []timed // processor time of each run of go test including its processes: compiler, tests, programs of tests
	failed       []failure
}

// used records the processor time of a run of go test: of the run with the race detector, which has many packages, or
// of a package.
func (t *totals) used(path, mode string, cpu time.Duration) {
	if mode != "" {
		path = mode
	}
	t.cpu = append(t.cpu, timed{path, cpu.Seconds()})
}

// A failure is a failed test or package, with the beginning of its output.
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

// begin returns the first lines, without those about the progress of tests. Scripts print the failure at the end.
func begin(output []string) []string {
	said := slices.DeleteFunc(slices.Clone(output), func(line string) bool {
		return strings.HasPrefix(line, "=== ") || strings.HasPrefix(strings.TrimSpace(line), "--- ")
	})
	if i := slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, "FAIL: ") }); i > 0 {
		said = said[max(0, i-most/2):]
	}
	return said[:min(most, len(said))]
}

// print prints the summary. The failures are last, where they are visible, with the beginning of their output.
func (t *totals) print(out io.Writer) {
	fmt.Fprintf(out, "\n%d tests in %s; %d of them once more without the race detector. The slowest:\n", t.tests, time.Since(t.start).Round(time.Second), t.again)
	printMost(out, t.times)
	var cpu float64
	for _, x := range t.cpu {
		cpu += x.seconds
	}
	fmt.Fprintf(out, "Processor time without that of clusters: %s. The most:\n", time.Duration(cpu*float64(time.Second)).Round(time.Second))
	printMost(out, t.cpu)
	if len(t.failed) == 0 {
		fmt.Fprintln(out, "All passed.")
		return
	}
	slices.SortFunc(t.failed, func(a, b failure) int { return cmp.Compare(a.name, b.name) })
	fmt.Fprintf(out, "\n%d failed:\n", len(t.failed))
	for _, f := range t.failed {
		fmt.Fprintln(out, "    ", f.name)
		for _, line := range f.said {
			fmt.Fprintf(out, "         %.1000s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// printMost prints the greatest times, and sorts the list in descending order.
func printMost(out io.Writer, times []timed) {
	slices.SortFunc(times, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, x := range times[:min(slowest, len(times))] {
		fmt.Fprintf(out, "%8.1f s  %s\n", x.seconds, x.name)
	}
}
