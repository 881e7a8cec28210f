package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/pkg/kerberos"

	"golang.org/x/sync/semaphore"
)

// rounds sends the groups. Groups that certainly were not begun are sent again, after it has read the regions again: their boundaries and
// servers may have changed.
func (l *load) rounds(ctx context.Context, groups []group) error {
	pauses := retry.Policy{First: 200 * time.Millisecond, Most: 10 * time.Second}
	for round := 1; ; round++ {
		l.lookBefore(ctx, groups)
		if err := l.announce(groups); err != nil {
			return err
		}
		again, err := l.sendRound(ctx, groups)
		if err != nil || len(again) == 0 {
			return err
		}
		if err := pauses.Sleep(ctx, round); err != nil {
			return fmt.Errorf("load table %s: %w", l.req.Table, err)
		}
		regions, err := l.regionsAgain(ctx, again)
		if err != nil {
			return err
		}
		began := time.Now()
		if groups, err = l.regroup(ctx, regions, again); err != nil {
			return err
		}
		l.mu.Lock()
		l.progress = l.progress.Add(time.Since(began)) // cutting, and a pause within it, is no lack of progress
		for _, g := range again {
			delete(l.regions, string(g.region.Start))
		}
		l.mu.Unlock()
		l.plan(groups)
	}
}

// announce reports the files that a round will send.
func (l *load) announce(groups []group) error {
	sending := make([]Sending, len(groups))
	for i, g := range groups {
		sending[i] = Sending{Region: g.region, Files: g.files, Attempt: g.attempts + 1}
	}
	return notify(l, l.req.Events.OnSending, sending)
}

// regionsAgain reads the regions before a further round, for as long as the load may continue without progress. If a region could not be
// reached twice, or a server gave no reason, the table may have been disabled, or lost a family.
func (l *load) regionsAgain(ctx context.Context, back []group) ([]Region, error) {
	for {
		var regions []Region
		var err error
		if slices.ContainsFunc(back, func(g group) bool { return g.same >= 2 || g.failure == errRefused.Error() }) {
			var table *Table
			if table, err = l.cluster.Describe(ctx, l.req.Table); err == nil && table.State != Disabling && table.State != Enabling {
				if err := l.fits(table); err != nil {
					return nil, err
				}
			}
		}
		if err == nil {
			regions, err = l.cluster.Regions(ctx, l.req.Table)
		}
		if err == nil || !passing(err) || l.stalled() {
			return regions, err
		}
		l.cluster.log.Warn("HBase does not answer with the regions, waiting", "table", l.req.Table.String(), "error", err)
		if err := retry.Sleep(ctx, time.Second); err != nil {
			return nil, fmt.Errorf("load table %s: %w", l.req.Table, err)
		}
	}
}

// sendRound sends each group once, some per server at a time. After an error it sends no more, waits for those in flight, and reports the others as
// returned: they were announced.
func (l *load) sendRound(ctx context.Context, groups []group) (again []group, err error) {
	byServer := map[string][]group{}
	for _, g := range groups {
		byServer[g.region.Server] = append(byServer[g.region.Server], g)
	}
	var (
		mu     sync.Mutex
		errs   []error
		unsent []group
		wg     sync.WaitGroup
	)
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) > 0
	}
	calls := semaphore.NewWeighted(int64(cmp.Or(l.req.Calls, len(groups))))
	for _, queue := range byServer {
		work := make(chan group, len(queue))
		for _, g := range queue {
			work <- g
		}
		close(work)
		pace := newPace(l.req.PerServer)
		for range min(pace.most, len(queue)) {
			wg.Go(func() {
				at := &line{pace: pace}
				defer at.drop()
				for g := range work {
					var err error
					if !failed() {
						g, err = l.turn(ctx, calls, at, g, failed)
					}
					_, returned := errors.AsType[returnedError](err)
					mu.Lock()
					if returned && !l.stalled() {
						again = append(again, g)
					} else if err != nil {
						errs = append(errs, err)
					}
					if !g.called && !returned {
						unsent = append(unsent, g)
					}
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	for _, g := range unsent {
		if !l.notDone(g, errNotSent) {
			break
		}
	}
	return again, joinRegions(errs)
}

// errNotSent is the reason of files that were announced and whose turn did not come.
var errNotSent = errors.New("not sent: the load ended before")

// turn waits for a group's turn and sends it, unless another group has failed meanwhile.
func (l *load) turn(ctx context.Context, calls *semaphore.Weighted, at *line, g group, failed func() bool) (group, error) {
	// The gate is asked last, after the wait for the calls of others.
	leave, err := at.pace.enter(ctx)
	if err == nil {
		defer leave()
		err = calls.Acquire(ctx, 1)
	}
	if err == nil {
		defer calls.Release(1)
		if l.req.Gate != nil {
			err = l.wait(ctx)
		}
	}
	switch {
	case ctx.Err() != nil:
		return g, fmt.Errorf("load table %s: %w", l.req.Table, context.Cause(ctx))
	case err != nil:
		return g, fmt.Errorf("load table %s: %w", l.req.Table, err)
	case failed():
		return g, nil // the error is that of another group
	}
	if g.fs, err = l.fileToken(ctx, g.files[0].Path); err != nil { // one from before the waits may have expired
		return g, err
	}
	g.attempts++
	return l.send(ctx, at, g)
}

// wait waits for the gate. The time that it takes does not count as a lack of progress.
func (l *load) wait(ctx context.Context) error {
	asked := time.Now()
	err := l.req.Gate.Wait(ctx)
	if time.Since(asked) > time.Second {
		l.progressed()
	}
	return err
}

// fileToken returns the delegation token with which a server takes files as the user, nil without security. A server without it moves files as itself,
// and loses those that it may not change. If there is no new token, the last one is used, which may still be valid.
func (l *load) fileToken(ctx context.Context, file string) (*kerberos.Token, error) {
	if l.cluster.cfg.Token == nil || l.direct {
		return nil, nil
	}
	token, err := l.cluster.cfg.Token(ctx, file)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.fs = token
	case l.fs == nil || ctx.Err() != nil:
		return nil, fmt.Errorf("delegation token for the load of table %s: %w", l.req.Table, err)
	default:
		l.cluster.log.Warn("no new delegation token, the last one is used", "table", l.req.Table.String(), "error", err)
	}
	return l.fs, nil
}

// returnedError is the error of a load that certainly was not begun and that may succeed when it is sent again.
type returnedError struct{ *RegionError }

func (e returnedError) Unwrap() error { return e.RegionError }
