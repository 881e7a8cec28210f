package checkpoint

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/test/testcheck"
)

// TestWaitLock waits for a lock until it is free, until the maximum time has
// passed, or until it is stopped.
func TestWaitLock(t *testing.T) {
	dir := t.TempDir()
	held, err := journal.TryLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WaitLock(t.Context(), nil, dir, 0, progress.Events{}); fail.KindOf(err) != fail.Busy || strings.Contains(err.Error(), "waited") {
		t.Errorf("without waiting: %v", err)
	}
	if _, err := WaitLock(t.Context(), nil, dir, time.Millisecond, progress.Events{}); fail.KindOf(err) != fail.Busy || !strings.Contains(err.Error(), "waited 1ms") {
		t.Errorf("after a short wait: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := progress.Events{OnNote: func(string, ...any) { cancel() }}
	if _, err := WaitLock(ctx, nil, dir, time.Hour, stop); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	notes := 0
	free := progress.Events{OnNote: func(_ string, kv ...any) {
		notes++
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	}}
	lock, err := WaitLock(t.Context(), nil, dir, time.Hour, free)
	if err != nil || notes != 1 {
		t.Fatalf("%d notes, %v", notes, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}

// TestWaitForRefusedJob checks that a process waits on for the job of one that is refused before it has done anything, and removes the job's directory.
func TestWaitForRefusedJob(t *testing.T) {
	state := t.TempDir()
	first := openEmpty(t, state)
	refused := progress.Events{OnNote: func(string, ...any) { testcheck.Must(t, first.Close()) }}
	second, err := Open(t.Context(), nil, first.Identity, Options{Dir: state, LockWait: time.Hour}, refused)
	testcheck.Must(t, err)
	dir := second.Dir
	if testcheck.Must(t, second.Close()); first.Dir != "" || exists(dir) {
		t.Errorf("%q, and %s is there: %t", first.Dir, dir, exists(dir))
	}
}

// TestStoppedLock checks that records and the release of shared state end soon after a stop, also if the table of states never answers.
func TestStoppedLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(_ *statetable.Owner, ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		file, err := journal.TryLock(t.TempDir())
		testcheck.Must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		l := newLock(ctx, "")
		l.file, l.owner = file, &statetable.Owner{}
		<-time.After(time.Hour)
		if l.ctx.Err() != nil {
			t.Fatal("records end before the stop")
		}
		cancel()
		began := time.Now()
		if <-l.ctx.Done(); time.Since(began) != stoppedTime {
			t.Errorf("records end %s after the stop", time.Since(began))
		}
		check, done := l.lasting(context.WithoutCancel(ctx))
		if check.Err() != nil { // [statetable.Owner.Check] would take it for one without a limit
			t.Error("a check after the records has no time")
		}
		if <-check.Done(); time.Since(began) != stoppedTime+releaseTime {
			t.Errorf("a check ends %s after the stop", time.Since(began))
		}
		done()
		if err := l.end(silent); !errors.Is(err, context.Canceled) || time.Since(began) != stoppedTime+2*releaseTime {
			t.Errorf("%s after the stop: %v", time.Since(began), err)
		}
	})
}
