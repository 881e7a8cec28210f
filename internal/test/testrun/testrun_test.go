package testrun

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/race"
	"bulkload/internal/test/testcheck"
)

// module writes a module with one package that starts goroutines and another one that does not.
func module(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"busy/busy.go": `package busy

func Do(f func()) { go f() }
`,
		"busy/busy_test.go": `package busy

import "testing"

func TestPlain(t *testing.T) {}
func TestLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
}
func TestPart(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes long")
		}
	})
}
func TestMany(t *testing.T) {
	if testing.Short() {
		t.Log("` + race.ReducedMark + `")
	}
}
` + more,
		"quiet/quiet.go": "package quiet\n",
		"quiet/quiet_test.go": `package quiet

import "testing"

func TestQuiet(t *testing.T) {
	if testing.Short() {
		t.Fatal("a package without goroutines runs whole")
	}
}
`,
		"none/none.go": "package none\n",
	} {
		testcheck.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		testcheck.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// TestEachOnce runs the tests of a module: those that -short skips or reduces run twice, the others once.
func TestEachOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with the race detector, which -short leaves out")
	}
	t.Setenv("GOFLAGS", "")
	var out, events bytes.Buffer
	if err := Run(t.Context(), Options{Dir: module(t, ""), Out: &out, Events: &events}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	runs := map[string]int{}
	for _, m := range regexp.MustCompile(`"Action":"run","Package":"[^"]*","Test":"([^"/]*)"`).FindAllStringSubmatch(events.String(), -1) {
		runs[m[1]]++
	}
	for test, want := range map[string]int{"TestPlain": 1, "TestLong": 2, "TestPart": 2, "TestMany": 2, "TestQuiet": 1} {
		if runs[test] != want {
			t.Errorf("%s ran %d times, want %d", test, runs[test], want)
		}
	}
	if want := "5 tests in "; !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "3 of them once more") {
		t.Errorf("the summary lacks %q:\n%s", want, &out)
	}
}

// TestFailures checks that each failure is listed once, with its output.
func TestFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with the race detector, which -short leaves out")
	}
	t.Setenv("GOFLAGS", "")
	for name, c := range map[string]struct{ code, want string }{
		"assertion": {`func TestBad(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("no such row") }) }`, "m/busy TestBad/sub (race)"},
		"race": {`func TestRace(t *testing.T) {
	n, done := 0, make(chan bool)
	Do(func() { n++; close(done) })
	n++
	<-done
}`, "m/busy TestRace (race)"},
		"compiler": {`func TestBad(t *testing.T) { nothing() }`, "m/busy (race)"},
		"exit":     {"func TestBad(t *testing.T) { panic(\"out of order\") }", "m/busy TestBad (race)"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Run(t.Context(), Options{Dir: module(t, c.code), Out: &out})
			_, summary, _ := strings.Cut(out.String(), "\n1 failed:\n")
			if !errors.Is(err, ErrFailed) || !strings.HasPrefix(summary, "     "+c.want+"\n") {
				t.Errorf("%v\n%s", err, &out)
			}
			for _, said := range map[string][]string{"assertion": {"no such row"}, "race": {"DATA RACE"}, "compiler": {"undefined: nothing"}, "exit": {"out of order"}}[name] {
				if !strings.Contains(summary, said) {
					t.Errorf("the summary lacks %q:\n%s", said, &out)
				}
			}
		})
	}
	t.Run("timeout", func(t *testing.T) {
		var out bytes.Buffer
		waits := "func TestBad(t *testing.T) { t.Parallel(); select {} }\nfunc TestWaits(t *testing.T) { t.Run(\"sub\", func(*testing.T) { select {} }) }"
		err := Run(t.Context(), Options{Dir: module(t, waits), Out: &out, Timeout: time.Second})
		_, summary, _ := strings.Cut(out.String(), "\n1 failed:\n")
		if !errors.Is(err, ErrFailed) || !strings.Contains(summary, "test timed out after 1s") || !strings.Contains(summary, "TestWaits/sub (") {
			t.Errorf("%v\n%s", err, &out)
		}
	})
	if err := Run(t.Context(), Options{Dir: t.TempDir()}); err == nil || errors.Is(err, ErrFailed) {
		t.Errorf("a directory without a module gives %v", err)
	}
}

// TestQueue checks that runs are returned by rank, and that next waits for more until the queue is closed.
func TestQueue(t *testing.T) {
	q := newQueue()
	for _, rank := range []int{5, 2, 9} {
		q.add(run{pkg: pkg{rank: rank}})
	}
	for _, want := range []int{2, 5, 9} {
		if x, ok := q.next(); !ok || x.pkg.rank != want {
			t.Errorf("%d, %t, want %d", x.pkg.rank, ok, want)
		}
	}
	got := make(chan int)
	go func() {
		defer close(got)
		for x, ok := q.next(); ok; x, ok = q.next() {
			got <- x.pkg.rank
		}
	}()
	q.add(run{pkg: pkg{rank: 1}})
	if x := <-got; x != 1 {
		t.Errorf("%d", x)
	}
	q.close()
	if x, ok := <-got; ok {
		t.Errorf("%d after the end", x)
	}
}
