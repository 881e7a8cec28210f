package serve

import (
	"context"
	"errors"
	"sync/atomic"

	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"

	"golang.org/x/sync/singleflight"
)

// fit records that a job's salts were compared with rows of its table.
type fit struct {
	checked atomic.Bool
	regions atomic.Pointer[loader.Region] // first element of the list of regions at the time of the check
	flight  singleflight.Group
}

// salted is a table, or an index, whose salts can be compared.
type salted interface {
	Name() loader.TableName
	CheckSalts(ctx context.Context) (done bool, err error)
}

// recheck repeats the check when the list of regions was read again. Requests do not wait for that, but if it finds other salts, they
// wait for a check that does not.
func (f *fit) recheck(ctx context.Context, c query.Cluster, t salted) error {
	regions, err := c.KnownRegions(ctx, t.Name())
	if err != nil {
		return err
	}
	if f.checked.Load() && f.regions.Load() == &regions[0] {
		return nil
	}
	done, err := t.CheckSalts(ctx)
	if err != nil {
		if errors.Is(err, query.ErrSaltsUnfit) {
			f.checked.Store(false)
		}
		return err
	}
	f.regions.Store(&regions[0])
	f.checked.Store(done)
	return nil
}

// check compares the salts once, as soon as there are rows. Concurrent callers share the check.
func (f *fit) check(ctx context.Context, t salted) error {
	if f.checked.Load() {
		return nil
	}
	done := f.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), probeTime, errDeadline)
		defer cancel()
		done, err := t.CheckSalts(ctx)
		if done {
			f.checked.Store(true)
		}
		return nil, err
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
