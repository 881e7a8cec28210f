package undo

import (
	"context"
	"slices"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hbase/cluster"
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

// deadServer returns a region server that was alive when the undo began and is not alive now; empty: none is known.
func (r *restore) deadServer(ctx context.Context) (string, error) {
	was := r.undo.job.Undo.Servers
	if !r.inPlace() || len(was) == 0 {
		return "", nil
	}
	now, err := r.servers(ctx)
	if err != nil || len(now) == 0 {
		return "", err
	}
	for _, name := range was {
		if !slices.Contains(now, name) {
			return name, nil
		}
	}
	return "", nil
}

// awaitRecovery waits until the master has recovered a region server that has died since the undo began. Edits from its log are then replayed when
// the table is put into service, and verification detects them.
func (r *restore) awaitRecovery(ctx context.Context) error {
	died, err := r.deadServer(ctx)
	if err != nil || died == "" {
		return err
	}
	r.undo.options.Events.Warn("a region server died while the table was out of service: HBase may apply its log to the restored table, which verification of kind full looks for", "server", died)
	ctx, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	pauses := retry.Policy{First: 100 * time.Millisecond, Most: 2 * time.Second}
	for asked := 1; ; asked++ {
		under, err := r.undo.cluster.Recovering(ctx)
		if err != nil && !loader.Refused(err) {
			return cluster.Failure(err)
		}
		if err != nil || !under {
			return nil
		}
		if err := pauses.Sleep(ctx, asked); err != nil {
			return err
		}
	}
}
