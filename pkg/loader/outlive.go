package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/hbaserpc"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/singleflight"
)

// withGrace returns a context that continues for a grace period after ctx has ended, so that work in progress can finish.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	long, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if retry.Sleep(long, grace) == nil {
			end(fmt.Errorf("not done within %s of the stop: %w", grace, context.Cause(ctx)))
		}
	})
	return long, func() {
		stop()
		end(nil)
	}
}

// call makes the call. When the context ends, it still waits for the answer for half of LoadGrace: a load takes a second or two, and a lost
// answer costs far more. The other half is for resolving the outcome then.
func (l *load) call(ctx context.Context, conn *hbaserpc.Connection, g group) (loaded bool, err error) {
	callCtx, end := withGrace(ctx, l.cluster.cfg.LoadGrace/2)
	defer end()
	callCtx, cancel := context.WithTimeoutCause(callCtx, l.cluster.cfg.LoadTimeout, fmt.Errorf("no answer within %s", l.cluster.cfg.LoadTimeout))
	defer cancel()
	callCtx, giveUp := context.WithCancelCause(callCtx)
	defer giveUp(nil)
	go func() {
		if l.movedAway(callCtx, g.region) {
			giveUp(errMovedAway)
		}
	}()
	resp := &pb.BulkLoadHFileResponse{}
	err = conn.Invoke(callCtx, "BulkLoadHFile", bulkLoadRequest(g.region, l.token, g.fs, g.files, !l.req.Unreplicated), resp)
	return err == nil && resp.GetLoaded(), err
}

// errMovedAway is the error of a call that was abandoned because its region is served elsewhere.
var errMovedAway = errors.New("the region is served elsewhere now, the server that was asked has not answered")

// movedAway waits until another server has the region, or the region no longer exists. The server that was asked may then be frozen, or its
// machine may have failed silently: it keeps the connection and does not answer.
func (l *load) movedAway(ctx context.Context, r Region) bool {
	for retry.Sleep(ctx, l.cluster.cfg.StageQuiet/3) == nil {
		if l.servedElsewhere(ctx, r) {
			return true
		}
	}
	return false
}

// servedElsewhere reports whether the region is known to have left the server. Each load that takes long asks for it, and each file that is
// searched in the staging directory: it reads the region's own row, and all rows only if that shows no region in service.
func (l *load) servedElsewhere(ctx context.Context, r Region) bool {
	now, ok, err := l.cluster.readRegion(ctx, l.req.Table, r.Name)
	if err == nil && !ok {
		var regions []Region
		if regions, err = l.regionsNow(ctx); err != nil || len(regions) == 0 {
			return false
		}
		i := slices.IndexFunc(regions, func(now Region) bool { return now.Encoded == r.Encoded })
		if i < 0 {
			return true
		}
		now = regions[i]
	}
	return err == nil && now.Server != "" && now.Server != r.Server
}

// readings share the readings of a table's regions that the goroutines of a load want at the same time.
type readings struct {
	group singleflight.Group // of one key
	mu    sync.Mutex
	last  chan struct{} // closed at the end of the last reading, nil before the first
}

// turn waits for the end of the reading before this one. done ends this one.
func (r *readings) turn() (done func()) {
	this := make(chan struct{})
	r.mu.Lock()
	before := r.last
	r.last = this
	r.mu.Unlock()
	if before != nil {
		<-before
	}
	return func() { close(this) }
}

// regionsNow reads the regions, once for all who ask while another reading is in progress. Each gets a reading that began after it asked: an
// earlier one might not show yet what the caller waits for, or show a region at the server that it was sent away from.
func (l *load) regionsNow(ctx context.Context) ([]Region, error) {
	read := l.readings.group.DoChan("", func() (any, error) {
		defer l.readings.turn()()
		l.readings.group.Forget("")
		return l.cluster.readRegions(l.linger, l.req.Table)
	})
	select {
	case r := <-read:
		regions, _ := r.Val.([]Region)
		return regions, r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
