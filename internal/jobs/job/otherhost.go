package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// refuseElsewhere refuses to begin a job that has already begun elsewhere: the staging
// directory has a copy of a journal of the same job, but the journal itself is not
// in the state directory. It is on another machine, or lost. The copy is older than
// the journal, so no process can resume from it, and starting over could load again
// files that are already loaded.
func (j *run) refuseElsewhere(ctx context.Context, mine hdfsio.Location) error {
	if j.others == nil {
		return nil
	}
	fsys, err := j.env.FS(mine)
	if err != nil {
		return err
	}
	parent := path.Dir(mine.Path)
	list, err := j.others()
	if j.streams.Count() > 0 { // reading them took time since the list was made
		list, err = fsys.ReadDir(ctx, parent)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("look for earlier runs of the job in %s: %w", parent, err))
	}
	prefix := j.job.Table + "-"
	for _, info := range list {
		if !info.IsDir() || !strings.HasPrefix(info.Name(), prefix) || !staging.IsName(info.Name()) {
			continue
		}
		trace, err := checkpoint.ReadStaged(ctx, fsys, path.Join(parent, info.Name()))
		if err != nil || trace.ID() != j.job.ID[:checkpoint.StateDigits] && trace.ID() != j.job.Old[:checkpoint.StateDigits] || trace.Status() == checkpoint.JobDone {
			continue // of another job, unreadable, or not to be resumed
		}
		l := mine
		l.Path = path.Join(parent, info.Name())
		return fail.Errorf(fail.Check, "this job was begun at %s, with files in %s, but its journal is not in %s: run it with its %s; if that is lost, give %s, and then clean %s %s %s",
			trace.Last.Format("2006-01-02 15:04:05 MST"), l, j.job.Dir, setting.State, setting.Restart, setting.Job, trace.ID(), setting.Force)
	}
	return nil
}

// listOthers starts to list the directory where the files of a new job will be, concurrently with the request for the table's facts, so that the
// NameNode and HBase's servers are dialed concurrently. The result waits for the list and returns it. A job that resumes, or starts over, needs no
// list: nil.
func listOthers(ctx context.Context, env *cluster.Env, st *checkpoint.Job, o RunOptions) func() ([]fs.FileInfo, error) {
	if st.Log == nil || st.History.Plan != nil || o.State.Restart {
		return nil
	}
	list := sync.OnceValues(func() ([]fs.FileInfo, error) {
		base, err := staging.Base(ctx, env, o.Staging)
		if err != nil {
			return nil, err
		}
		fsys, err := env.FS(base)
		if err != nil {
			return nil, err
		}
		return fsys.ReadDir(ctx, base.Path)
	})
	go list()
	return list
}
