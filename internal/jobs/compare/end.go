package compare

import (
	"context"
	"errors"
	"math"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// A round is a repair that was made.
type round struct {
	result.Repair
	shown uint64    // checksum of B's cells that differed before it
	read  time.Time // of A's contents that it loaded; zero: unknown
	over  bool      // it has loaded over delete markers what the round before had loaded
}

// repairsOf returns the results of rounds.
func repairsOf(done []round) (list []result.Repair) {
	for _, r := range done {
		list = append(list, r.Repair)
	}
	return list
}

// list writes the files of digests and of differences. After the repairs done the list of repaired rows stays, unless rows differ
// for good.
func (j *run) list(done []round) (err error) {
	r := j.result
	if r.Digests = j.options.Digests; r.Digests != "" {
		var a, b uint64
		for _, f := range j.found {
			a, b = a+f.SumA, b+f.SumB
		}
		r.A.Digest, r.B.Digest = hex64(a), hex64(b)
		if err := writeDigests(r.Digests, j.ranges, j.found); err != nil {
			return err
		}
	}
	if j.options.Differences == "" || len(done) > 0 && (j.result.Equal || !j.stuck(done)) {
		return nil
	}
	if j.result.Listed, err = gather(j.dir, len(j.ranges), j.options.Differences, j.options.Limit); err == nil && j.result.Listed > 0 {
		j.result.File = j.options.Differences
	}
	return err
}

// stuck reports whether the repairs done have not helped. One that has changed what B shows has: it has uncovered older versions, which the next one deletes.
func (j *run) stuck(done []round) bool {
	n := len(done)
	return n >= repairs || n > 0 && !j.changed(done) && (done[n-1].over || !j.req.overMarkers())
}

// changed reports whether the last of the repairs done has changed what differs.
func (j *run) changed(done []round) bool {
	last := done[len(done)-1]
	return last.Found != j.result.Found || last.shown != j.shown
}

// repair loads into B what differs, unless the repairs before have not helped. own is the command's cluster.
func (j *run) repair(ctx context.Context, own *loader.Cluster, done []round) (err error) {
	if !j.req.Repair || j.result.Equal {
		return nil
	}
	if err := j.emptied(); err != nil {
		return err
	}
	if j.stuck(done) {
		why := setting.Textf("delete markers uncovered older versions, or others write: repeat")
		if !j.changed(done) {
			why = j.req.hidden(ctx)
		}
		return fail.Errorf(fail.Verify, "the table differs after %s too: %s (%s)", setting.Count(len(done), "repair"), j.result.Found, why)
	}
	j.loaded = j.loadedBefore(done)
	fixed, err := j.req.repair(ctx, own, j.options, j)
	if fixed != nil {
		j.fixed = &round{Repair: *fixed, shown: j.shown, read: j.a.at, over: j.loaded > 0}
	}
	return err
}

// emptied refuses a repair that would delete all rows of B, unless only a part of the cells is compared.
func (j *run) emptied() error {
	if j.result.A.Rows > 0 || len(j.req.Choice.Ranges) > 0 || j.req.Choice.OfCells() {
		return nil
	}
	return j.wouldEmpty()
}

// loadedBefore returns the timestamp up to which the last of the repairs done had loaded A's cells; 0: none was done, or it is unknown. Later ones may be
// new in A since, so that B lacks them without a delete marker.
func (j *run) loadedBefore(done []round) int64 {
	switch n := len(done); {
	case n == 0:
		return 0
	case !j.req.A.isTable(): // it has the same cells as in the round before
		return math.MaxInt64
	default:
		return max(done[n-1].read.UnixMilli(), 0)
	}
}

// end deletes what was made to compare, and notes that nothing is left to do.
func (j *run) end(ctx context.Context) error {
	j.dropSnapshots(ctx)
	j.job.EndSpill(j.options.Events)
	if err := removeLists(j.dir); err != nil {
		j.options.Events.Warn("lists of differences are left behind", "path", j.dir, "error", err)
	}
	return j.job.End(ctx, &result.Result{Schema: 1, Table: j.req.tableName().String(), Job: j.job.Dir}, nil, false, j.options.Events)
}

// giveBack deletes the snapshots after an error that comes again: the next attempt takes new ones. After any other they stay for it.
func (j *run) giveBack(ctx context.Context, cause error) error {
	j.job.EndSpill(j.options.Events)
	if j.job.Log != nil && (ctx.Err() != nil || fail.KindOf(cause).Retry()) {
		if len(j.job.OwnSnapshots) > 0 {
			j.options.Events.Warn("the snapshots stay for the next attempt; bulkload clean deletes them with the job")
		}
		return nil
	}
	j.dropSnapshots(ctx)
	return nil
}

// dropSnapshots deletes the job's own snapshots, each on its cluster.
func (j *run) dropSnapshots(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := j.job.DropAllSnapshots(ctx, j.req.A.Env); err != nil {
		j.options.Events.Warn("a snapshot is left behind", "error", err)
	}
}

// close ends what reads the sides.
func (j *run) close(ctx context.Context) error {
	var errs []error
	for _, o := range []*opened{j.a, j.b} {
		if o != nil && o.close != nil {
			errs = append(errs, o.close(ctx))
		}
	}
	return errors.Join(errs...)
}
