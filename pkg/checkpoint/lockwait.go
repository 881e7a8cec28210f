package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bulkload/pkg/fail"
	"bulkload/pkg/journal"
	"bulkload/pkg/progress"
)

// lockPoll is how often a lock that another process holds is tried again.
const lockPoll = 250 * time.Millisecond

// WaitLock takes the lock of a job's directory. While another process has it,
// it is tried again for that long; zero: not at all. An error of kind
// [fail.Busy] says who has it still.
func WaitLock(ctx context.Context, dir string, wait time.Duration, e progress.Events) (*journal.Lock, error) {
	began := time.Now()
	told := false
	for {
		lock, err := journal.TryLock(dir)
		if err == nil {
			return lock, nil
		}
		busy, ok := errors.AsType[*journal.BusyError](err)
		if !ok {
			return nil, fail.With(fail.Config, err)
		}
		left := wait - time.Since(began)
		switch {
		case wait <= 0:
			return nil, fail.With(fail.Busy, err)
		case left <= 0:
			return nil, fail.With(fail.Busy, fmt.Errorf("%w; waited %s for it", err, wait))
		case !told:
			e.Note("another process runs this job: waiting for it", "holder", busy.Holder, "at_most", wait)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(left, lockPoll)):
		}
	}
}
