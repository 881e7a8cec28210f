package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
	"bulkload/pkg/staging"
)

// elsewhere refuses to begin a job that was begun already: where its files
// will be there is the copy of a journal of the same job, but the journal
// itself is not in the state directory. It is on another machine, or lost.
// The copy is older than the journal, so nobody can resume from it, and to
// start over would load again what may be loaded.
func (j *run) elsewhere(ctx context.Context, mine hdfsio.Location) error {
	if j.st.Log == nil || j.o.State.Restart {
		return nil
	}
	fsys, err := j.env.FS(mine)
	if err != nil {
		return err
	}
	parent := path.Dir(mine.Path)
	list, err := fsys.ReadDir(ctx, parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		kind := fail.HDFS
		if cluster.OtherSecurity(err) {
			kind = fail.Check
		}
		return fail.With(kind, fmt.Errorf("look for earlier runs of the job in %s: %w", parent, err))
	}
	prefix := j.st.Table + "-"
	for _, info := range list {
		if !info.IsDir() || !strings.HasPrefix(info.Name(), prefix) || !staging.IsName(info.Name()) {
			continue
		}
		trace, err := checkpoint.ReadStaged(ctx, fsys, path.Join(parent, info.Name()))
		if err != nil || trace.ID() != j.st.ID[:checkpoint.StateDigits] && trace.ID() != j.st.Old[:checkpoint.StateDigits] || trace.Status() == checkpoint.JobDone {
			continue // another's, which cannot be read, or one that is not to be resumed
		}
		l := mine
		l.Path = path.Join(parent, info.Name())
		return fail.Errorf(fail.Check, "this job was begun already, and at %s its files were built in %s, but its journal is not in %s: "+
			"run it where that is, with the same %s; if it is lost, %s loads all of it again, and clean %s %s %s removes those files",
			trace.Last.Format("2006-01-02 15:04:05 MST"), l, j.st.Dir, setting.State, setting.Restart, setting.Job, trace.ID(), setting.Force)
	}
	return nil
}
