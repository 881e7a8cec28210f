package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// build surveys the snapshots of all tables, refuses losses by markers, and writes the markers, or uses those of an earlier attempt. Until a marker
// is sent nothing is changed, and an error ends the undo. Before that, the timestamp is marked as undone.
func (u *undo) build(ctx context.Context) error {
	u.read.now = time.UnixMilli(u.job.Undo.Created) // the same for every attempt, since the prediction depends on which cells have expired
	if u.job.Undo.Built {
		u.resume()
		return u.note(ctx) // it may be withdrawn, if the attempt before was killed at that
	}
	files, err := u.writeFiles(ctx)
	if err != nil {
		if len(u.job.Undo.Sent) > 0 {
			return fmt.Errorf("undo of job %s, which the same command resumes: %w", u.jobName(), err)
		}
		return errors.Join(err, u.withdraw(ctx))
	}
	if err := u.note(ctx); err != nil {
		return err
	}
	return u.wrote(files)
}

// note marks the timestamp as undone in all tables.
func (u *undo) note(ctx context.Context) error {
	for _, t := range u.tables {
		if err := checkpoint.NoteUndone(ctx, u.cluster, u.state, t.noted(), u.options.Events); err != nil {
			return err
		}
	}
	return nil
}

// noted returns the entry of the table's timestamp in the ledger.
func (t *target) noted() checkpoint.Undone {
	return checkpoint.Undone{Cluster: t.undo.clusterID, Table: t.table.String(), Timestamp: t.stamp, Job: t.job}
}

// wrote records the files of all tables.
func (u *undo) wrote(files [][]loader.HFile) error {
	record := history.MarkersRecord{Undo: u.result, Files: files[0]}
	for i, t := range u.tables[1:] {
		record.Tables = append(record.Tables, history.UndoMarkers{Table: t.table.String(), Files: files[i+1]})
	}
	return u.job.Record(history.EventMarkers, record)
}

// writeFiles writes the markers of all tables, unless they would lose data in one of them.
func (u *undo) writeFiles(ctx context.Context) (files [][]loader.HFile, err error) {
	u.options.Events.Phase("snapshot")
	sources := make([]*tablesource.Source, len(u.tables))
	for i, t := range u.tables {
		if sources[i], err = t.snapshotOf(ctx); err != nil {
			return nil, err
		}
	}
	for i, t := range u.tables {
		if t.result.Survey, err = t.look(ctx, sources[i]); err != nil {
			return nil, err
		}
	}
	if len(u.job.Undo.Sent) == 0 { // otherwise it was judged before
		if err := u.judge(ctx); err != nil {
			return nil, err
		}
	}
	files = make([][]loader.HFile, len(u.tables))
	for i, t := range u.tables {
		if files[i], err = t.writeMarkers(ctx, sources[i], t.result.Survey); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// writeMarkers writes the files of a table that was surveyed.
func (t *target) writeMarkers(ctx context.Context, src *tablesource.Source, s *result.Survey) ([]loader.HFile, error) {
	dir, err := t.stage(ctx)
	if err != nil {
		return nil, err
	}
	t.undo.options.Events.Phase("write")
	rw := rewrite.New(dir.FS, dir.Location.Path, t.facts.FamilyOf, time.Now().UnixMilli(), t.undo.job.Check)
	prefix, _ := rewrite.SplitURI(dir.Location.URI())
	files, err := t.write(ctx, src.Snapshot, s, rw, prefix, t.undo.job.Undo.Written, t.undo.read)
	if err != nil {
		return nil, err
	}
	r := t.result
	r.Snapshot, r.Files, r.Markers, r.Copies, r.Bytes = t.own().Snapshot, len(files), 0, 0, 0
	for _, f := range files {
		r.Copies += f.Cells
		r.Bytes += f.Size
	}
	for _, f := range s.Families {
		r.Markers += f.Rows
	}
	r.Copies -= r.Markers
	return files, nil
}

// reconsider surveys the tables again before the first marker is sent: since the markers were written, others may have written cells, and compactions
// may have rewritten the load's cells.
func (u *undo) reconsider(ctx context.Context) error {
	u.read.now = time.UnixMilli(u.job.Undo.Created)
	before := resultsOf(u.job.Undo.Result)
	asLoaded, unchanged := true, true // except for the effects of compactions
	for i, t := range u.tables {
		var err error
		if t.result.Survey, err = t.present(ctx); err != nil {
			return err
		}
		s := t.result.Survey
		asLoaded = asLoaded && len(t.refusals(uncompacted(s), u.options.InsertOnly)) == 0
		unchanged = unchanged && s.Rest == before[i].Survey.Rest && s.Versions == before[i].Survey.Versions
	}
	refused := u.judge(ctx)
	switch {
	case refused != nil && !asLoaded:
		return errors.Join(refused, u.withdraw(ctx))
	case refused == nil && !unchanged:
		u.options.Events.Note("others wrote to the table: the markers are written again")
		return u.withdraw(ctx) // the next steps begin again
	case refused == nil:
		return nil
	}
	// A compaction may have dropped cells that the load has overwritten. The snapshot still has them, and the load's cells show that these rows were not
	// deleted since.
	u.options.Events.Note("a compaction rewrote cells of the load; the snapshot has what they overwrote", "snapshot", u.tables[0].own().Snapshot)
	u.resume()
	for _, t := range u.tables {
		t.all = true
		if err := t.writeAgain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takeOut loads the markers of a table and verifies the result.
func (t *target) takeOut(ctx context.Context) error {
	u := t.undo
	if err := u.job.Turn(t.number, t.table.String()); err != nil {
		return err
	}
	if err := t.loadMarkers(ctx); err != nil {
		return fmt.Errorf("undo of job %s, which the same command resumes: %w", t.job, err)
	}
	if err := t.verify(ctx); err != nil {
		return err
	}
	if err := u.job.Record(history.EventTableUndone, history.TurnRecord{Number: t.number, Table: t.table.String()}); err != nil {
		return err
	}
	u.options.Events.Note("the load is taken out of a table", "table", t.table.String(), "markers", t.result.Markers)
	return nil
}

// loadMarkers loads the files with markers. If some are lost, it writes them again, and loads all files of the table: loading a marker twice does no harm.
func (t *target) loadMarkers(ctx context.Context) error {
	if len(t.undo.job.Undo.Markers[t.number]) == 0 {
		return nil // the load has no cells in this table
	}
	err := t.loadFiles(ctx)
	if err == nil || ctx.Err() != nil || !filesLost(err) {
		return err
	}
	t.undo.options.Events.Warn("marker files are lost and written again", "table", t.table.String(), "error", err)
	if again := t.writeAgain(ctx); again != nil {
		return errors.Join(err, again)
	}
	return t.loadFiles(ctx)
}

// filesLost reports whether a load has failed because of its files: they are missing or damaged, or their place is unknown.
func filesLost(err error) bool {
	_, damaged := errors.AsType[*filecheck.DamagedError](err)
	_, unknown := errors.AsType[*loader.UnknownOutcomeError](err)
	return damaged || unknown || errors.Is(err, fs.ErrNotExist)
}

func (t *target) loadFiles(ctx context.Context) error {
	u := t.undo
	dir, err := t.stage(ctx)
	if err != nil {
		return err
	}
	s := job.Staged{Env: u.env, Cluster: u.cluster, Facts: t.facts, Dir: dir, Files: job.StagedFiles(u.job.Undo.Markers[t.number]), Journal: u.job}
	o := job.LoadOptions{Unreplicated: t.local}
	o.Stage, o.LoadConcurrency, o.Gate, o.Events = u.options.Stage, u.options.LoadConcurrency, u.options.Gate, u.options.Events
	return s.Load(ctx, o, &result.Result{})
}

// writeAgain writes the markers of one table again, from the undo's snapshot of it. The prediction is not changed.
func (t *target) writeAgain(ctx context.Context) error {
	src, err := t.snapshotOf(ctx)
	if err != nil {
		return err
	}
	s, err := t.look(ctx, src)
	if err != nil {
		return err
	}
	files := slices.Clone(t.undo.job.Undo.Markers)
	if files[t.number], err = t.writeMarkers(ctx, src, s); err != nil {
		return err
	}
	return t.undo.wrote(files)
}

// verify checks that no cell of the load is visible, and that all other cells are.
func (t *target) verify(ctx context.Context) error {
	u := t.undo
	u.options.Events.Phase("verify")
	t.result.Verify = u.options.Verify
	left, err := t.left(ctx, t.table, t.families...)
	if err != nil {
		return err
	}
	if left > 0 {
		return t.notAsPredicted(fmt.Errorf("%s cells of timestamp %d left", setting.Count(left, "row has"), t.stamp))
	}
	if u.options.Verify != "full" {
		return nil
	}
	now, err := t.present(ctx)
	if err != nil {
		return err
	}
	return t.compare(t.result.Survey, now)
}

// left returns the number of rows of a table with visible cells of the load.
func (t *target) left(ctx context.Context, table loader.TableName, families ...string) (rows int64, err error) {
	req := loader.ScanRequest{Table: table, MinTime: t.stamp, MaxTime: t.stamp + 1, Families: families, KeysOnly: true}
	err = t.undo.cluster.Scan(ctx, req, func(loader.Row) error { rows++; return nil })
	return rows, cluster.Failure(err)
}

// compare compares the table with the prediction, for readers of the newest
// version. An older version that a compaction has dropped meanwhile is a warning.
func (t *target) compare(predicted, now *result.Survey) error {
	switch {
	case now.CellsSeen > 0:
		return t.notAsPredicted(fmt.Errorf("%s still visible with timestamp %d", setting.Count(now.CellsSeen, "cell is"), t.stamp))
	case now.Rest != predicted.Rest:
		return t.notAsPredicted(fmt.Errorf("other cells of the table: want %[2]s, got %[1]s; others wrote or deleted meanwhile, cells expired, or a compaction dropped what the load had overwritten", now.Rest, predicted.Rest))
	case now.Versions != predicted.Versions:
		t.undo.options.Events.Warn("the table has other older versions than predicted: a compaction has dropped some, or others wrote", "table", t.table.String(), "predicted", predicted.Versions.String(), "found", now.Versions.String())
	}
	return nil
}

func (t *target) notAsPredicted(err error) error {
	what := fmt.Sprintf("job %s is undone, but the table is not as predicted", t.job)
	if t.several {
		what = fmt.Sprintf("job %s is undone in table %s, which is not as predicted; tables loaded before it keep the load until the same command resumes", t.job, t.table)
		if t.number == 0 {
			what = fmt.Sprintf("job %s is undone, but table %s is not as predicted", t.job, t.table)
		}
	}
	return fail.With(fail.Verify, setting.Errorf("%s: %w; the snapshot %s from before the undo is kept, and the same command checks again (if others write to the table, give %s range)", what, err, t.own().Snapshot, setting.Verify))
}
