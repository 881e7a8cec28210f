package testcheck

import (
	"errors"
	"flag"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A recorder is a test that records its result.
type recorder struct {
	testing.TB
	failed  string
	cleanup []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Failed() bool     { return r.failed != "" }
func (r *recorder) Fatal(args ...any) {
	for _, a := range args {
		r.failed += a.(error).Error()
	}
	runtime.Goexit()
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = format
	for _, a := range args {
		if s, ok := a.(string); ok {
			r.failed += " " + s
		}
	}
	runtime.Goexit()
}

// run runs a test on a new goroutine, like package testing.
func run(t *testing.T, test func(t testing.TB)) *recorder {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return r
}

func TestMust(t *testing.T) {
	if r := run(t, func(t testing.TB) { Must(t, nil) }); r.failed != "" {
		t.Errorf("no error fails: %s", r.failed)
	}
	if r := run(t, func(t testing.TB) { Must(t, errors.New("no such table")) }); r.failed != "no such table" {
		t.Errorf("an error gives %q", r.failed)
	}
}

func TestEventually(t *testing.T) {
	looks := 0
	r := run(t, func(t testing.TB) {
		Eventually(t, time.Minute, "three looks", func() (bool, any) { looks++; return looks == 3, looks })
	})
	if r.failed != "" || looks != 3 {
		t.Errorf("%d looks: %s", looks, r.failed)
	}
	r = run(t, func(t testing.TB) {
		Eventually(t, 0, "the region is open", func() (bool, any) { return false, "OPENING" })
	})
	if !strings.Contains(r.failed, "the region is open") || !strings.Contains(r.failed, "OPENING") {
		t.Errorf("the failure is %q", r.failed)
	}
}

func TestSeed(t *testing.T) {
	t.Setenv(EnvSeed, "")
	if a, b := Rand(t).Uint64(), Rand(t).Uint64(); a != b {
		t.Error("two draws of one test differ")
	}
	t.Run("other", func(t *testing.T) {
		if Seed(t) == hash("TestSeed") {
			t.Error("two tests have one seed")
		}
	})
	t.Setenv(EnvSeed, "17")
	if s := Seed(t); s != 17 {
		t.Errorf("seed %d, not that of the environment", s)
	}
	t.Setenv(EnvSeed, "x")
	if r := run(t, func(t testing.TB) { Seed(t) }); !strings.Contains(r.failed, EnvSeed) {
		t.Errorf("a seed that is not a number gives %q", r.failed)
	}
}

func TestCheck(t *testing.T) {
	var drawn [2][]int
	for i := range drawn {
		Check(t, func(rt *rapid.T) { drawn[i] = append(drawn[i], rapid.Int().Draw(rt, "n")) })
	}
	if len(drawn[0]) < 10 || !slices.Equal(drawn[0], drawn[1]) {
		t.Errorf("%d and %d cases, which differ", len(drawn[0]), len(drawn[1]))
	}
	if seed := flag.Lookup("rapid.seed").Value.String(); seed != "0" {
		t.Errorf("rapid's seed is left at %s", seed)
	}
}

func TestName(t *testing.T) {
	a, b := Name(t), Name(t)
	if a == b || !regexp.MustCompile(`^testname_[0-9a-f]+$`).MatchString(a) {
		t.Errorf("%q, %q", a, b)
	}
}
