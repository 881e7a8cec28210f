package job

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/history"
	"bulkload/internal/jobs/replace"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/rewrite"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// CheckReplace refuses, without contacting a cluster, a job that cannot replace its table with the given options.
func CheckReplace(o RunOptions, s spec.Job) error {
	if into, err := inPlaceOf(o, s); into != nil || err != nil {
		return err
	}
	return checkReplace(s)
}

// checkReplace refuses unsupported settings of a replacing run.
func checkReplace(s spec.Job) error {
	if !s.Replace {
		return nil
	}
	if s.Several() {
		return fail.With(fail.Config, abilities.Refusal(abilities.Replace, abilities.Several))
	}
	if s.Mapping.CellTimestamp != nil {
		return fail.With(fail.Config, setting.Errorf("%s gives all cells one timestamp: cell_timestamp cannot be used with it", setting.Replace))
	}
	return refuseOwnRows(s.Table, s.Inputs)
}

// refuseOwnRows refuses inputs that include the table itself.
func refuseOwnRows(table string, inputs []string) error {
	own, err := loader.ParseTableName(table)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	for _, input := range inputs {
		ref, ok, err := tablesource.Parse(input)
		if err != nil {
			return fail.With(fail.Config, err)
		}
		if ok && ref.Snapshot == "" && ref.Table == own {
			return fail.With(fail.Config, setting.Errorf("%s of table %s by its own rows would delete what others write meanwhile: take a snapshot and give snapshot:NAME", setting.Replace, own))
		}
	}
	return nil
}

// replaceable checks, before anything is built, that a snapshot of the table can be
// taken and read. A job for several clusters leaves this to the load into each cluster: one that is down holds up no other.
func (j *run) replaceable(ctx context.Context) error {
	if !j.compares() || j.job.AnyLoading() || j.local != "" {
		return nil
	}
	if err := j.endCompared(ctx); err != nil || j.job.Built != nil {
		return err
	}
	_, err := j.takeCompared(ctx)
	if err != nil {
		err = setting.Errorf("%s reads a snapshot of the table: %w", setting.Replace, err)
	}
	return j.afterCompared(ctx, err)
}

// replace writes the delete markers that make the table hold exactly the export
// after the load, based on a snapshot that is taken for this. Each attempt does so
// again until the load has begun, since others may have written meanwhile.
func (j *run) replace(ctx context.Context, b *built) error {
	if j.fresh != nil {
		return j.compareFresh(ctx, b)
	}
	if j.job.AnyLoading() {
		j.result.Replace = j.job.History.Replace
		if j.spec.Replace && j.job.History.Replace == nil {
			return fail.With(fail.Config, setting.Errorf("the load of this job had begun before it was to replace what the table has: finish it without %s, and give that to the next export's job", setting.Replace))
		}
		return nil
	}
	if err := j.endCompared(ctx); err != nil {
		return err
	}
	if j.job.History.Replace != nil { // for markers of an earlier attempt, which are written again or not needed
		if err := j.job.Record(history.EventReplaced, history.ReplacedRecord{}); err != nil {
			return err
		}
	}
	if !j.spec.Replace {
		return nil
	}
	err := j.refuseExport(b.manifest, j.previousTable())
	if err == nil && !j.proven { // before the snapshot, to keep the time from the snapshot to the load short
		if err = j.proveStaged(ctx, j.stage, b.manifest); err == nil {
			j.proven = true
		}
	}
	if err == nil {
		err = j.afterCompared(ctx, j.compare(ctx, b))
	}
	return err
}

// refuseExport refuses an export that cannot be the table's whole content.
func (j *run) refuseExport(m *manifest.Manifest, table loader.TableName) error {
	switch {
	case m.Stamped && j.fresh == nil:
		return fail.With(fail.Config, setting.Errorf("%s gives all cells one timestamp, but the HFiles have several", setting.Replace))
	case m.Digest.Rows == 0:
		return fail.With(fail.Check, setting.Errorf("table %s is not replaced: the export has no rows, so the whole table would be deleted (truncate_preserve in HBase's shell empties a table)", table))
	case m.Rejected > 0 && !j.spec.ReplaceRejected:
		return fail.With(fail.Check, setting.Errorf("table %s is not replaced, and nothing was loaded: %s rejected, whose rows the table would lose (%s): correct the export, or give %s",
			table, setting.Count(m.Rejected, "record"), m.RejectFile, setting.ReplaceRejected))
	}
	return nil
}

// compare takes the snapshot, and writes the markers if the limit allows them.
func (j *run) compare(ctx context.Context, b *built) error {
	j.options.Events.Phase("replace")
	src, err := j.takeCompared(ctx)
	if err != nil {
		return err
	}
	done, err := j.writeMarkers(ctx, b, src)
	if err != nil {
		return err
	}
	return j.job.Record(history.EventReplaced, done)
}

// writeMarkers compares the export with the snapshot, writes the markers and checks their files.
func (j *run) writeMarkers(ctx context.Context, b *built, src *tablesource.Source) (done history.ReplacedRecord, err error) {
	export := j.exported(b.manifest)
	o := replace.Options{Timestamp: b.manifest.Timestamp, Now: src.Snapshot.Created, Lifetimes: b.manifest.Expiring(), Events: j.options.Events}
	s, err := replace.Compare(ctx, src.Snapshot, export, o)
	if err != nil {
		return done, tablesource.FilesFailure(err)
	}
	limit := j.spec.MaxDeletes()
	done.Replace = &result.Replace{Rows: s.Rows, Deleted: s.Deleted, Changed: s.Changed, Limit: limit.String()}
	j.result.Replace = done.Replace
	j.options.Events.Note("table compared with the export", "rows", s.Rows, "deleted", s.Deleted, "changed", s.Changed)
	if err := s.Refuse(o.Timestamp, limit); err != nil {
		return done, fail.With(fail.Check, setting.Errorf("table %s is not replaced, and nothing was loaded: %w; %s; the HFiles are kept in %s", j.facts.Name, err, j.refusedHint(s, limit), j.stage.Location))
	}
	st := j.stage
	if j.markers != nil {
		if st, err = j.markers(ctx); err != nil {
			return done, err
		}
	}
	rw := rewrite.New(st.out.FS, st.out.Dir, j.facts.FamilyOf, o.Timestamp, j.job.Check)
	rw.Output.Uploads, rw.Gate = st.out.Uploads, j.options.Gate
	prefix, _ := rewrite.SplitURI(st.Location.URI())
	files, err := s.Write(ctx, src.Snapshot, export, rw, prefix, o)
	if err != nil {
		return done, fail.With(fail.HDFS, err)
	}
	done.Files, done.Replace.Files = files, len(files)
	for _, f := range files {
		done.Replace.Markers += f.Cells
		done.Replace.Bytes += f.Size
	}
	b.markers = files
	return done, j.proveStaged(ctx, st, &manifest.Manifest{Files: StagedFiles(files)})
}

// exported returns the job's HFiles.
func (j *run) exported(m *manifest.Manifest) *replace.Export {
	e := &replace.Export{FS: j.stage.out.FS}
	for _, f := range m.Files {
		e.Files = append(e.Files, replace.File{Family: f.Family, Path: path.Join(j.stage.out.Dir, f.Name), First: f.FirstRow, Last: f.LastRow})
	}
	return e
}

// refusedHint advises what to do if a table is not replaced.
func (j *run) refusedHint(s *replace.Survey, l spec.DeleteLimit) setting.Text {
	switch {
	case s.Newest >= time.Now().UnixMilli() && j.work == nil:
		return setting.Textf("the newest is of %d, which is later than now: delete these cells, or build the files again with a timestamp above it", s.Newest)
	case s.Newest >= time.Now().UnixMilli(): // a later attempt on this clock takes a timestamp below it
		return setting.Textf("the newest is of %d, which is later than now: delete these cells, or give %s and a %s above it", s.Newest, setting.Restart, setting.Timestamp)
	case (s.Newer > 0 || s.Foreign > 0) && j.work == nil: // the files were built by another job
		return setting.Textf("stop all writers of the table, and build the files again with a later timestamp")
	case s.Newer > 0 || s.Foreign > 0:
		return setting.Textf("stop all writers of the table, and run the command with %s, which takes a later timestamp", setting.Restart)
	}
	return setting.Textf("check that the export is complete; the same command with a higher %s N or P%% continues (now %s)", setting.MaxDeletes, l)
}

// replaced verifies that readers see exactly the rows of the export, and deletes
// the snapshot.
func (j *run) replaced(ctx context.Context, m *manifest.Manifest, v *result.Verification) error {
	if j.job.History.Replace == nil {
		return nil
	}
	if v.Mode != "off" && !v.Expired {
		var rows, cells atomic.Int64
		err := j.cluster.ScanParallel(ctx, loader.ScanRequest{Table: j.facts.Name, KeysOnly: true}, countWorkers, func(_ int, r loader.Row) error {
			rows.Add(1)
			cells.Add(int64(len(r.Cells)))
			return nil
		})
		if err != nil {
			return fail.With(fail.Load, fmt.Errorf("count the rows of table %s: %w", j.facts.Name, err))
		}
		if want := m.Digest; rows.Load() != want.Rows || cells.Load() != want.Cells {
			err := setting.Errorf("table %s does not hold exactly the export: readers see %d rows and %d cells, want %d and %d: others wrote after snapshot %s (the same command counts again)",
				j.facts.Name, rows.Load(), cells.Load(), want.Rows, want.Cells, j.job.OwnSnapshots[history.PlaceCompared].Snapshot)
			return fail.With(fail.Verify, err)
		}
	}
	return j.dropCompared(ctx)
}

// countWorkers is the number of regions that are counted concurrently.
const countWorkers = 4

// takeCompared opens the snapshot that the export is compared with, and takes it if there is none from an earlier attempt.
func (j *run) takeCompared(ctx context.Context) (*tablesource.Source, error) {
	return OpenSnapshot(ctx, j.env, j.job, j.previousTable(), history.PlaceCompared)
}

// afterCompared deletes the snapshot if nothing needs it: after an error, and
// before there are markers. If the job is stopped, the master may still be taking
// the snapshot, so the next attempt deletes it.
func (j *run) afterCompared(ctx context.Context, err error) error {
	if err == nil && j.job.History.Replace != nil || ctx.Err() != nil && j.job.Log != nil {
		return err
	}
	return errors.Join(err, j.dropCompared(ctx))
}

// endCompared deletes the snapshot that the export was compared with, including one of an earlier attempt.
func (j *run) endCompared(ctx context.Context) error {
	return fail.With(fail.Load, j.job.DropSnapshots(ctx, j.cluster, history.PlaceCompared))
}

// dropCompared calls endCompared, even if ctx has ended.
func (j *run) dropCompared(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return j.endCompared(ctx)
}
