package rekey

import (
	"context"

	"bulkload/internal/cleanup"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/progress"
	"bulkload/pkg/result"
	"bulkload/pkg/staging"
)

// restart discards the journal, and the snapshot that it leads to.
func (j *run) restart(ctx context.Context) error {
	if k := j.st.Rekey; k != nil && k.Own && k.Snapshot != "" {
		if err := j.c.EndSnapshot(ctx, j.req.From, k.Snapshot, k.Created); err != nil {
			return cluster.Failure(err)
		}
	}
	return j.st.Restart(ctx, j.env)
}

// already is the result of a job that was done before. What a process has left that
// was killed between its end and the removal of its files is removed.
func (j *run) already(ctx context.Context) *result.Result {
	if j.st.StagingEnd == checkpoint.StagingRemoved && j.st.Plan != nil {
		if err := j.removeStaging(ctx, j.st.Plan.Staging); err != nil {
			j.o.Events.Warn("staging directory is left behind", "path", j.st.Plan.Staging, "error", err)
		}
	}
	r := j.result
	if j.st.Result != nil {
		*r = *j.st.Result
	}
	r.Already, r.Job, r.DoneAt = true, j.st.Dir, j.st.FinishedAt
	j.o.Events.Start(progress.Start{Job: j.st.Dir, JobID: j.o.State.JobID, Table: r.Table, Key: j.req.Key, Inputs: []string{j.input()}, Timestamp: j.now().UnixMilli()})
	return r
}

func (j *run) removeStaging(ctx context.Context, name string) error {
	l, err := j.env.Conf.Resolve(name)
	if err != nil {
		return err
	}
	fsys, err := j.env.FS(l)
	if err != nil {
		return err
	}
	return (&staging.Dir{FS: fsys, Location: l}).Remove(ctx)
}

// giveBack deletes the job's own snapshot after an error that the same command
// gives again: the next attempt takes another one. After any other error it stays.
func (j *run) giveBack(ctx context.Context, cause error) error {
	k := j.st.Rekey
	if k == nil || !k.Own || k.Snapshot == "" || j.dropped {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	kind := fail.KindOf(cause)
	if j.st.Built != nil || kind != fail.Config && kind != fail.Check && kind != fail.BadRows {
		if _, there, err := j.c.SnapshotTime(ctx, j.req.From, k.Snapshot); there || err != nil {
			j.o.Events.Warn("the snapshot stays for the next attempt; to give the job up, delete it", "snapshot", k.Snapshot)
		}
		return nil
	}
	if !j.drop(ctx) {
		return nil
	}
	now := *k
	now.Snapshot = ""
	return j.st.Record(checkpoint.EventRekey, now)
}

// drop deletes the job's own snapshot, which it does not need any more.
func (j *run) drop(ctx context.Context) bool {
	k := j.st.Rekey
	if !k.Own {
		return true
	}
	if err := j.c.DeleteSnapshot(ctx, j.req.From, k.Snapshot); err != nil {
		j.o.Events.Warn("the snapshot is left behind: delete it by hand", "snapshot", k.Snapshot, "error", err)
		return false
	}
	j.dropped = true
	return true
}

// end notes that nothing is left to do.
func (j *run) end(ctx context.Context) error {
	if err := j.st.Record(checkpoint.EventVerified, j.result.Verify); err != nil {
		return err
	}
	if err := j.st.DropPrepared(ctx, j.env, j.c); err != nil {
		j.o.Events.Warn("a directory of a load that was cut off is left behind", "error", err)
	}
	k := j.st.Rekey
	j.result.Rekey = &result.Rekey{From: k.From, Snapshot: k.Snapshot, Created: k.Created, Since: k.Since, Next: NextSince(k.Created)}
	done := *j.result.Summary()
	kept := checkpoint.StagingRemoved
	if j.o.Keep {
		kept = checkpoint.StagingKept
	}
	if err := j.st.Record(checkpoint.EventDone, checkpoint.DoneRecord{Result: &done, Staging: kept}); err != nil {
		return err
	}
	if j.o.Keep {
		j.st.Publish(ctx, j.dir, j.o.Events)
		return nil
	}
	if err := j.dir.Remove(ctx); err != nil {
		j.o.Events.Warn("staging directory is left behind", "path", j.result.Staging, "error", err)
	}
	return nil
}
