package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// directories returns the parts of a spec's inputs.
func directories(ctx context.Context, env *cluster.Env, s spec.Job) ([]source.Directory, error) {
	err := streams.Refuse(ctx, env.Source, s.Inputs, nil, "a job for each directory")
	if err == nil && s.Expect != nil {
		err = fail.Errorf(fail.Config, "%s counts all records, but each directory is a separate job: leave it out", setting.Expect)
	}
	if err != nil {
		return nil, err
	}
	dirs, err := source.Directories(ctx, env.Source, s.Inputs, source.Options{AllowEmpty: s.AllowEmpty})
	if err != nil {
		return nil, fail.With(fail.Input, fmt.Errorf("split by directory: %w", err))
	}
	if len(dirs) == 0 && !s.AllowEmpty {
		return nil, fail.Errorf(fail.Input, "split by directory: the inputs hold no files")
	}
	return dirs, nil
}

// lockParts excludes other runs over the same inputs, if there is a state
// directory. The lock has its own directory.
func lockParts(ctx context.Context, env *cluster.Env, c *loader.Cluster, s spec.Job, cluster string, o checkpoint.Options, e progress.Events) (dir string, lock *checkpoint.Lock, err error) {
	if o.Dir == "" {
		return "", nil, nil
	}
	id, err := checkpoint.Identify(env, s, "split by directory\x00"+o.JobID)
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(o.Dir, checkpoint.LocksDir, id.On(cluster).Name())
	lock, _, err = checkpoint.LockNew(ctx, c, dir, o.LockWait, e)
	return dir, lock, err
}

// clusterOf returns the connected cluster and its id; nil if there is no state
// directory.
func clusterOf(ctx context.Context, env *cluster.Env, o checkpoint.Options) (c *loader.Cluster, id string, err error) {
	if o.Dir == "" {
		return nil, "", nil
	}
	if err := o.MakeDir(); err != nil {
		return nil, "", err
	}
	if c, err = env.Dial(ctx); err != nil {
		return nil, "", err
	}
	id, err = c.ID(ctx)
	return c, id, cluster.Failure(err)
}

// matches reports whether a plan has exactly the current files of a part, and the
// current settings of the spec.
func (p *parts) matches(h history.History, i int) bool {
	s, was := p.partSpec(i), h.Plan
	now := was.Asked(s)
	if h.Finished { // nothing is loaded by a setting that is no longer given
		now.Timestamp, now.Modulus = cmp.Or(now.Timestamp, was.Timestamp), cmp.Or(now.Modulus, was.Modulus)
	}
	at, err := p.env.Places(s.Inputs)
	if err != nil {
		return false
	}
	for _, f := range p.dirs[i].Files {
		r := history.InputRecordOf(f)
		r.Place = at[0](f.Name)
		now.Inputs = append(now.Inputs, r)
	}
	return h.SamePlan(now) == nil
}

// stateDir returns the directory of a part's state.
func (p *parts) stateDir(i int) (string, error) {
	id, err := checkpoint.Identify(p.env, p.partSpec(i), p.options.State.JobID)
	return p.options.State.StateDir(id.On(p.cluster)), err
}

// restartName is the name of the file, in the directory of the parts, that is there while a restart discards their checkpoints.
const restartName = "restart"

// restart discards the checkpoints of all parts before the first of them begins, so that a run that is interrupted resumes without
// [checkpoint.Options.Restart]. It looks at all parts before the first checkpoint is discarded; look refuses one that could not begin. A restart that was
// interrupted while it discarded them is completed by the next run.
func (p *parts) restart(ctx context.Context, look func(context.Context, int, *checkpoint.Job) error) error {
	if p.options.State.Dir == "" {
		return nil
	}
	begun := filepath.Join(p.result.Job, restartName)
	_, err := os.Stat(begun)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail.With(fail.Config, err)
	}
	if !p.options.State.Restart && err != nil {
		return nil
	}
	own := p.options.Snapshot == ""
	if err := p.eachBegun(ctx, func(ctx context.Context, i int, st *checkpoint.Job) error {
		own = own || st.KeptSnapshot().Snapshot == p.options.Snapshot
		return look(ctx, i, st)
	}); err != nil {
		return err
	}
	if !own {
		if err := snapshotFree(ctx, p.conn, &checkpoint.Job{}, p.options.Snapshot, true); err != nil {
			return err
		}
	}
	if err := progress.Pass(ctx, p.options.Gate); err != nil {
		return err
	}
	if err := durable.Replace(begun, nil); err != nil {
		return fail.With(fail.Config, err)
	}
	if err := p.eachBegun(ctx, func(ctx context.Context, _ int, st *checkpoint.Job) error {
		return st.Restart(ctx, p.env, OnYARN{Env: p.env, Journal: st}.End)
	}); err != nil {
		return err
	}
	p.options.State.Restart = false // the parts have none that is older
	return fail.With(fail.Config, os.Remove(begun))
}

// eachBegun calls do with the job of each part that has a journal.
func (p *parts) eachBegun(ctx context.Context, do func(context.Context, int, *checkpoint.Job) error) error {
	for i := range p.dirs {
		dir, err := p.stateDir(i)
		if err != nil {
			return err
		}
		switch _, err := os.Stat(filepath.Join(dir, journal.FileName)); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fail.With(fail.Config, err)
		}
		if err := p.open(ctx, i, do); err != nil {
			return p.errorOf(i, err)
		}
	}
	return nil
}

// open calls do with the job of a part, whose lock is held meanwhile.
func (p *parts) open(ctx context.Context, i int, do func(context.Context, int, *checkpoint.Job) error) (err error) {
	id, err := checkpoint.Identify(p.env, p.partSpec(i), p.options.State.JobID)
	if err != nil {
		return err
	}
	st, err := checkpoint.Open(ctx, p.conn, id.On(p.cluster), p.options.State, progress.Events{})
	if err != nil {
		return err
	}
	ctx, end := st.Work(ctx)
	defer end(&err, nil)
	return do(ctx, i, st)
}

// look refuses to start a part over that could not begin, as [begin] does.
func (p *parts) look(ctx context.Context, i int, st *checkpoint.Job) error {
	o := p.partOptions(i)
	if _, _, _, err := accepted(p.env, p.partSpec(i), o); err != nil {
		return err
	}
	if err := undone(st.Dir, &st.History, true, o.afterUndo()); err != nil || st.Plan == nil {
		return err
	}
	return rehearsed(ctx, p.env, p.conn, st, p.partSpec(i), nil, o)
}

// total adds up the parts: all that are done, and those that this run has done. Fields that differ between parts are left out.
func (p *parts) total() {
	t := p.result
	before := 0
	for _, part := range t.Parts {
		if part.Status == result.PartAlready {
			before++
		}
	}
	t.Already = len(t.Parts) > 0 && before == len(t.Parts)
	p.sum(t, result.PartDone, result.PartAlready)
	if !t.Already {
		t.DoneAt = time.Time{}
	}
	if before > 0 && !t.Already {
		t.Now = new(*t)
		p.sum(t.Now, result.PartDone)
		t.Now.DoneAt = time.Time{}
	}
}

// sum sets t to the totals of the parts with one of the statuses.
func (p *parts) sum(t *result.Result, of ...result.PartStatus) {
	var first tableTotal
	var further []tableTotal
	for i, r := range p.results {
		if r == nil || !slices.Contains(of, t.Parts[i].Status) {
			continue
		}
		t.Table = r.Table
		if r.DoneAt.After(t.DoneAt) {
			t.DoneAt = r.DoneAt
		}
		if t.Parts[i].Status == result.PartDone || r.Snapshot == p.options.Snapshot { // else of a part that an earlier run has loaded
			t.Snapshot = cmp.Or(t.Snapshot, r.Snapshot)
		}
		first.add(result.Table{Manifest: r.Manifest, Regions: r.Regions, LoadTime: r.LoadTime, Verify: r.Verify})
		for n, own := range r.Tables {
			if n == len(further) {
				further = append(further, tableTotal{Table: result.Table{Table: own.Table, Index: own.Index}})
			}
			further[n].add(own)
		}
	}
	t.Manifest, t.Regions, t.LoadTime, t.Verify = first.Manifest, first.Regions, first.LoadTime, first.Verify
	t.Tables = nil
	for _, own := range further {
		t.Tables = append(t.Tables, own.Table)
	}
}

// tableTotal has the totals of the parts for one table.
type tableTotal struct{ result.Table }

// add adds the counts of one part. It does not modify r.
func (t *tableTotal) add(r result.Table) {
	t.Regions = max(t.Regions, r.Regions)
	t.LoadTime += r.LoadTime
	t.VerifyTime += r.VerifyTime
	if r.Manifest != nil {
		if t.Manifest == nil {
			t.Manifest = &manifest.Manifest{}
		}
		t.Manifest.Add(r.Manifest)
	}
	if r.Verify != nil {
		t.Verify = t.Verify.Add(r.Verify)
	}
}
