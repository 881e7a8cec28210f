package testrun

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bulkload/internal/test/race"

	"golang.org/x/sync/errgroup"
)

// Options select the tests. The zero value runs all tests of the module in the working directory.
type Options struct {
	Dir      string        // directory of the module; default: the working directory
	Packages []string      // patterns; default: ./... of the module, and of each of Modules
	Modules  []string      // directories of other modules in the tree, relative to Dir
	First    []string      // import paths of packages that take long, which start before the others
	Jobs     int           // concurrent runs of go test, including the one with the race detector; default 3
	Timeout  time.Duration // time limit of a package's tests; default one hour
	Out      io.Writer     // receives a line for each package, the failures, and a summary; default: no output
	Events   io.Writer     // receives the events of go test -json, if not nil
}

// ErrFailed means that a test failed. The failures were printed.
var ErrFailed = errors.New("tests failed")

// A runner is a run of all tests.
type runner struct {
	options Options
	queue   *queue

	mu     sync.Mutex
	totals totals
}

// Run runs the tests and returns when all have ended. The error is ErrFailed, or the reason why tests could not be
// run.
func Run(ctx context.Context, o Options) error {
	o.Jobs, o.Timeout = cmp.Or(o.Jobs, 3), cmp.Or(o.Timeout, time.Hour)
	if o.Out == nil {
		o.Out = io.Discard
	}
	modules := []string{"."}
	if len(o.Packages) == 0 {
		o.Packages, modules = []string{"./..."}, append(modules, o.Modules...)
	}
	var all []pkg
	for _, m := range modules {
		found, err := packages(ctx, filepath.Join(o.Dir, m), o.Packages...)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	rank := func(p pkg) int {
		if i := slices.Index(o.First, p.path); i >= 0 {
			return i
		}
		return len(o.First)
	}
	slices.SortStableFunc(all, func(a, b pkg) int { return cmp.Compare(rank(a), rank(b)) })
	r := &runner{options: o, queue: newQueue(), totals: totals{start: time.Now()}}
	var concurrent []pkg
	for i, p := range all {
		if p.rank = i; p.concurrent {
			concurrent = append(concurrent, p)
		} else {
			r.queue.add(run{pkg: p})
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	for i := range o.Jobs {
		g.Go(func() error {
			if i == 0 {
				err := r.raced(ctx, concurrent)
				r.queue.close()
				if err != nil {
					return err
				}
			}
			for x, ok := r.queue.next(); ok; x, ok = r.queue.next() {
				if err := r.runPackage(ctx, x); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r.totals.print(o.Out)
	if len(r.totals.failed) > 0 {
		return ErrFailed
	}
	return nil
}

// raced runs the tests of packages with the race detector and -short. The tests of a package that were skipped or reduced run again
// without them as soon as the package's other tests have ended.
func (r *runner) raced(ctx context.Context, all []pkg) error {
	if len(all) == 0 {
		return nil
	}
	byPath := map[string]pkg{}
	args := []string{"-race", "-short", "-p", "1"}
	for _, p := range all {
		byPath[p.path] = p
		args = append(args, p.path)
	}
	return r.test(ctx, r.options.Dir, args, "race", func(done *result) {
		if len(done.reduced) == 0 {
			return
		}
		names := slices.Sorted(maps.Keys(done.reduced))
		r.queue.add(run{byPath[done.path], []string{"-run", "^(" + strings.Join(names, "|") + ")$"}})
	})
}

// runPackage runs the tests of one package without the race detector.
func (r *runner) runPackage(ctx context.Context, x run) error {
	args := x.args
	if x.pkg.cluster {
		args = append(args, "-count=1", "-parallel=3")
	}
	return r.test(ctx, x.pkg.dir, append(args, x.pkg.path), "", func(*result) {})
}

// test runs go test once. done is called for each package, before the next one's events are read.
func (r *runner) test(ctx context.Context, dir string, args []string, mode string, done func(*result)) error {
	// make check vets all packages, and here that would be done twice: with the race detector and without.
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-vet=off", "-timeout", r.options.Timeout.String()}, args...)...)
	cmd.Dir = dir
	// A program with the race detector sleeps for a second before it ends (its atexit_sleep_ms), and tests start a
	// thousand programs.
	cmd.Env = append(os.Environ(), strings.TrimSpace("GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE")))
	// The race detector needs cgo. Without it programs are static, as YARN's nodes require: they and the tests are
	// compiled together.
	cgo := "CGO_ENABLED=0"
	if mode == "race" {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(cmd.Env, cgo)
	// A terminal also sends an interrupt to go test, and tests then clean up.
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	results := map[string]*result{}
	failed := false
	for s := bufio.NewScanner(out); s.Scan(); {
		var e event
		if json.Unmarshal(s.Bytes(), &e) != nil {
			fmt.Fprintln(&stderr, s.Text()) // output of the compiler
			continue
		}
		path := cmp.Or(e.Package, strings.Fields(e.ImportPath + " -")[0])
		p := results[path]
		if p == nil {
			p = &result{path: path, mode: mode, reduced: map[string]bool{}, output: map[string][]string{}}
			results[path] = p
		}
		r.mu.Lock()
		if r.options.Events != nil {
			fmt.Fprintln(r.options.Events, s.Text())
		}
		ended := p.add(&e)
		if ended {
			failed = failed || p.failed
			p.print(r.options.Out)
			r.totals.add(p)
		}
		r.mu.Unlock()
		if ended {
			done(p)
		}
	}
	err = cmd.Wait()
	r.mu.Lock()
	r.totals.used(args[len(args)-1], mode, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	r.mu.Unlock()
	if err != nil && !failed && ctx.Err() == nil {
		return fmt.Errorf("go test %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return ctx.Err()
}

// An event is a line of the output of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64
}

// A result is the result of a package's tests in one run of go test.
type result struct {
	path, mode string
	failed     bool
	seconds    float64
	cached     bool
	tests      []timed
	failures   []string
	reduced    map[string]bool     // top-level tests that skipped or reported that they are reduced
	output     map[string][]string // by test, "" for the package; only of tests that have not passed
}

// maxAborted is the number of printed lines of a program that was aborted: the running tests, and the first
// goroutine.
const maxAborted = 40

type timed struct {
	name    string
	seconds float64
}

// add processes an event, and reports whether it was the package's last one.
func (p *result) add(e *event) (ended bool) {
	top, _, sub := strings.Cut(e.Test, "/")
	switch e.Action {
	case "output", "build-output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
		p.cached = p.cached || e.Test == "" && strings.Contains(e.Output, "(cached)")
		if e.Test != "" && strings.Contains(e.Output, race.ReducedMark) {
			p.reduced[top] = true
		}
	case "skip", "pass", "fail":
		if e.Test == "" {
			p.failed, p.seconds = e.Action == "fail", e.Elapsed
			if p.failed && len(p.failures) == 0 {
				p.output[""] = append(p.aborted(), p.output[""]...)
			}
			return true
		}
		if e.Action == "skip" {
			p.reduced[top] = true
		}
		if e.Action == "fail" {
			p.failures = append(p.failures, e.Test)
		} else {
			delete(p.output, e.Test)
		}
		if !sub {
			p.tests = append(p.tests, timed{p.path + " " + e.Test, e.Elapsed})
		}
	}
	return false
}

// aborted returns the output of a test program that was ended before its tests, by a panic or by the timeout: the reason and the running
// tests. go test assigns that output to a test that began and never ended.
func (p *result) aborted() []string {
	for _, name := range slices.Sorted(maps.Keys(p.output)) {
		lines := p.output[name]
		i := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
		})
		if i >= 0 && name != "" {
			return lines[i:min(len(lines), i+maxAborted)]
		}
	}
	return nil
}

// print prints the package's line, and the output of failures.
func (p *result) print(out io.Writer) {
	word, time := "ok", strconv.FormatFloat(p.seconds, 'f', 1, 64)+" s"
	if p.failed {
		word = "FAIL"
	}
	if p.cached {
		time = "cached"
	}
	fmt.Fprintf(out, "%-4s %-50s %8s %s\n", word, p.path, time, p.mode)
	if !p.failed {
		return
	}
	for _, name := range append(slices.Clone(p.failures), "") {
		for _, line := range p.output[name] {
			fmt.Fprint(out, "     ", line)
		}
	}
}
