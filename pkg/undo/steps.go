package undo

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

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
	"bulkload/pkg/tablesource"
)

// build surveys the snapshots of all tables, refuses what markers would lose, and writes them.
// Until they are written nothing was changed, and an error ends the undo. Then
// the timestamp is used up.
func (u *undo) build(ctx context.Context) error {
	files, err := u.writeFiles(ctx)
	if err != nil {
		return errors.Join(err, u.withdraw(ctx))
	}
	for i, t := range u.tables {
		t.count(files[i])
		noted := checkpoint.Undone{Cluster: u.cluster, Table: t.table.String(), Timestamp: t.stamp, Job: t.job}
		if err := checkpoint.NoteUndone(ctx, u.state, noted, u.o.Events); err != nil {
			return err
		}
	}
	return u.wrote(files)
}

// wrote records the files of all tables.
func (u *undo) wrote(files [][]loader.HFile) error {
	record := checkpoint.MarkersRecord{Undo: u.result, Files: checkpoint.ToRecords(files[0])}
	for i, t := range u.tables[1:] {
		record.Tables = append(record.Tables, checkpoint.UndoMarkers{Table: t.table.String(), Files: checkpoint.ToRecords(files[i+1])})
	}
	if err := u.st.Record(checkpoint.EventMarkers, record); err != nil {
		return err
	}
	u.undoing.Wrote(record)
	return nil
}

// writeFiles writes the markers of each table, if nothing is lost by them in any.
func (u *undo) writeFiles(ctx context.Context) ([][]loader.HFile, error) {
	u.o.Events.Phase("snapshot")
	sources := make([]*tablesource.Source, len(u.tables))
	for i, t := range u.tables {
		var err error
		if sources[i], err = t.snapshotOf(ctx); err != nil {
			return nil, err
		}
	}
	for i, t := range u.tables {
		if err := t.look(ctx, sources[i]); err != nil {
			return nil, err
		}
	}
	if err := u.judge(ctx); err != nil {
		return nil, err
	}
	files := make([][]loader.HFile, len(u.tables))
	for i, t := range u.tables {
		var err error
		if files[i], err = t.writeMarkers(ctx, sources[i]); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// writeMarkers writes the files of a table that was surveyed.
func (t *target) writeMarkers(ctx context.Context, src *tablesource.Source) ([]loader.HFile, error) {
	dir, err := t.stage(ctx)
	if err != nil {
		return nil, err
	}
	t.u.o.Events.Phase("write")
	rw := rewrite.New(dir.FS, dir.Location.Path, t.family, time.Now().UnixMilli())
	prefix, _ := rewrite.SplitURI(dir.Location.URI())
	return t.write(ctx, src.Snapshot, t.result.Survey, rw, prefix, t.u.read)
}

// count puts the files with markers into the table's result.
func (t *target) count(files []loader.HFile) {
	r := t.result
	r.Snapshot, r.Files, r.Markers, r.Bytes = t.own().Snapshot, len(files), 0, 0
	for _, f := range files {
		r.Markers += f.Cells
		r.Bytes += f.Size
	}
}

// takeOut loads the markers of a table and verifies what came of it, unless an
// earlier attempt has done both.
func (t *target) takeOut(ctx context.Context) error {
	u := t.u
	if u.undoing.Out[t.number] {
		return nil
	}
	if err := u.st.Turn(t.number, t.table.String()); err != nil {
		return err
	}
	if err := t.bring(ctx); err != nil {
		return err
	}
	if err := t.verify(ctx); err != nil || !t.several {
		return err
	}
	if err := u.st.Record(checkpoint.EventTableUndone, checkpoint.TurnRecord{Number: t.number, Table: t.table.String()}); err != nil {
		return err
	}
	u.undoing.Out[t.number] = true
	u.o.Events.Note("the load is out of a table", "table", t.table.String(), "markers", t.result.Markers)
	return nil
}

// bring loads the files with markers. One that is loaded twice does no harm.
func (t *target) bring(ctx context.Context) error {
	u := t.u
	if len(u.undoing.Markers[t.number]) == 0 {
		return nil // the load has no cells in this table
	}
	dir, err := t.stage(ctx)
	if err != nil {
		return err
	}
	var files []manifest.File
	for _, f := range u.undoing.HFiles(t.number) {
		files = append(files, manifest.File{Name: path.Join(f.Family, path.Base(f.Path)), Family: f.Family, FirstRow: rowkey.Key(f.First), LastRow: rowkey.Key(f.Last),
			Cells: f.Cells, Bytes: f.Size, CRC32C: f.CRC32C, FileID: f.FileID})
	}
	_, err = job.LoadStaged(ctx, u.env, u.c, t.facts, dir.Location, files, u.st, job.LoadOptions{Stage: u.o.Stage, LoadConcurrency: u.o.LoadConcurrency,
		Unreplicated: t.local, Gate: u.o.Gate, Events: u.o.Events})
	switch {
	case err == nil:
		return nil
	case u.st.Loading:
	case u.st.AnyLoading(): // the load is out of other tables: their survey would be another now
		err = errors.Join(err, t.writeAgain(ctx))
	default: // nothing was loaded: files that are damaged are written again
		err = errors.Join(err, u.st.Record(checkpoint.EventUndoing, u.undoing.UndoRecord))
	}
	return fmt.Errorf("undo of job %s, which the same command resumes: %w", t.job, err)
}

// writeAgain writes the markers of one table once more, of the snapshot that the undo has of it.
func (t *target) writeAgain(ctx context.Context) error {
	src, err := t.snapshotOf(ctx)
	if err != nil {
		return err
	}
	if err := t.look(ctx, src); err != nil {
		return err
	}
	files := make([][]loader.HFile, len(t.u.tables))
	for i := range files {
		files[i] = t.u.undoing.HFiles(i)
	}
	if files[t.number], err = t.writeMarkers(ctx, src); err != nil {
		return err
	}
	t.count(files[t.number])
	return t.u.wrote(files)
}

// verify sees that no cell of the load is seen, and that all else is.
func (t *target) verify(ctx context.Context) error {
	u := t.u
	u.o.Events.Phase("verify")
	t.result.Verify = u.o.Verify
	left := int64(0)
	req := loader.ScanRequest{Table: t.table, MinTime: t.stamp, MaxTime: t.stamp + 1, Families: t.families, KeysOnly: true}
	err := u.c.Scan(ctx, req, func(loader.Row) error { left++; return nil })
	if err != nil {
		return cluster.Failure(err)
	}
	if left > 0 {
		return t.notAsPredicted(fmt.Errorf("%s still have cells of timestamp %d", setting.Count(left, "row"), t.stamp))
	}
	if u.o.Verify != "full" {
		return nil
	}
	src, err := tablesource.Open(ctx, u.env, tablesource.Ref{Table: t.table}, tablesource.Options{})
	if err != nil {
		return err
	}
	now, err := t.survey(ctx, src.Snapshot, u.read)
	if err = errors.Join(err, src.Close(ctx)); err != nil {
		return fail.With(fail.HDFS, err)
	}
	return t.compare(t.result.Survey, now)
}

// compare holds the table to the prediction, for readers of the newest version.
// An older one that a compaction has dropped meanwhile is a warning.
func (t *target) compare(predicted, now *result.Survey) error {
	switch {
	case now.CellsSeen > 0:
		return t.notAsPredicted(fmt.Errorf("%s of timestamp %d are still seen", setting.Count(now.CellsSeen, "cell"), t.stamp))
	case now.Rest != predicted.Rest:
		return t.notAsPredicted(fmt.Errorf("the table has %s beside the load, predicted were %s: others wrote or deleted meanwhile, cells expired, or a compaction dropped what the load had overwritten", now.Rest, predicted.Rest))
	case now.Versions != predicted.Versions:
		t.u.o.Events.Warn("the table has other older versions than predicted: a compaction has dropped some, or others wrote", "table", t.table.String(), "predicted", predicted.Versions.String(), "found", now.Versions.String())
	}
	return nil
}

func (t *target) notAsPredicted(err error) error {
	what := fmt.Sprintf("job %s is undone, but the table is not as predicted", t.job)
	if t.several {
		what = fmt.Sprintf("job %s is undone in table %s, but that is not as predicted, and tables that were loaded before it keep the load until the same command resumes", t.job, t.table)
		if t.number == 0 {
			what = fmt.Sprintf("job %s is undone, but table %s is not as predicted", t.job, t.table)
		}
	}
	return fail.With(fail.Verify, setting.Errorf("%s: %w\nthe snapshot %s has the table as it was before the undo and is kept; "+
		"where others write to the table meanwhile, the same command with %s range looks for cells of the load alone", what, err, t.own().Snapshot, setting.Verify))
}
