package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// stage is a job's directory on HDFS and the output that writes to it.
type stage struct {
	*staging.Dir
	out build.Output
}

// stageAt creates the directory, or finds it. HBase moves files out of it, so all
// users can write the files and their directories.
func stageAt(ctx context.Context, env *cluster.Env, l hdfsio.Location) (*stage, error) {
	d, err := staging.Make(ctx, env, l)
	if err != nil {
		return nil, err
	}
	return stageIn(d), nil
}

// stageIn returns the stage of an existing directory.
func stageIn(d *staging.Dir) *stage {
	return &stage{Dir: d, out: build.Output{FS: d.FS, Dir: d.Location.Path, FileMode: 0o666, DirMode: 0o777, Identify: true, Made: true}}
}

// stagedBefore returns the staging directory of the plan, which it creates if necessary.
func (j *run) stagedBefore(ctx context.Context) (*stage, error) {
	dir, err := j.job.Stage(ctx, j.env, j.job.Plan.Staging)
	if err != nil {
		return nil, err
	}
	return stageIn(dir), nil
}

// localStage returns a directory on local disk, which it creates if necessary.
func localStage(dir string) (*stage, error) {
	if err := durable.MakePrivateDir(dir); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	return &stage{Dir: &staging.Dir{FS: hdfsio.Local{}, Location: hdfsio.Location{Path: dir}}, out: build.Output{FS: hdfsio.Local{}, Dir: dir}}, nil
}

// baseOf returns the parent of a job's directory, both as URIs.
func baseOf(uri string) string { return uri[:max(0, strings.LastIndexByte(uri, '/'))] }

// moveStaging moves a job that resumes to the staging directory of this attempt's options, as long as it has no files in the one of its plan, which
// may be the reason why an earlier attempt was refused. It removes the directory of the plan first.
func (j *run) moveStaging(ctx context.Context, old history.PlanRecord) error {
	if j.local != "" || j.job.Finished || j.job.Built != nil || j.job.Submission != nil || len(j.job.Written) > 0 || j.job.AnyLoading() {
		return nil
	}
	base, err := staging.Base(ctx, j.env, j.options.Staging)
	if err != nil {
		return err
	}
	dir, err := staging.At(j.env, old.Staging)
	if err != nil || base.String() == baseOf(old.Staging) {
		return err
	}
	if err := j.job.Check(ctx); err != nil {
		return err
	}
	if err := dir.Remove(ctx); err != nil {
		return fail.With(fail.HDFS, err)
	}
	old.Staging = base.Join(path.Base(dir.Location.Path)).String()
	j.options.Events.Note("the staging directory is another one than before", "staging", old.Staging)
	return j.job.Record(history.EventPlan, old)
}

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
		trace, err := status.ReadStaged(ctx, fsys, path.Join(parent, info.Name()))
		if err != nil || trace.ID() != j.job.ID[:history.StateDigits] && trace.ID() != j.job.Old[:history.StateDigits] || trace.Status() == history.JobDone {
			continue // of another job, unreadable, or not to be resumed
		}
		l := mine
		l.Path = path.Join(parent, info.Name())
		return fail.Errorf(fail.Check, "this job was begun at %s, with files in %s, but its journal is not in %s: run it with its %s; if that is lost, give %s, and then %s",
			trace.Last.Format("2006-01-02 15:04:05 MST"), l, j.job.Dir, setting.State, setting.Restart, checkpoint.CleanByForce(trace.ID()))
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

// proveStaged checks the files of a run that are about to be loaded. If the load
// has begun, it checks the files that are still at their sources.
func (j *run) proveStaged(ctx context.Context, st *stage, m *manifest.Manifest) error {
	log := j.job
	var work []filecheck.Target
	if !log.Loading {
		for _, f := range m.Files {
			work = append(work, filecheck.Target{File: f, Path: path.Join(st.out.Dir, f.Name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(log.Leaves)) {
		if f, at := log.Leaves[name], log.Files[name]; log.Loading && at != history.FileLoaded {
			file := manifest.File{Name: name, Family: f.Family, FirstRow: f.First, LastRow: f.Last, Cells: f.Cells, Bytes: f.Size, CRC32C: cmp.Or(f.CRC32C, log.ChecksumOf(f.FileID, f.Size))}
			work = append(work, filecheck.Target{File: file, Path: pathOf(f.Path), MayBeGone: at == history.FileSent})
		}
	}
	damaged, err := (&filecheck.Checker{FS: st.out.FS, Gate: j.options.Gate, Events: j.options.Events}).All(ctx, work)
	if errors.Is(err, fs.ErrNotExist) && log.Loading && log.History.Undo == nil { // an undo writes them again
		return fail.With(fail.HDFS, setting.Errorf("files to be loaded were removed: %w: put them back into %s, or load all again with %s", err, st.Location, setting.Restart))
	}
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("read the files before they are loaded: %w", err))
	}
	if len(damaged) == 0 {
		return nil
	}
	var errs []error
	for _, i := range slices.Sorted(maps.Keys(damaged)) {
		errs = append(errs, damaged[i])
	}
	if !log.Loading {
		return fail.With(fail.HDFS, fmt.Errorf("nothing was loaded: %w; the same command writes damaged files again", errors.Join(errs...)))
	}
	again := setting.Textf("; %s loads all of the input again", setting.Restart)
	if log.History.Undo != nil { // it writes them again
		again = setting.Text{}
	}
	return fail.With(fail.Load, setting.Errorf("the load stopped half way: %w; restore the files and run the same command again%s", errors.Join(errs...), again))
}

// proveDir checks the files of a directory that is to be loaded, and fills in the
// checksums of the files that it has read. Local files with a known checksum are
// checked while they are uploaded.
func proveDir(ctx context.Context, out build.Output, files []manifest.File, local bool, o LoadOptions) error {
	var work []filecheck.Target
	var which []int
	for i, f := range files {
		if !local || f.CRC32C == 0 {
			work, which = append(work, filecheck.Target{File: f, Path: path.Join(out.Dir, f.Name)}), append(which, i)
		}
	}
	damaged, err := (&filecheck.Checker{FS: out.FS, Gate: o.Gate, Events: o.Events}).All(ctx, work)
	if err != nil {
		return fail.With(fail.Input, err)
	}
	var list []*filecheck.DamagedError
	for i := range work {
		if d := damaged[i]; d != nil {
			list = append(list, d)
		}
		f := &files[which[i]]
		if f.CRC32C = work[i].CRC32C; !local {
			f.FileID = work[i].ID
		}
	}
	if len(list) > 0 {
		return refuse(out.Dir, list)
	}
	return nil
}

// maxRefused is the maximum number of damaged files that a message names.
const maxRefused = 5

// refuse returns the error of a load with damaged files.
func refuse(dir string, damaged []*filecheck.DamagedError) error {
	var errs []error
	slices.SortFunc(damaged, func(a, b *filecheck.DamagedError) int { return cmp.Compare(a.Path, b.Path) })
	for _, d := range damaged[:min(len(damaged), maxRefused)] {
		errs = append(errs, d)
	}
	if more := len(damaged) - maxRefused; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more are damaged", more))
	}
	return fail.With(fail.Input, setting.Errorf("nothing of %s was loaded: %w; build or copy the files again (bulkload hfile check FILE says what is wrong; %s loads them unchecked)",
		dir, errors.Join(errs...), setting.TrustFiles))
}
