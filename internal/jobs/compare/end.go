package compare

import (
	"context"
	"errors"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// list writes the files of digests and of differences. After the repairs done the list of repaired rows stays, unless rows differ
// for good.
func (j *run) list(done []result.Repair) (err error) {
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

// stuck reports whether the repairs done have not helped.
func (j *run) stuck(done []result.Repair) bool {
	n := len(done)
	return n >= repairs || n > 0 && done[n-1].Found == j.result.Found && (n > 1 || !j.req.overMarkers())
}

// repair loads into B what differs, unless the repairs before have not helped. own is the command's cluster.
func (j *run) repair(ctx context.Context, own *loader.Cluster, done []result.Repair) (err error) {
	if !j.req.Repair || j.result.Equal {
		return nil
	}
	if j.stuck(done) {
		return fail.Errorf(fail.Verify, "the table differs after %s too: %s (%s)", setting.Count(len(done), "repair"), j.result.Found, j.req.hidden(ctx))
	}
	j.again = len(done) > 0
	j.fixed, err = j.req.repair(ctx, own, j.options, j)
	return err
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
