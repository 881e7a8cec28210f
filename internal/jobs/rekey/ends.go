package rekey

import (
	"context"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// earlierResult returns the result of a job that was done before.
func (j *run) earlierResult(ctx context.Context) *result.Result {
	r := j.result
	j.job.Answer(ctx, j.env, r, j.options.Events)
	j.options.Events.Start(progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: r.Table, Key: j.req.Key, Inputs: []string{j.input()}, Timestamp: j.now().UnixMilli()})
	return r
}

// giveBack deletes the job's own snapshot after an error that the same command
// would repeat: the next attempt takes another one. After any other error the
// snapshot is kept.
func (j *run) giveBack(ctx context.Context, cause error) error {
	own, there := j.job.OwnSnapshots[checkpoint.PlaceRekeyed]
	if !there || j.divided() {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	kind := fail.KindOf(cause)
	if j.job.Built != nil || kind != fail.Config && kind != fail.Check && kind != fail.BadRows {
		if _, there, err := j.cluster.SnapshotTime(ctx, j.req.From, own.Snapshot); there || err != nil {
			j.options.Events.Warn("the snapshot stays for the next attempt; bulkload clean deletes it with the job", "snapshot", own.Snapshot)
		}
		return nil
	}
	if err := j.job.ForgetBuild(); err != nil {
		return err
	}
	if !j.drop(ctx) {
		return nil
	}
	now := *j.job.Rekey
	now.Snapshot = ""
	return j.job.Record(checkpoint.EventRekey, now)
}

// drop deletes the job's own snapshot when the job does not need it any more.
func (j *run) drop(ctx context.Context) bool {
	if err := j.job.DropSnapshots(ctx, j.cluster, checkpoint.PlaceRekeyed); err != nil {
		j.options.Events.Warn("the snapshot is left behind", "error", err)
		return false
	}
	return true
}

// end records that the job is done.
func (j *run) end(ctx context.Context) error {
	if err := j.job.Record(checkpoint.EventVerified, j.result.Verify); err != nil {
		return err
	}
	j.job.EndPrepared(ctx, j.env, j.cluster, j.options.Events)
	k := j.job.Rekey
	j.result.Rekey = &result.Rekey{From: k.From, Snapshot: k.Snapshot, Created: k.Created, Since: k.Since, Next: j.req.next(k.Created)}
	j.result.Elapsed = time.Since(j.started)
	return j.job.End(ctx, j.result, j.dir, j.options.Keep, j.options.Events)
}
