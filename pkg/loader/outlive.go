package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/base/retry"

	"github.com/tsuna/gohbase/pb"
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
func (l *load) call(ctx context.Context, conn *link, g group) (loaded bool, err error) {
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
	err = conn.invoke(callCtx, "BulkLoadHFile", bulkLoadRequest(g.region, l.token, g.fs, g.files, !l.req.Unreplicated), resp)
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

// servedElsewhere reports whether the region is known to have left the server.
func (l *load) servedElsewhere(ctx context.Context, r Region) bool {
	regions, err := l.cluster.readRegions(ctx, l.req.Table)
	if err != nil || len(regions) == 0 {
		return false
	}
	i := slices.IndexFunc(regions, func(now Region) bool { return now.Encoded == r.Encoded })
	return i < 0 || regions[i].Server != "" && regions[i].Server != r.Server
}
