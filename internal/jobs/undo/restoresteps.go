package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/table"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// begin predicts the restore, and records it.
func (r *restore) begin(ctx context.Context) error {
	if err := r.predict(ctx); err != nil {
		return err
	}
	now, from := r.undo.read.now, r.from // the same for every attempt, since the prediction depends on which cells have expired
	// The timestamp is not 0, which marks that no undo has begun.
	begun := history.UndoRecord{Timestamp: cmp.Or(r.stamp, 1), Created: now.UnixMilli(), From: &from}
	if r.inPlace() {
		begun.Snapshot = tablesource.NewName(r.table, now)
		var err error
		if begun.Servers, err = r.servers(ctx); err != nil {
			return err
		}
	}
	return r.undo.job.Record(history.EventUndoing, begun)
}

// ask records the prediction and the request to the master.
func (r *restore) ask() error {
	if r.inPlace() {
		r.result.Snapshot = r.own().Snapshot
	}
	if len(r.quiet) > 0 {
		if err := r.undo.job.Record(history.EventQuiet, history.QuietRecord{Table: r.into.String(), Was: r.quiet}); err != nil {
			return err
		}
	}
	return r.undo.job.Record(history.EventRestoring, history.RestoringRecord{Undo: r.result, Nonce: loader.NewNonce()})
}

// service puts the table into service, or takes it out of service.
func (r *restore) service(ctx context.Context, on bool) error {
	return cluster.Failure(table.SetService(ctx, r.undo.cluster, r.table, on))
}

// takeOffline takes the table out of service, so that it cannot be written to, and predicts the loss again if it was written to since the prediction.
func (r *restore) takeOffline(ctx context.Context) error {
	err := r.reconsider(ctx)
	if err == nil {
		err = r.ask()
	}
	if err != nil && r.undo.job.Check(ctx) == nil {
		return r.withdrawRestore(ctx, err)
	}
	return err
}

func (r *restore) reconsider(ctx context.Context) error {
	if r.seen == nil { // an earlier attempt has predicted
		if err := r.suits(ctx); err != nil {
			return err
		}
	}
	r.undo.options.Events.Note("the table is taken out of service", "table", r.table.String())
	if err := r.service(ctx, false); err != nil {
		return err
	}
	r.undo.options.Events.Phase("snapshot")
	src, err := r.snapshotOf(ctx)
	if err != nil {
		return err
	}
	if r.seen != nil && r.seen.SameFiles(src.Snapshot) {
		return nil
	}
	if err := r.lookAt(ctx, src.Snapshot); err != nil {
		return err
	}
	return r.judge()
}

// restore has the master restore the snapshot, and takes a snapshot of the table before it is in service.
func (r *restore) restore(ctx context.Context) error {
	r.undo.options.Events.Phase("restore")
	err := r.undo.cluster.RestoreSnapshot(ctx, r.from.Snapshot, r.into, r.undo.job.Undo.Restoring.Nonce)
	if err != nil && (ctx.Err() != nil || !loader.Refused(err)) {
		return r.offline(fail.With(fail.Load, fmt.Errorf("undo of job %s, which the same command resumes: %w", r.job, err)))
	}
	if err != nil {
		if done, refused := r.afterRefusal(ctx, err); !done {
			return refused
		}
	}
	src, err := r.openRestored(ctx)
	if src != nil {
		err = src.Close(ctx)
	}
	if err == nil {
		err = r.undo.job.Record(history.EventRestored, history.TurnRecord{Number: r.number, Table: r.into.String()})
	}
	return r.offline(err)
}

// offline adds to an error of a restore in place that the table is out of service.
func (r *restore) offline(err error) error {
	if err == nil || !r.inPlace() {
		return err
	}
	return fmt.Errorf("table %s is out of service, which the same command ends: %w", r.table, err)
}

// afterRefusal determines whether a refused request had succeeded before, with a lost answer. If it had not, nothing was changed.
func (r *restore) afterRefusal(ctx context.Context, cause error) (done bool, err error) {
	cause = cluster.Failure(cause)
	if !r.inPlace() {
		if _, err := r.undo.cluster.Describe(ctx, r.into); err == nil {
			return true, nil // the next step verifies it
		}
		return false, r.withdrawRestore(ctx, cause)
	}
	unchanged := false
	own := r.own().Snapshot
	_, kept, err := r.undo.cluster.SnapshotTime(ctx, r.table, own)
	if err != nil {
		return false, r.offline(errors.Join(cause, err))
	}
	now, err := job.OpenSnapshot(ctx, r.undo.env, r.undo.job, r.table, history.PlaceRestored)
	if err != nil {
		return false, r.offline(errors.Join(cause, err))
	}
	if kept { // another one of that name would be of the table as it is now
		was, err := r.snapshotOf(ctx)
		if err != nil {
			return false, r.offline(errors.Join(cause, err))
		}
		unchanged = was.Snapshot.SameFiles(now.Snapshot)
	}
	if !unchanged {
		newest, _, err := r.digestOf(ctx, now.Snapshot, r.undo.read)
		if err == nil && newest == r.undo.job.Undo.Restoring.Undo.Restore.Before {
			return true, nil
		}
		cause = errors.Join(cause, err)
	}
	if err := r.undo.job.DropSnapshots(ctx, r.undo.cluster, history.PlaceRestored); err != nil {
		return false, r.offline(errors.Join(cause, err))
	}
	gone, clean := errors.Is(cause, loader.ErrNoSnapshot), checkpoint.CleanByForce(filepath.Base(r.undo.job.Dir))
	switch {
	case unchanged:
		return false, r.withdrawRestore(ctx, cause)
	case gone && kept:
		return false, setting.Errorf("table %s is out of service and differs: restore_snapshot '%s' in HBase's shell gives it back as it was, then %s enables it: %w", r.table, own, clean, cause)
	case gone:
		return false, setting.Errorf("table %s is out of service, snapshot %s of it is gone too: look at its rows once %s has enabled it: %w", r.table, own, clean, cause)
	}
	return false, fmt.Errorf("table %s is out of service and in part restored, and the same command restores it again: %w", r.table, cause)
}

// putOnline puts the table into service again.
func (r *restore) putOnline(ctx context.Context) error {
	if err := r.awaitRecovery(ctx); err != nil {
		return fmt.Errorf("table %s is restored and not yet in service, which the same command ends: %w", r.table, err)
	}
	if err := r.service(ctx, true); err != nil {
		return fmt.Errorf("table %s is restored and not yet in service, which the same command ends: %w", r.table, err)
	}
	r.undo.options.Events.Note("the table is in service", "table", r.table.String())
	return nil
}

// verification returns how the table is verified. A load whose cells have no timestamp in common cannot be searched for: instead of by range the table
// is verified in full, or not at all if that has found a difference before, so that the undo can end.
func (r *restore) verification() string {
	switch v := r.undo.options.Verify; {
	case v != "range" || r.stamp != 0:
		return v
	case r.undo.job.Undo.Differs:
		return "off"
	}
	return "full"
}

// verifyRestored compares the table with the prediction, by the snapshot that was taken before it was in service. Mode range only scans the table for
// cells of the load.
func (r *restore) verifyRestored(ctx context.Context) error {
	u := r.undo
	u.options.Events.Phase("verify")
	r.result.Verify = r.verification()
	switch r.result.Verify {
	case "off":
		u.options.Events.Warn("the table is not verified: it was not as the snapshot before, and the cells of the load have no timestamp of their own", "table", r.into.String(), "snapshot", r.from.Snapshot)
	case "range":
		left, err := r.left(ctx, r.into)
		if err != nil {
			return err
		}
		if left > 0 {
			return r.notRestored("%s cells of timestamp %d", setting.Count(left, "row has"), r.stamp)
		}
	}
	if _, err := r.dead(ctx); err != nil {
		return err
	}
	if r.died != "" && r.result.Verify == "full" { // the new snapshot includes edits that HBase has replayed
		if err := u.job.DropSnapshots(ctx, u.cluster, history.PlaceRestored); err != nil {
			return cluster.Failure(err)
		}
	}
	if r.result.Verify == "full" {
		want := *u.job.Undo.Restoring.Undo.Restore
		newest, kept, err := r.restored(ctx, &want)
		if err != nil {
			return err
		}
		if newest != want.Before && r.died != "" {
			return r.notRestored("want %s, got %s; region server %s died meanwhile: HBase has applied its log, or others have written", want.Before, newest, r.died)
		}
		if newest != want.Before {
			return r.notRestored("want %s, got %s", want.Before, newest)
		}
		if kept != want.Versions {
			u.options.Events.Warn("the table has other older versions than the snapshot: a compaction has dropped some", "table", r.into.String(), "snapshot", want.Versions.String(), "found", kept.String())
		}
	}
	return u.job.Record(history.EventTableUndone, history.TurnRecord{Number: r.number, Table: r.table.String()})
}

// warnKept warns that the snapshot from before the undo is kept, and why.
func (r *restore) warnKept() {
	e, kv := r.undo.options.Events, []any{"table", r.table.String(), "snapshot", r.result.Snapshot}
	if r.result.Restore.Loses() {
		e.Warn("the snapshot of the table from before the undo is kept, since others have lost something: delete it by hand", kv...)
		return
	}
	e.Warn("the snapshot of the table from before the undo is kept, since the table was not as the snapshot: delete it by hand", kv...)
}

// endRestore deletes the snapshots of the undo and records that it is done. The snapshot of the table from before the undo is kept if others
// have lost something, which it has, or the table was not as the snapshot, unless a later full verification has succeeded.
func (r *restore) endRestore(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	st, s := r.undo.job, r.result.Restore
	st.GiveBackTables(ctx, r.undo.cluster, r.undo.options.Events)
	if err := fail.With(fail.Load, st.DropSnapshots(ctx, r.undo.cluster, history.PlaceRestored)); err != nil {
		return err
	}
	if r.inPlace() && (s.Loses() || st.Undo.Differs && r.undo.options.Verify != "full") {
		r.result.Snapshot = r.own().Snapshot
		r.warnKept()
		if err := st.ForgetSnapshot(history.PlaceUndone(r.number)); err != nil {
			return err
		}
	} else {
		r.result.Snapshot = ""
		if err := r.undo.dropSnapshots(ctx); err != nil {
			return err
		}
	}
	return st.Record(history.EventUndone, history.UndoneRecord{Undo: r.result})
}
