package mutants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options of [Run].
type Options struct {
	Root    string    // root of the module
	AtATime int       // concurrent mutants; default 2
	Cluster bool      // also run tests that need a cluster
	Out     io.Writer // a line for each mutant
}

// A Total counts the mutants by result.
type Total struct{ Caught, Survived, LeftOut int }

// testLimit is the time limit of go test for a package. It ends a mutant that hangs.
const testLimit = "10m"

// Run runs the tests of each mutant. An error is about the list, or about tests that fail without any mutant, which show nothing about
// the tests' quality. A mutant that survives is not an error.
func Run(ctx context.Context, list []Mutant, o Options) (Total, error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return Total{}, err
	}
	defer os.RemoveAll(dir)
	r := &runner{o: o, sound: map[string]func() error{}}
	slots := make(chan struct{}, cmp.Or(o.AtATime, 2))
	var wg sync.WaitGroup
	for i, m := range list {
		if m.Cluster && !o.Cluster {
			r.mu.Lock()
			r.total.LeftOut++
			fmt.Fprintf(o.Out, "left out  %s: it needs a cluster\n", m.Name())
			r.mu.Unlock()
			continue
		}
		id := m.Package + " " + m.Run
		if r.sound[id] == nil {
			r.sound[id] = sync.OnceValue(func() error { return r.withoutMutant(ctx, m) })
		}
		sound := r.sound[id]
		if m.Cluster { // alone: such tests build programs into the checkout's directory build
			wg.Wait()
			r.runMutant(ctx, m, filepath.Join(dir, fmt.Sprint(i)), sound)
			continue
		}
		slots <- struct{}{} // here, so that the order is that of the list
		wg.Go(func() {
			defer func() { <-slots }()
			r.runMutant(ctx, m, filepath.Join(dir, fmt.Sprint(i)), sound)
		})
	}
	wg.Wait()
	return r.total, errors.Join(r.errs...)
}

type runner struct {
	o     Options
	sound map[string]func() error // by tests: checks once that they pass without any mutant

	mu    sync.Mutex
	total Total
	errs  []error
}

// runMutant runs one mutant and reports it.
func (r *runner) runMutant(ctx context.Context, m Mutant, dir string, sound func() error) {
	began := time.Now()
	by, err := "", sound()
	if err == nil {
		by, err = r.try(ctx, m, dir)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	took := time.Since(began).Round(100 * time.Millisecond)
	switch {
	case err != nil:
		r.errs = append(r.errs, err)
		fmt.Fprintf(r.o.Out, "error     %s: %v\n", m.Name(), err)
	case by == "":
		r.total.Survived++
		fmt.Fprintf(r.o.Out, "SURVIVED  %s (%s of %s, %s)\n", m.Name(), cmp.Or(m.Run, "all tests"), m.Package, took)
	default:
		r.total.Caught++
		fmt.Fprintf(r.o.Out, "caught    %s: by %s (%s)\n", m.Name(), by, took)
	}
}

// withoutMutant returns an error if a mutant's tests fail without a change.
func (r *runner) withoutMutant(ctx context.Context, m Mutant) error {
	out, err := r.goTest(ctx, m, "")
	if err != nil {
		return fmt.Errorf("the tests of %s fail without any mutant: %w\n%s", m.Package, err, out)
	}
	return nil
}

// try returns the test that finds a mutant, or "" for none.
func (r *runner) try(ctx context.Context, m Mutant, dir string) (by string, err error) {
	name := filepath.Join(r.o.Root, filepath.FromSlash(m.File))
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	mutated, err := m.Apply(string(text))
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, filepath.Base(name)), filepath.Join(dir, "overlay.json")
	b, err := json.Marshal(map[string]map[string]string{"Replace": {name: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(changed, []byte(mutated), 0o600), os.WriteFile(overlay, b, 0o600)); err != nil {
		return "", err
	}
	out, err := r.goTest(ctx, m, overlay)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err == nil:
		return "", nil
	}
	if by := failed(out); by != "" {
		return by, nil
	}
	return "", fmt.Errorf("its tests do not run: %w\n%s", err, out)
}

// goTest runs a mutant's tests, with the overlay if one is given. It also applies to programs that the tests build.
func (r *runner) goTest(ctx context.Context, m Mutant, overlay string) (string, error) {
	args := []string{"test", "-vet=off", "-failfast", "-timeout", testLimit}
	if !m.Cluster {
		args = append(args, "-short")
	}
	if m.Run != "" {
		args = append(args, "-run", m.Run)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, m.Package)...)
	cmd.Dir = r.o.Root
	cmd.Env = append(os.Environ(), "RAPID_NOFAILFILE=1") // rapid writes failures into the checkout
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	// The tests are separate processes: the whole group ends with go.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return string(out), err
}

// failed returns the first failed test in the output of go test, or "" if none failed.
func failed(out string) string {
	test := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	if found := test.FindAllStringSubmatch(out, -1); len(found) > 0 {
		name := found[0][1]
		for _, f := range found[1:] { // subtests follow their test
			if strings.HasPrefix(f[1], name+"/") {
				name = f[1]
			}
		}
		return name
	}
	if at := regexp.MustCompile(`(?m)^panic: test timed out.*\n\s*running tests:\n\s*(\S+)`).FindStringSubmatch(out); at != nil {
		return at[1] + ", which hangs"
	}
	if strings.Contains(out, "\npanic: ") || strings.HasPrefix(out, "panic: ") || strings.Contains(out, "fatal error: ") {
		if at := regexp.MustCompile(`\.((?:Test|Fuzz|Example)[A-Z]\w*)`).FindStringSubmatch(out); at != nil {
			return at[1] + ", by a panic"
		}
		return "a panic"
	}
	return ""
}
