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

// dead keeps in r.died the name of a region server that was alive when the undo began and is not alive now: the master does not list it any more, or
// lists it and it is gone ([loader.Cluster.Gone]). listed is one of the latter, empty if there is none. Without the right to see servers, none are known.
func (r *restore) dead(ctx context.Context) (listed string, err error) {
	was := r.undo.job.Undo.Servers
	if !r.inPlace() || len(was) == 0 {
		return "", nil
	}
	now, err := r.servers(ctx)
	if err != nil || len(now) == 0 {
		return "", err
	}
	var calls errgroup.Group
	calls.SetLimit(32)
	gone := make([]bool, len(was))
	for i, name := range was {
		if !slices.Contains(now, name) {
			r.died = cmp.Or(r.died, name)
			continue
		}
		calls.Go(func() error {
			gone[i] = r.undo.cluster.Gone(ctx, name)
			return nil
		})
	}
	_ = calls.Wait() // no call has an error
	if i := slices.Index(gone, true); i >= 0 {
		listed = was[i]
	}
	r.died = cmp.Or(r.died, listed)
	return listed, ctx.Err()
}

// awaitRecovery waits until the master has recovered the region servers that have died since the undo began. Edits from its log are replayed when the table is put into service, and verification detects them. A server that is gone and that the master
// lists for longer is no reason to leave the table out of service.
func (r *restore) awaitRecovery(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	pauses := retry.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second}
	for asked := 1; ; asked++ {
		known := r.died != ""
		listed, err := r.dead(ctx)
		if err != nil || r.died == "" {
			return err
		}
		if !known {
			r.undo.options.Events.Warn("a region server died while the table was out of service: HBase may apply its log to the restored table, which verification of kind full looks for", "server", r.died)
		}
		if listed == "" {
			under, err := r.undo.cluster.Recovering(ctx)
			if err != nil && !loader.Refused(err) {
				return cluster.Failure(err)
			}
			if err != nil || !under {
				return nil
			}
		}
		switch err := pauses.Sleep(limited, asked); {
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
		case listed != "":
			r.undo.options.Events.Warn("a region server refuses connections, and the master lists it as live: if it is dead, look at the table again when the master has recovered it", "server", listed)
			return nil
		default:
			return fail.With(fail.Load, fmt.Errorf("the master has not recovered region server %s within %s", r.died, recovery))
		}
	}
}
