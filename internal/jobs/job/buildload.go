package job

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/setting"
)

// build builds the HFiles of all tables, or the missing ones.
func (j *run) build(ctx context.Context) ([]*built, error) {
	if j.job.Built != nil {
		m, err := j.job.Resume().Manifests(j.buildTables())
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(build.ExpectedEarlier(m[0].Records, j.spec.Expect), build.SomeRowsEarlier(m, j.spec.AllowEmpty), j.sameLeftOut(m)); err != nil && !j.job.AnyLoading() {
			return nil, err
		}
		count := 0
		for _, one := range m {
			count += one.HFiles
		}
		j.options.Events.Note("files are built already", "files", count)
		j.job.EndSpill(j.options.Events)
		files := j.allBuilt(m)
		if j.job.AnyLoading() {
			return files, nil
		}
		return files, j.expected(ctx, m)
	}
	sample := 0
	if j.spec.Verify == "sample" || j.spec.Verify == "files" {
		sample = samplesPerRegion
	}
	var resume *build.Resume
	if j.job.Log != nil {
		resume = j.job.Resume()
		sample = samplesPerRegion // so that a later run can check that the table still has the rows
	}
	if j.input == nil {
		return nil, fail.With(fail.Input, setting.Errorf("HFiles must be written again, but an input stream is gone: export again and pipe it into the same command (or %s discards the checkpoint)", setting.Restart))
	}
	var m []*manifest.Manifest
	var err error
	if j.options.YARN != nil {
		m, j.result.YARN, err = j.yarn().Build(ctx, *j.options.YARN, j.sharePlan, j.buildTables(), j.stage.Dir, j.options.RejectFile, j.options.FilteredFile)
	} else {
		work := j.options.WorkOptions
		work.Allowed = j.refused
		m, err = j.input.BuildTables(ctx, j.buildTables(), work, sample, resume)
	}
	if err != nil {
		if j.refused != nil && j.refused() != nil {
			return nil, err // buildChecked takes back what the refused job has made
		}
		return nil, errors.Join(err, j.abandon(ctx, err))
	}
	files := j.allBuilt(m)
	if err := j.expected(ctx, m); err != nil {
		return nil, err // the files are kept: the job resumes with other expectations
	}
	record := history.BuiltRecord{Manifest: m[0].Summary()}
	for _, one := range m[1:] {
		record.Tables = append(record.Tables, one.Summary())
	}
	submitted := j.job.Submission // the record clears the submission
	if err := j.job.Record(history.EventBuilt, record); err != nil {
		return nil, err
	}
	j.job.EndSpill(j.options.Events)
	j.yarn().Drop(ctx, submitted)
	return files, nil
}

// sameLeftOut refuses other files for records that are left out than those that were written with the files of the build: they are not written again.
func (j *run) sameLeftOut(m []*manifest.Manifest) error {
	w := j.options.WorkOptions
	if dir, err := filepath.Abs(j.job.Dir); err == nil && w.RejectFile == filepath.Join(dir, RejectsName) {
		w.RejectFile = "" // not given
	}
	return w.SameFiles(j.spec, m)
}

// abandon removes the results of a build that cannot be resumed: one without a
// journal, and one whose input or settings must be changed first.
func (j *run) abandon(ctx context.Context, cause error) error {
	kind := fail.KindOf(cause)
	if j.job.Log == nil {
		return j.stage.Remove(ctx)
	}
	// Incomplete or damaged runs are useless.
	if j.job.Sorted == nil || len(j.job.Sorted.Runs) == 0 || errors.Is(cause, extsort.ErrCorrupt) {
		j.job.EndSpill(j.options.Events)
	}
	if kind != fail.BadRows && kind != fail.Input && kind != fail.Config {
		return nil
	}
	if errors.Is(cause, extsort.ErrMemory) { // an attempt with more memory needs the sorted rows, or the copies of streams
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return j.job.Restart(ctx, j.env, j.yarn().End, j.dropLocal) // the journal names an application until it has ended
}

// dropLocal removes the files of a build on local disk, before the journal that lists them is discarded: another attempt gives its files other names.
func (j *run) dropLocal(context.Context) error {
	if j.local == "" {
		return nil
	}
	return fail.With(fail.Config, os.RemoveAll(j.local))
}

// expected checks the records that were read against the job's expectations. A build without a journal has already done so.
func (j *run) expected(ctx context.Context, m []*manifest.Manifest) error {
	if j.job.Log == nil {
		return nil
	}
	var stale error
	earlier := func(n int) []int64 {
		stale = cmp.Or(stale, checkpoint.Refresh(ctx, j.env, j.options.State.Dir)) // earlier jobs may have run on other hosts
		return earlierRecords(j.job.Dir, j.options.JobFile, n)
	}
	err := build.Met(m, j.spec.Checks(), earlier, j.options.Events)
	return cmp.Or(stale, err)
}

// allBuilt adds the manifests of all tables to the result.
func (j *run) allBuilt(m []*manifest.Manifest) []*built {
	j.result.SetManifests(j.specTargets(), m)
	files := make([]*built, len(m))
	for i := range m {
		files[i] = &built{manifest: m[i]}
	}
	return files
}

// filling is the load and verification of one table, after the tables before it in loading order.
type filling struct {
	run    *run
	target *target
	rows   *loaded
	result *result.Result // the job's result, or that of a further table
}

func (f *filling) load(ctx context.Context, b *built) (err error) {
	j, t := f.run, f.target
	f.result = j.result
	if t.number > 0 {
		f.result = &result.Result{}
	}
	if err := j.job.Turn(t.number, t.Table); err != nil {
		return err
	}
	if t.number > 0 {
		j.options.Events.Note("the next table is loaded", "name", t.Table, "index", t.Index)
	}
	defer f.report()
	if f.rows, err = j.load(ctx, t, b, f.result); err != nil {
		return err
	}
	if t.number == len(j.targets)-1 {
		j.dropStreams()
		j.dropTables(ctx)
	}
	return nil
}

func (f *filling) verify(ctx context.Context) error {
	defer f.report()
	if err := f.run.verifySame(ctx, f.target, f.rows, f.result); err != nil {
		return err
	}
	return f.run.recordVerified(ctx, f.rows.manifest, f.result)
}

// report copies the state of a further table to the job's result.
func (f *filling) report() {
	if n := f.target.number; n > 0 {
		own, r := &f.run.result.Tables[n-1], f.result
		own.Regions, own.LoadTime, own.Verify, own.VerifyTime = r.Regions, r.LoadTime, r.Verify, r.VerifyTime
	}
}

// verifySame compares a table with its manifest. Concurrently it checks that the table is still the one of the plan: if it is not, only that is reported.
func (j *run) verifySame(ctx context.Context, t *target, rows *loaded, r *result.Result) error {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	same := make(chan error, 1)
	go func() {
		err := j.checkUnchanged(ctx, j.job.Plan.At(t.number).Made, t.facts.Name.String(), t.Families(), rows.manifest, fail.Verify)
		if err != nil {
			cancel(err)
		}
		same <- err
	}()
	err := j.verify(reading, rows, j.spec.Verify, r)
	if other := <-same; other != nil {
		r.Verify, r.VerifyTime = nil, 0
		return other
	}
	return err
}

// load loads the files of a table.
func (j *run) load(ctx context.Context, t *target, b *built, r *result.Result) (*loaded, error) {
	if !j.job.AnyLoading() && j.input != nil {
		if err := build.Recheck(ctx, j.input.Source); err != nil {
			return nil, err
		}
	}
	way := loadWay{shared: j.job.History.Plan.Given || j.spec.Timestamp != 0, local: j.spec.Replicate == "no", made: j.job.Plan.At(t.number).Made, copyTo: j.stage.Dir}
	rows, err := j.loadFiles(ctx, t.facts, t.stage, b, way, r)
	j.copying.Wait() // if there was nothing to load
	if err != nil {
		j.job.Fail(ctx, err) // so that the copy includes the failure
		ctx, cancel := cleanup.Context(ctx)
		defer cancel()
		j.job.Publish(ctx, j.stage.Dir, j.options.Events)
	}
	return rows, err
}
