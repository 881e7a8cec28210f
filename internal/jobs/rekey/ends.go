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
	j.st.Answer(ctx, j.env, r, j.o.Events)
	j.o.Events.Start(progress.Start{Job: j.st.Dir, JobID: j.o.State.JobID, Table: r.Table, Key: j.req.Key, Inputs: []string{j.input()}, Timestamp: j.now().UnixMilli()})
	return r
}

// giveBack deletes the job's own snapshot after an error that the same command
// would repeat: the next attempt takes another one. After any other error the
// snapshot is kept.
func (j *run) giveBack(ctx context.Context, cause error) error {
	own, there := j.st.OwnSnapshots[checkpoint.PlaceRekeyed]
	if !there || j.divided() {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	kind := fail.KindOf(cause)
	if j.st.Built != nil || kind != fail.Config && kind != fail.Check && kind != fail.BadRows {
		if _, there, err := j.c.SnapshotTime(ctx, j.req.From, own.Snapshot); there || err != nil {
			j.o.Events.Warn("the snapshot stays for the next attempt; bulkload clean deletes it with the job", "snapshot", own.Snapshot)
		}
		return nil
	}
	if err := j.st.ForgetBuild(); err != nil {
		return err
	}
	if !j.drop(ctx) {
		return nil
	}
	now := *j.st.Rekey
	now.Snapshot = ""
	return j.st.Record(checkpoint.EventRekey, now)
}

// drop deletes the job's own snapshot when the job does not need it any more.
func (j *run) drop(ctx context.Context) bool {
	if err := j.st.DropSnapshots(ctx, j.c, checkpoint.PlaceRekeyed); err != nil {
		j.o.Events.Warn("the snapshot is left behind", "error", err)
		return false
	}
	return true
}

// end records that the job is done.
func (j *run) end(ctx context.Context) error {
	if err := j.st.Record(checkpoint.EventVerified, j.result.Verify); err != nil {
		return err
	}
	j.st.EndPrepared(ctx, j.env, j.c, j.o.Events)
	k := j.st.Rekey
	j.result.Rekey = &result.Rekey{From: k.From, Snapshot: k.Snapshot, Created: k.Created, Since: k.Since, Next: j.req.next(k.Created)}
	j.result.Elapsed = time.Since(j.started)
	return j.st.End(ctx, j.result, j.dir, j.o.Keep, j.o.Events)
}
