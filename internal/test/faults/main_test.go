package faults

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"

	"bulkload/internal/test/jobtest"
)

// The one lab of this package's tests. It is global, since package testing shares nothing else between tests.
var shared struct {
	mu  sync.Mutex
	lab *Lab
	err error
}

// sharedLab returns the lab, which the first test that needs it starts.
func sharedLab(t *testing.T) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster of its own, which -short leaves out")
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.lab == nil && shared.err == nil {
		program := os.Getenv("BULKLOAD_FAULTS_PROGRAM")
		if program == "" {
			program = jobtest.Program(t)
		}
		var dir string
		if dir, shared.err = os.MkdirTemp("", "bulkload-faults-"); shared.err == nil {
			// Not the test's context: the cluster outlives the test.
			shared.lab = &Lab{Dir: dir, Program: program, YARN: os.Getenv("BULKLOAD_YARN") != "", Log: slog.New(slog.DiscardHandler)}
			shared.err = shared.lab.Open(context.Background())
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.lab
}

func TestMain(m *testing.M) {
	code := m.Run()
	if lab := shared.lab; lab != nil {
		if err := lab.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		if code == 0 {
			os.RemoveAll(lab.Dir)
		} else {
			fmt.Fprintln(os.Stderr, "what the rounds left is in", lab.Dir)
		}
	}
	os.Exit(code)
}

// whole skips a test of the long half of the suite.
func whole(t *testing.T) *Lab {
	t.Helper()
	onlyWhole(t, true)
	return sharedLab(t)
}

// onlyWhole skips a case of the long half of the suite: one that is slow, or similar to another.
func onlyWhole(t *testing.T, does bool) {
	t.Helper()
	if does && os.Getenv("BULKLOAD_FAULTS") == "" {
		t.Skip("belongs to the whole suite: make test-faults")
	}
}

// survive runs a round and fails the test unless the fault came in time and all guarantees were kept.
func survive(t *testing.T, l *Lab, seed uint64, j Job, f Fault) *Outcome {
	t.Helper()
	o := l.Do(t.Context(), seed, j, f)
	report(t, l, o)
	if !o.Hit && f.Kind != None {
		t.Errorf("the fault came too late: %s", o)
	}
	return o
}

// report fails the test for a round that violated a guarantee, and gives the next test a healthy cluster.
func report(t *testing.T, l *Lab, o *Outcome) {
	t.Helper()
	t.Log(o)
	for i, e := range o.Errors {
		t.Logf("run %d: %s", i+1, e)
	}
	if !o.OK() {
		t.Errorf("seed %d broke a promise", o.Seed)
	}
	if o.Broken != nil || o.Spoilt {
		if err := l.Refresh(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
}
