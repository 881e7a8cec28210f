package checkpoint

import (
	"context"
	"errors"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/progress"
)

// OpenDir takes the lock of the job with the given directory, and reads its journal. If the state is shared, it connects to the cluster, until the
// job is closed.
func OpenDir(ctx context.Context, env *cluster.Env, dir string, wait time.Duration, e progress.Events) (_ *Job, err error) {
	st := &Job{Dir: dir}
	c, err := dialShared(ctx, env, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && c != nil {
			c.Close()
		}
	}()
	if st.lock, err = WaitLock(ctx, c, dir, wait, e); err != nil {
		return nil, err
	}
	st.lock.own = c
	if err := st.reopen(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if st.Plan != nil {
		st.ID, st.Table = st.Plan.Job, st.Plan.Table
	}
	st.stop = newStopAfter()
	return st, nil
}
