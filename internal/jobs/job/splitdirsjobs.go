package job

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
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
func (p *parts) matches(h checkpoint.History, i int) bool {
	s, was := p.partSpec(i), h.Plan
	now := was.Asked(s)
	if h.Finished { // nothing is loaded by a setting that is no longer given
		now.Timestamp, now.Modulus = cmp.Or(now.Timestamp, was.Timestamp), cmp.Or(now.Modulus, was.Modulus)
	}
	if was.Reading != nil && h.Allows(now.Reading) {
		now.Reading.BadRecords = was.Reading.BadRecords
	}
	at, err := p.env.Places(s.Inputs)
	if err != nil {
		return false
	}
	for _, f := range p.dirs[i].Files {
		r := checkpoint.InputRecordOf(f)
		r.Place = at[0](f.Name)
		now.Inputs = append(now.Inputs, r)
	}
	return was.Same(now) == nil
}

// stateDir returns the directory of a part's state.
func (p *parts) stateDir(i int) (string, error) {
	id, err := checkpoint.Identify(p.env, p.partSpec(i), p.options.State.JobID)
	return p.options.State.StateDir(id.On(p.cluster)), err
}
