package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/pkg/setting"
)

// Stage creates the staging directory recorded in the journal, or finds it. If another process has taken over the job while this one was suspended, and
// the job's journal does not name the directory any more, Stage removes the directory that it has created.
func (st *Job) Stage(ctx context.Context, env *cluster.Env, uri string) (*staging.Dir, error) {
	if err := st.Check(ctx); err != nil {
		return nil, err
	}
	at, err := staging.At(env, uri)
	if err != nil {
		return nil, err
	}
	dir, err := staging.Make(ctx, env, at.Location)
	if lost := st.Check(ctx); lost != nil {
		st.giveUp(ctx, at, uri, lost)
		if err == nil {
			err = lost
		}
	}
	return dir, err
}

// giveUp removes a staging directory that this process may have created after it lost the job, unless the journal, as it is now, names the directory.
func (st *Job) giveUp(ctx context.Context, at *staging.Dir, uri string, cause error) {
	if _, lost := errors.AsType[*statetable.LostError](cause); !lost {
		return
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	now, err := st.lock.owner.Now(ctx)
	if err != nil {
		return
	}
	records, err := journal.Read(bytes.NewReader(textOf(now)))
	if err != nil {
		return
	}
	h, err := history.Of(records)
	named := func(r history.Resource) bool { return r.Kind == history.ResourceStaging && r.Name == uri }
	ended := err == nil && h.Finished && (h.RemovesStaging() || h.StagingEnd == history.StagingGone) && h.Plan != nil && h.Plan.Staging == uri
	if err != nil || !ended && slices.ContainsFunc(h.Resources(), named) {
		return
	}
	_ = at.FS.Remove(ctx, at.Location.Path) // fails if it has files
}

// EndStaging removes the staging directory of a job that is done, if a process was killed between the end and the removal. A directory that the job
// was to keep stays, and so does the directory of another version's job, which does not record whether to keep it.
func (st *Job) EndStaging(ctx context.Context, env *cluster.Env, e progress.Events) {
	if st.RemovesStaging() && st.Plan.Staging != "" {
		st.endedStaging(removeStaging(ctx, env, st.Plan.Staging), e)
	}
}

// endedStaging records that the staging directory of a finished job is removed, unless there was an error, which is only a warning.
func (st *Job) endedStaging(err error, e progress.Events) {
	WarnLeft(e, st.Plan.Staging, err)
	if err != nil || st.StagingEnd != history.StagingRemoving {
		return
	}
	if err := st.Record(history.EventCleaned, history.TokenRecord{Token: st.Plan.Staging}); err != nil {
		e.Warn("the removal of the staging directory could not be recorded", "path", st.Plan.Staging, "error", err)
	}
}

// DropStaging removes a staging directory, given by its URI in a journal. A failure is only a warning.
func DropStaging(ctx context.Context, env *cluster.Env, uri string, e progress.Events) {
	WarnLeft(e, uri, removeStaging(ctx, env, uri))
}

func removeStaging(ctx context.Context, env *cluster.Env, uri string) error {
	dir, err := staging.At(env, uri)
	if err != nil {
		return err
	}
	return dir.Remove(ctx)
}

// WarnLeft warns that a staging directory was not removed because of err, if err is not nil.
func WarnLeft(e progress.Events, path string, err error) {
	if err != nil {
		e.Warn("staging directory is left behind", "path", path, "error", err)
	}
}

// discardStaging removes the staging directories of a job that starts over, and returns their names. A directory on a NameNode that is not HBase's, and
// does not answer, is returned apart: it belongs to the job until clean removes it. That is refused if HBase may have files of it.
func (st *Job) discardStaging(ctx context.Context, env *cluster.Env) (removed, left []string, err error) {
	all := st.LeftStaging
	if st.Plan != nil && (!st.Finished || st.RemovesStaging()) { // the process may have been killed before the removal
		all = append(slices.Clip(all), st.Plan.Staging)
	}
	for _, uri := range all {
		err := removeWithProbe(ctx, env, uri)
		switch {
		case err == nil:
			removed = append(removed, uri)
		case ctx.Err() != nil || !isGone(env, uri, err):
			return nil, nil, fail.With(fail.HDFS, fmt.Errorf("remove what the job left in %s: %w", uri, err))
		case len(st.Unresolved()) > 0 && !slices.Contains(st.LeftStaging, uri):
			return nil, nil, fail.Errorf(fail.HDFS, "HBase may have files of %s: %w (if that HDFS is gone: %s, then run again)", uri, unadvised(err), CleanByForce(filepath.Base(st.Dir)))
		default:
			env.Log.Warn("staging directory is left behind: clean removes it when its HDFS answers", "path", uri, "error", unadvised(err))
			left = append(left, uri)
		}
	}
	return removed, left, nil
}

// isGone reports whether a directory could not be removed, because of err, since its NameNode is not HBase's, and does not answer or has no address.
func isGone(env *cluster.Env, uri string, err error) bool {
	l, noAddress := env.Conf.Resolve(uri)
	if noAddress != nil {
		return true
	}
	own, unknown := env.Conf.Resolve(cmp.Or(cluster.Root(env.Conf), "hdfs:///"))
	return unanswered(err) && (unknown != nil || fsKey(own) != fsKey(l))
}

// removeWithProbe removes a staging directory, given by its URI in a journal, and the directory for the checks of its job. It leaves anything else.
func removeWithProbe(ctx context.Context, env *cluster.Env, uri string) error {
	if uri == "" {
		return nil
	}
	l, err := env.Conf.Resolve(uri)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	if l.Local() || !staging.IsName(path.Base(l.Path)) {
		return nil
	}
	fsys, err := env.FS(l)
	if err != nil {
		return err
	}
	if err := fsys.RemoveAll(ctx, l.Path); err != nil {
		return err
	}
	return fsys.RemoveAll(ctx, path.Join(path.Dir(l.Path), staging.ProbeOf(l.Path)))
}

// CheckCopy returns an error if the copy of the journal in the job's staging directory records a load that the journal does not: the journal has lost
// records, such as one from an older backup, and files that HBase has would be built and loaded again.
func (st *Job) CheckCopy(ctx context.Context, stage *staging.Dir) error {
	if st.Log == nil || st.AnyLoading() {
		return nil
	}
	t, err := status.ReadStaged(ctx, stage.FS, stage.Location.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !t.AnyLoading() {
		return nil
	}
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	return fail.Errorf(fail.Check, "the journal in %s lacks the load that its copy in %s has: restore it; if it is lost, give %s, which loads everything again", st.Dir, stage.Location, setting.Restart)
}
