package undo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"bulkload/internal/cleanup"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/job"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/result"
	"bulkload/pkg/rewrite"
	"bulkload/pkg/rowkey"
	"bulkload/pkg/setting"
	"bulkload/pkg/spec"
	"bulkload/pkg/staging"
	"bulkload/pkg/tablesource"
)

// build surveys the snapshot, refuses what markers would lose, and writes them.
// Until they are written nothing was changed, and an error ends the undo. Then
// the timestamp is used up.
func (u *undo) build(ctx context.Context) error {
	files, err := u.writeFiles(ctx)
	if err != nil {
		return errors.Join(err, u.withdraw(ctx))
	}
	r := u.result
	r.Snapshot, r.Files, r.Markers, r.Bytes = u.undoing.Snapshot, len(files), 0, 0
	for _, f := range files {
		r.Markers += f.Cells
		r.Bytes += f.Size
	}
	noted := checkpoint.Undone{Cluster: u.clusterID, Table: u.table.String(), Timestamp: u.stamp, Job: u.job}
	if err := checkpoint.NoteUndone(ctx, u.state, noted, u.o.Events); err != nil {
		return err
	}
	record := checkpoint.MarkersRecord{Undo: r, Files: checkpoint.ToRecords(files)}
	if err := u.st.Record(checkpoint.EventMarkers, record); err != nil {
		return err
	}
	u.undoing.Result, u.undoing.Markers, u.undoing.Built = r, record.Files, true
	return nil
}

// writeFiles writes the markers, if nothing is lost by them.
func (u *undo) writeFiles(ctx context.Context) ([]loader.HFile, error) {
	u.o.Events.Phase("snapshot")
	src, err := tablesource.Open(ctx, u.env, tablesource.Ref{Table: u.table}, tablesource.Options{Name: u.undoing.Snapshot, Created: u.undoing.Created, Keep: true})
	if err != nil {
		return nil, err
	}
	if err := u.judge(ctx, src); err != nil {
		return nil, err
	}
	dir, err := u.stage(ctx)
	if err != nil {
		return nil, err
	}
	u.o.Events.Phase("write")
	rw := rewrite.New(dir.FS, dir.Location.Path, u.family, time.Now().UnixMilli())
	prefix, _ := rewrite.SplitURI(dir.Location.URI())
	return u.write(ctx, src.Snapshot, u.result.Survey, rw, prefix, u.read)
}

// stage is the directory of the files with markers.
func (u *undo) stage(ctx context.Context) (*staging.Dir, error) {
	l, err := u.env.Conf.Resolve(u.undoing.Staging)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return staging.Make(ctx, u.env, l)
}

// family is that of the table.
func (u *undo) family(name string) spec.Family {
	for _, f := range u.facts.Families {
		if f.Name == name {
			return f
		}
	}
	return spec.DefaultFamily(name)
}

// bring loads the files with markers. One that is loaded twice does no harm.
func (u *undo) bring(ctx context.Context) error {
	dir, err := u.stage(ctx)
	if err != nil {
		return err
	}
	var files []manifest.File
	for _, f := range u.undoing.HFiles() {
		files = append(files, manifest.File{Name: path.Join(f.Family, path.Base(f.Path)), Family: f.Family, FirstRow: rowkey.Key(f.First), LastRow: rowkey.Key(f.Last),
			Cells: f.Cells, Bytes: f.Size, CRC32C: f.CRC32C, FileID: f.FileID})
	}
	_, err = job.LoadStaged(ctx, u.env, u.c, u.facts, dir.Location, files, u.st, job.LoadOptions{Stage: u.o.Stage, LoadConcurrency: u.o.LoadConcurrency,
		Unreplicated: u.local, Gate: u.o.Gate, Events: u.o.Events})
	if err != nil && !u.st.Loading { // nothing was loaded: files that are damaged are written again
		err = errors.Join(err, u.st.Record(checkpoint.EventUndoing, u.undoing.UndoRecord))
	}
	if err != nil {
		return fmt.Errorf("undo of job %s, which the same command resumes: %w", u.job, err)
	}
	return nil
}

// verify sees that no cell of the load is seen, and that all else is.
func (u *undo) verify(ctx context.Context) error {
	u.o.Events.Phase("verify")
	u.result.Verify = u.o.Verify
	left := int64(0)
	req := loader.ScanRequest{Table: u.table, MinTime: u.stamp, MaxTime: u.stamp + 1, Families: u.families, KeysOnly: true}
	err := u.c.Scan(ctx, req, func(loader.Row) error { left++; return nil })
	if err != nil {
		return cluster.Failure(err)
	}
	if left > 0 {
		return u.notAsPredicted(fmt.Errorf("%d rows still have cells of timestamp %d", left, u.stamp))
	}
	if u.o.Verify != "full" {
		return nil
	}
	src, err := tablesource.Open(ctx, u.env, tablesource.Ref{Table: u.table}, tablesource.Options{})
	if err != nil {
		return err
	}
	now, err := u.survey(ctx, src.Snapshot, u.read)
	if err = errors.Join(err, src.Close(ctx)); err != nil {
		return fail.With(fail.HDFS, err)
	}
	return u.compare(u.undoing.Result.Survey, now)
}

// compare holds the table to the prediction, for readers of the newest version.
// An older one that a compaction has dropped meanwhile is a warning.
func (u *undo) compare(predicted, now *result.Survey) error {
	switch {
	case now.CellsSeen > 0:
		return u.notAsPredicted(fmt.Errorf("%d cells of timestamp %d are still seen", now.CellsSeen, u.stamp))
	case now.Rest != predicted.Rest:
		return u.notAsPredicted(fmt.Errorf("the table has %s beside the load, predicted were %s: others wrote or deleted meanwhile, cells expired, or a compaction dropped what the load had overwritten", now.Rest, predicted.Rest))
	case now.Versions != predicted.Versions:
		u.o.Events.Warn("the table has other older versions than predicted: a compaction has dropped some, or others wrote", "predicted", predicted.Versions.String(), "found", now.Versions.String())
	}
	return nil
}

func (u *undo) notAsPredicted(err error) error {
	return fail.With(fail.Verify, setting.Errorf("job %s is undone, but the table is not as predicted: %w\nthe snapshot %s has the table as it was before the undo and is kept; "+
		"where others write to the table meanwhile, the same command with %s range looks for cells of the load alone", u.job, err, u.undoing.Snapshot, setting.Verify))
}

// end records that nothing is left to do, and removes what is not needed any more.
func (u *undo) end(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	u.result.Snapshot = ""
	if err := u.dropSnapshot(ctx); err != nil {
		return err
	}
	if err := u.st.Record(checkpoint.EventUndone, checkpoint.UndoneRecord{Undo: u.result}); err != nil {
		return err
	}
	dir, err := u.stage(ctx)
	if err == nil {
		err = dir.Remove(ctx)
	}
	if err != nil {
		u.o.Events.Warn("staging directory is left behind", "path", u.undoing.Staging, "error", err)
	}
	return nil
}
