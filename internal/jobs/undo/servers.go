package undo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"bulkload/internal/base/retry"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
)

// When a region server dies while a table is out of service, the master splits its log, and writes those edits of the table's regions that it does
// not know to be flushed below their directories (WALSplitter, 2.6). The files of a restored table are older than these edits, so HBase replays them
// when it opens the regions: cells that the restore has removed come back. The snapshot of the restored table, which is taken before that, does not
// have them.

// recovery is the maximum time to wait for the recovery of a region server.
const recovery = 3 * time.Minute

// servers returns the live region servers; none if the user may not see them.
func (r *restore) servers(ctx context.Context) ([]string, error) {
	s, err := r.undo.cluster.Status(ctx)
	if loader.Refused(err) {
		return nil, nil
	}
	return s.Started, cluster.Failure(err)
}

// unheard returns the error of a region server that does not answer, nil if all answer.
func (r *restore) unheard(ctx context.Context, servers []string) error {
	var calls errgroup.Group
	calls.SetLimit(32)
	for _, name := range servers {
		calls.Go(func() error { return r.undo.cluster.Answers(ctx, name) })
	}
	return calls.Wait()
}

// witnesses returns the live region servers. It refuses if one of them does not answer: the master will find out that it is dead, and write its edits,
// after the restore.
func (r *restore) witnesses(ctx context.Context) ([]string, error) {
	servers, err := r.servers(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.unheard(ctx, servers); err != nil {
		return nil, fail.With(fail.Load, fmt.Errorf("nothing is changed: %w (the master has not noticed yet: wait until it has recovered the server)", err))
	}
	return servers, nil
}

// awaitRecovery waits until the master has recovered the region servers that have died since the undo began, and keeps the name of one of them in
// r.died. Edits from its log are replayed when the table is put into service, and verification detects them. A server that does not answer counts as
// dead: the master may list it as live until its session at ZooKeeper ends.
func (r *restore) awaitRecovery(ctx context.Context) error {
	was := r.undo.job.Undo.Servers
	if !r.inPlace() || len(was) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	pauses := retry.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second}
	for asked := 1; ; asked++ {
		now, err := r.servers(ctx)
		if err != nil || len(now) == 0 {
			return err
		}
		dead := slices.DeleteFunc(slices.Clone(was), func(name string) bool { return slices.Contains(now, name) })
		if len(dead) > 0 && r.died == "" {
			r.died = dead[0]
			r.undo.options.Events.Warn("a region server died while the table was out of service: HBase may apply its log to the restored table, which verification of kind full looks for", "server", r.died)
		}
		listed := slices.DeleteFunc(slices.Clone(was), func(name string) bool { return slices.Contains(dead, name) })
		unheard := r.unheard(ctx, listed)
		if unheard == nil && r.died == "" {
			return nil
		}
		if unheard == nil {
			under, err := r.undo.cluster.Recovering(ctx)
			if err != nil && !loader.Refused(err) {
				return cluster.Failure(err)
			}
			if err != nil || !under {
				return nil
			}
		}
		if err := pauses.Sleep(limited, asked); err != nil {
			return cmp.Or(ctx.Err(), fail.With(fail.Load, fmt.Errorf("the master has not recovered a region server within %s: %w", recovery, cmp.Or(unheard, err))))
		}
	}
}
