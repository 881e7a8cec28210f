package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"

	"golang.org/x/sync/singleflight"
)

// repeatCheck is the time after which salts are compared again in a table that has rows, and none with a salt that can be computed.
const repeatCheck = 30 * time.Second

// emptyCheck is that time for a request that has found no row: rows with other salts may have been loaded since.
const emptyCheck = 2 * time.Second

// fit records that a job's salts were compared with rows of its table.
type fit struct {
	checked atomic.Bool
	unknown atomic.Pointer[time.Time]     // time of the check that has compared no salt of the rows of the table; nil after another result
	regions atomic.Pointer[loader.Region] // first element of the list of regions at the time of the check
	flight  singleflight.Group
}

// known reports whether no check is needed: salts were compared, or could not be within a time before now.
func (f *fit) known(within time.Duration) bool {
	at := f.unknown.Load()
	return f.checked.Load() || at != nil && time.Since(*at) < within
}

// doubtful reports whether a request that has found no row has the salts compared again: none could be compared when it began, and not because the table
// was empty.
func (f *fit) doubtful() bool { return f.unknown.Load() != nil }

// note records the result of a check, unless another check has changed it since before.
func (f *fit) note(found query.Salts, before *time.Time) {
	var at *time.Time
	if found == query.SaltsUnknown {
		now := time.Now()
		at = &now
	}
	f.unknown.CompareAndSwap(before, at)
}

// salted is a table, or an index, whose salts can be compared.
type salted interface {
	Name() loader.TableName
	CheckSalts(ctx context.Context) (query.Salts, error)
}

// recheck repeats the check when the list of regions was read again. Requests do not wait for that, but if it finds other salts, they
// wait for a check that does not.
func (f *fit) recheck(ctx context.Context, c query.Cluster, t salted) error {
	regions, err := c.KnownRegions(ctx, t.Name())
	if err != nil {
		return err
	}
	if f.known(repeatCheck) && f.regions.Load() == &regions[0] {
		return nil
	}
	found, err := t.CheckSalts(ctx)
	if err != nil {
		if errors.Is(err, query.ErrSaltsUnfit) {
			f.checked.Store(false)
			f.unknown.Store(new(time.Time)) // a check that has read before this one changes nothing
		}
		return err
	}
	f.regions.Store(&regions[0])
	f.checked.Store(found == query.SaltsFit)
	f.note(found, f.unknown.Load())
	return nil
}

// check compares the salts once, as soon as there are rows with salts that can be computed, but not again within a time. Concurrent callers share the
// check.
func (f *fit) check(ctx context.Context, t salted, within time.Duration) error {
	if f.known(within) {
		return nil
	}
	done := f.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), probeTime, errDeadline)
		defer cancel()
		before := f.unknown.Load()
		found, err := t.CheckSalts(ctx)
		if err == nil && found == query.SaltsFit {
			f.checked.Store(true)
		}
		if err == nil {
			f.note(found, before)
		} else if errors.Is(err, query.ErrSaltsUnfit) {
			f.unknown.Store(new(time.Time)) // requests check again until they fit
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
