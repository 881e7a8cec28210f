package export

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/choice"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// A Request describes an export: its source, directory and plan.
type Request struct {
	From   tablesource.Ref
	ReadBy tablesource.ReadBy // for a table; default: the files of a snapshot that is taken for the export
	To     string             // the directory, as a path or URI
	Plan   *Plan
}

// JobOptions are the options of an export as a job.
type JobOptions struct {
	State  checkpoint.Options
	Gate   progress.Gate // work waits here before a region of a snapshot; default: no gate
	Events progress.Events
}

// run is the work of one process on an export.
type run struct {
	env     *cluster.Env
	req     Request
	options JobOptions
	job     *checkpoint.Job

	fsys     hdfsio.FS
	path     string         // path of the directory on fsys
	dir      *exportdir.Dir // nil before the job owns the directory
	source   *tablesource.Source
	manifest *Manifest
}

// Do exports as a job. With a state directory, the same call resumes after a crash: it does not read regions of a snapshot again if their files are
// complete.
func Do(ctx context.Context, env *cluster.Env, request Request, o JobOptions) (_ *Manifest, err error) {
	j := &run{env: env, req: request, options: o}
	if j.fsys, j.path, err = env.Resolve(request.To); err != nil {
		return nil, err
	}
	if err := exportdir.Fits(ctx, j.fsys, j.path); err != nil { // checked before a cluster is contacted
		return nil, err
	}
	if err := o.State.MakeDir(); err != nil {
		return nil, err
	}
	var c *loader.Cluster // nil: only files are read
	if request.From.Snapshot == "" || checkpoint.IsShared(o.State.Dir) {
		if c, err = env.Dial(ctx); err != nil {
			return nil, err
		}
		defer c.Close()
	}
	id, err := j.identity(ctx, c)
	if err != nil {
		return nil, err
	}
	if j.job, err = checkpoint.Open(ctx, c, id, o.State, o.Events); err != nil {
		return nil, err
	}
	ctx, end := j.job.Work(ctx)
	defer end(&err, nil)
	if j.job.Finished {
		if done, err := j.finished(ctx); done || err != nil {
			return j.manifest, err
		}
	}
	if j.job.Finished || o.State.Restart {
		if err := j.job.Restart(ctx, env); err != nil {
			return nil, err
		}
	}
	err = j.job.Steps(ctx, o.Gate, []checkpoint.Step{
		j.job.BeginStep(o.State.Version, nil),
		{Name: "take the directory", Run: j.claim, TakeBack: j.giveBack},
		{Name: "open the table", Gate: true, Run: j.open},
		{Name: "write the files", Run: j.write},
		{Name: "end the job", Run: j.end},
	})
	return j.manifest, err
}

// finished completes an export that has ended, but whose process was killed before it removed temporary resources. If there is no such export, or if it
// is to be discarded, the job exports the table as it is now, into a directory that must be empty.
func (j *run) finished(ctx context.Context) (done bool, err error) {
	if j.dir, err = exportdir.Held(ctx, j.fsys, j.path, j.job.Exporting.Token); err != nil {
		return false, fail.With(fail.HDFS, err)
	}
	if j.dir == nil {
		return false, exportdir.Free(ctx, j.fsys, j.path)
	}
	if j.options.State.Restart {
		j.dir = nil // the directory no longer belongs to the job
		return false, nil
	}
	if err := j.checkAsked(); err != nil {
		return false, err
	}
	if j.manifest, err = ReadManifest(ctx, j.fsys, j.path); err != nil {
		return false, fail.With(fail.HDFS, err)
	}
	return true, j.cleanUp(ctx)
}

// identity returns the identity of an export of a table or snapshot into a directory. It does not depend on columns or format.
func (j *run) identity(ctx context.Context, c *loader.Cluster) (checkpoint.Identity, error) {
	place, err := j.env.Place(j.req.To)
	if err != nil {
		return checkpoint.Identity{}, err
	}
	return checkpoint.IdentifyParts(j.tableName(), "export", j.req.From.String(), place, j.options.State.JobID).OnCluster(ctx, c)
}

// tableName returns the table, or a table name made from the snapshot's name.
func (j *run) tableName() loader.TableName {
	if j.req.From.Snapshot != "" {
		return loader.TableName{Namespace: loader.DefaultNamespace, Qualifier: j.req.From.Snapshot}
	}
	return j.req.From.Table
}

// checkAsked refuses to continue an export that was begun with other options.
func (j *run) checkAsked() error {
	if j.job.Exporting.Asked != j.req.Plan.asked() {
		return fail.With(fail.Config, setting.Errorf("the export to %s was begun with other columns, format or job: give the same command, or discard it with %s", j.req.To, setting.Restart))
	}
	return nil
}

// claim claims the directory for the job, and removes files in it that the journal does not list.
func (j *run) claim(ctx context.Context) error {
	x := j.job.Exporting
	if x != nil && x.Token != "" {
		if err := j.checkAsked(); err != nil {
			return err
		}
	} else {
		place, err := j.env.Place(j.req.To)
		if err != nil {
			return err
		}
		if err := j.record(history.ExportingRecord{Table: j.tableName().String(), Dir: place, Token: rand.Text(), Asked: j.req.Plan.asked()}); err != nil {
			return err
		}
		x = j.job.Exporting
	}
	dir, again, err := exportdir.Claim(ctx, j.fsys, j.path, x.Token)
	if err != nil {
		return err
	}
	j.dir = dir
	if !again && len(j.job.Exported) > 0 { // the directory was removed
		if err := j.record(*x); err != nil {
			return err
		}
	}
	return nil
}

// record records the beginning of an export in the journal. Afterwards, no region counts as exported.
func (j *run) record(x history.ExportingRecord) error {
	return j.job.Record(history.EventExporting, x)
}

// open opens the table. Regions that earlier attempts have exported count only if this attempt reads the same snapshot.
func (j *run) open(ctx context.Context) (err error) {
	o := tablesource.Options{By: j.req.ReadBy}
	if j.req.From.Snapshot == "" && o.By != tablesource.ByScan {
		own, err := job.RecordSnapshot(j.job, j.req.From.Table, history.ReadSnapshotRecord{Place: history.PlaceExported})
		if err != nil {
			return err
		}
		o.Name, o.Created, o.Keep = own.Snapshot, own.Created, true
	}
	if j.source, err = tablesource.Open(ctx, j.env, j.req.From, o); err != nil {
		return err
	}
	j.source.Report(j.env.Log.Warn)
	read := ""
	if s := j.source.Snapshot; s != nil {
		read = hex.EncodeToString(s.Checksum[:])
	}
	if x := *j.job.Exporting; read == "" || x.Read != read {
		x.Read, x.Now = read, time.Now().UnixMilli()
		return j.record(x)
	}
	return nil
}

// write writes the missing files and the manifest.
func (j *run) write(ctx context.Context) (err error) {
	a := Attempt{Now: time.UnixMilli(j.job.Exporting.Now), Done: map[int]manifest.ExportedRegion{}, OnRegion: func(region int, done manifest.ExportedRegion) error {
		if f := done.File; f != nil {
			j.env.Log.Debug("file written", "file", f.Name, "rows", f.Digest.Rows, "bytes", f.Bytes)
		}
		return j.job.Record(history.EventExported, history.ExportedRecord{Region: region, Wrote: done})
	}}
	if j.source.Snapshot != nil {
		a.Gate = j.options.Gate // not for a scan of a table, which would expire while it waits
	}
	keep := map[string]int64{}
	for _, r := range j.job.Exported {
		if r.File != nil {
			keep[r.File.Name] = r.File.Bytes
		}
	}
	there, err := j.dir.Retain(ctx, keep)
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	for i, r := range j.job.Exported {
		if r.File == nil || there[r.File.Name] {
			a.Done[i] = r
		}
	}
	if len(a.Done) > 0 {
		j.options.Events.Note("regions are exported already", "regions", len(a.Done))
	}
	j.manifest, err = j.req.Plan.Write(ctx, j.input(), j.dir, a)
	if err == nil && len(j.manifest.Absent) > 0 && j.manifest.Digest.Rows+j.manifest.NoCells > 0 {
		j.options.Events.Warn("no row of the table has these columns: look for a mistyped name", "columns", j.manifest.Absent)
	}
	return tablesource.ByScans(err)
}

// input returns the input: a snapshot's files or a scanned table.
func (j *run) input() Input {
	s := j.source.Scanned
	if s == nil {
		in := OfSnapshot(j.source.Snapshot)
		in.Check = j.source.Check
		return in
	}
	return Input{Table: s.Table.String(), Families: s.Families, Created: s.Since(), Regions: make([]string, len(s.Starts)), Room: tablesource.ScanMemory,
		Splits: s.Starts[1:], Check: j.source.Check,
		Each: func(ctx context.Context, n int, families []string, c choice.Choice, do func(context.Context, int, tablesource.Cells) error) error {
			return s.Each(ctx, n, tablesource.RowView{Families: families, Choice: c}, func(ctx context.Context, i int, sc *tablesource.Scan) error { return do(ctx, i, sc) })
		}}
}

// end records that the files are complete, and removes temporary resources of the job.
func (j *run) end(ctx context.Context) error {
	if err := j.job.End(ctx, &result.Result{Schema: 1, Table: j.manifest.Table, Job: j.job.Dir}, nil, false, j.options.Events); err != nil {
		return err
	}
	return errors.Join(j.source.Close(ctx), j.cleanUp(ctx))
}

// cleanUp deletes the job's own snapshot, and then the token in the directory: while the token exists, the same command resumes.
func (j *run) cleanUp(ctx context.Context) error {
	err := j.job.DropAllSnapshots(ctx, j.env)
	if err == nil {
		err = j.dir.Finish(ctx)
	}
	if err != nil {
		return fmt.Errorf("the files in %s are complete, but %w", j.req.To, err)
	}
	return nil
}

// giveBack removes the files and deletes the snapshot after a permanent error. After any other error, it keeps finished work if the next attempt can
// resume from it.
func (j *run) giveBack(ctx context.Context, cause error) error {
	if j.dir == nil || j.job.Finished {
		return nil
	}
	again := ctx.Err() != nil || fail.KindOf(cause).Retry()
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	var errs []error
	if j.source != nil {
		errs = append(errs, j.source.Close(ctx))
	}
	if j.job.Log != nil && len(j.job.Exported) > 0 && j.job.Exporting.Read != "" && again {
		j.options.Events.Warn("files and snapshot stay for the next attempt; bulkload clean removes them with the job", "directory", j.req.To)
		return errors.Join(errs...)
	}
	if err := errors.Join(append(errs, j.dir.Remove(ctx), j.job.DropAllSnapshots(ctx, j.env))...); err != nil {
		return err
	}
	x := *j.job.Exporting
	x.Token, x.Read, x.Now = "", "", 0
	return j.record(x)
}
