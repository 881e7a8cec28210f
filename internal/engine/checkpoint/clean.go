package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/table"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/exportdir"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// CleanOptions are the options of Clean.
type CleanOptions struct {
	State     string        // directory of all jobs' state
	Staging   string        // directory on HDFS with the jobs' staging directories, default [staging.Base]
	Job       string        // only this job, whatever its age: the name of its directory below State, or the twelve digits at its end
	OlderThan time.Duration // jobs that changed more recently stay; default 7 days
	Force     bool          // also jobs with files that HBase may or may not have taken
	Remove    bool          // remove; default: only report what would be removed
	// EndYARN ends the YARN job with a tag, which may have ended before, and returns when it has ended. Default: jobs with a YARN job are kept.
	EndYARN func(ctx context.Context, tag string) error
}

// DefaultCleanAge is the default age of jobs that are removed, unless a job is named.
const DefaultCleanAge = 7 * 24 * time.Hour

// Leftover is a directory left by a job.
type Leftover struct {
	Kind    string         `json:"kind"` // state, on this machine, or staging, on HDFS
	Path    string         `json:"path"`
	Job     string         `json:"job,omitempty"` // name of its state directory; empty if that is not on this machine
	Table   string         `json:"table,omitempty"`
	Status  history.Status `json:"status"`
	Last    time.Time      `json:"last"`   // last change
	Bytes   int64          `json:"bytes"`  // size of its files
	Remove  bool           `json:"remove"` // it was removed, or would be
	Because setting.Text   `json:"because"`
}

// Cleaning is the result of Clean.
type Cleaning struct {
	Schema  int        `json:"schema"`  // version of this format: 1
	Removed bool       `json:"removed"` // false: nothing was removed; Dirs lists what would be
	Dirs    []Leftover `json:"dirs"`
}

// Clean finds the directories that jobs have left on this machine and in the staging directory on HDFS, and removes those of finished and abandoned
// jobs. It does not touch directories without the marks of this program, or jobs that are running here. Unless Force is set, it keeps jobs with files
// whose outcome in HBase is unknown, since removing those may lose rows. If there is an error, the list has the directories up to there.
func Clean(ctx context.Context, env *cluster.Env, o CleanOptions) (*Cleaning, error) {
	o.OlderThan = cmp.Or(o.OlderThan, DefaultCleanAge)
	c := &cleaner{env: env, options: o, now: time.Now(), seen: map[string]bool{}, result: &Cleaning{Schema: 1, Removed: o.Remove}}
	var err error
	if c.shared, err = dialShared(ctx, env, o.State); err != nil {
		return nil, err
	}
	if c.shared != nil {
		defer c.shared.Close()
	}
	return c.result, errors.Join(c.states(ctx, ""), c.states(ctx, LocksDir), c.stagings(ctx), c.unclaimed(ctx))
}

// cleaner is the state of one call of Clean.
type cleaner struct {
	env     *cluster.Env
	options CleanOptions
	now     time.Time
	seen    map[string]bool  // directories on HDFS of jobs with state on this machine, by URI
	id      string           // of the cluster of HBase; empty: not asked for yet
	idErr   error            // of the first request for it
	shared  *loader.Cluster  // cluster with the jobs' shared state; nil: not shared
	silent  map[string]error // file systems that did not answer, by their addresses
	result  *Cleaning
}

// wanted reports whether a job's directory is selected.
func (c *cleaner) wanted(name string) bool {
	return status.IsJobDir(name) && (c.options.Job == "" || name == c.options.Job || strings.HasSuffix(name, "-"+c.options.Job))
}

// states checks the jobs of this machine, or with [LocksDir] the locks of runs by directory.
func (c *cleaner) states(ctx context.Context, below string) error {
	list, err := os.ReadDir(filepath.Join(c.options.State, below))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail.With(fail.Config, err)
	}
	var errs []error
	for _, d := range list {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		if d.IsDir() && c.wanted(d.Name()) {
			if err := c.state(ctx, filepath.Join(below, d.Name())); err != nil {
				errs = append(errs, fmt.Errorf("job %s: %w", d.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// state checks one job of this machine. It holds the lock while it removes the job, so that no run of the job can begin. Directories on HDFS are
// removed first: if that fails, the journal that names them still exists.
func (c *cleaner) state(ctx context.Context, name string) (err error) {
	dir := filepath.Join(c.options.State, name)
	read := status.ReadTrace
	if filepath.Dir(name) == LocksDir {
		read = lockTrace
	}
	trace, err := read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no journal: not a job's directory
	}
	if err != nil {
		return err
	}
	c, end := c.onCluster(trace.Planned().Conf)
	defer func() { err = errors.Join(err, end()) }()
	left := Leftover{Kind: "state", Path: dir, Job: name, Table: trace.Planned().Table, Status: trace.Status(), Last: trace.Last}
	lock := newLock(ctx, dir)
	err = c.hold(ctx, lock, left, trace)
	release := lock.Release
	holder, running := holderOf(err)
	switch {
	case running:
		left.Status, left.Because = history.JobRunning, setting.Plain("it is running: "+strings.Join(strings.Fields(holder), " "))
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, release()) }()
		if lock.owner != nil || c.shared == nil { // it may have continued before the lock was taken
			if trace, err = read(dir); err != nil {
				return err
			}
			left.Status, left.Last = trace.Status(), trace.Last
		}
	}
	if left.Bytes, err = treeSize(dir); err != nil {
		return err
	}
	for _, r := range trace.Resources() {
		if r.Kind == history.ResourceSpill || r.Kind == history.ResourceStream {
			if n, err := treeSize(r.Name); err == nil {
				left.Bytes += n
			}
		}
	}
	c.decide(&left, trace)
	elsewhere, err := c.elsewhere(ctx, &left, trace)
	if err == nil {
		err = c.endYARN(ctx, &left, trace)
	}
	err = errors.Join(err, c.stagingOf(ctx, &left, trace)) // the directory of a job that is kept is known, too
	if err == nil && !elsewhere {
		err = c.preparedOf(ctx, &left, trace)
	}
	if left.Remove && c.options.Remove {
		var e error
		for _, r := range trace.Resources() {
			if !elsewhere || !r.InHBase() {
				e = errors.Join(e, c.remove(ctx, dir, &left, r))
			}
		}
		if e == nil {
			release, e = lock.remove, os.RemoveAll(dir)
		}
		if left.Remove && e != nil {
			left.Remove, left.Because = false, setting.Plain("it was not removed")
		}
		err = e
	}
	c.result.Dirs = append(c.result.Dirs, left)
	return err
}

// hold takes the lock of a job. A job with shared state is not taken from a process that is silent for a while only to keep it: the process's own
// reports say whether it runs.
func (c *cleaner) hold(ctx context.Context, lock *Lock, left Leftover, trace *status.Trace) (err error) {
	if c.decide(&left, trace); c.shared == nil || left.Remove && c.options.Remove {
		return lock.try(ctx, c.shared, progress.Events{})
	}
	if o, err := journal.LastOwner(lock.dir); err == nil && status.OwnerAlive(o, status.ReadLive(lock.dir), c.now) {
		return &statetable.BusyError{Holder: statetable.Holder{PID: o.PID, Host: o.Host, Since: o.Since}}
	}
	lock.file, err = journal.TryLock(lock.dir)
	return err
}

// endYARN ends the YARN job of a job that is removed, before the job's directory is removed. With Force, a YARN job that cannot be ended does not
// keep the directory.
func (c *cleaner) endYARN(ctx context.Context, left *Leftover, trace *status.Trace) error {
	for _, r := range trace.Resources() {
		if r.Kind != history.ResourceYARN || !left.Remove || !c.options.Remove {
			continue
		}
		err := errors.New("YARN was not asked")
		if c.options.EndYARN != nil {
			err = c.options.EndYARN(ctx, r.Name)
		}
		if err != nil && !c.options.Force {
			left.Remove, left.Because = false, setting.Textf("its job on YARN, %s, has not ended (%s removes the state nevertheless)", r.Name, setting.Force)
			return err
		}
	}
	return nil
}

// remove removes a resource of a job, except for staging directories on HDFS.
func (c *cleaner) remove(ctx context.Context, dir string, job *Leftover, r history.Resource) error {
	switch r.Kind {
	case history.ResourceSpill, history.ResourceStream:
		return build.RemoveSpill(dir, r.Name)
	case history.ResourceSnapshot:
		return onClusterOf(ctx, c.env, r.Snapshot, func(ctx context.Context, hbase *loader.Cluster) error { return deleteSnapshot(ctx, hbase, r.Snapshot) })
	case history.ResourceCuts, history.ResourceExport:
		return c.removeOutput(ctx, job, r)
	case history.ResourceOffline:
		return withCluster(ctx, c.env, func(ctx context.Context, hbase *loader.Cluster) error {
			name, err := loader.ParseTableName(r.Table)
			if err != nil {
				return err
			}
			return table.SetService(ctx, hbase, name, true)
		}, 1)
	case history.ResourceQuiet:
		return withCluster(ctx, c.env, func(ctx context.Context, hbase *loader.Cluster) error {
			if err := giveBack(ctx, hbase, r.Quiet); err != nil {
				return fmt.Errorf("%w (%s)", err, shellLine(r.Quiet))
			}
			return nil
		}, 1)
	}
	return nil
}

// removeExport removes the output of an export from a directory, if the export still owns the directory.
func removeExport(ctx context.Context, env *cluster.Env, dir, token string) error {
	fsys, name, err := env.Resolve(dir)
	if err != nil {
		return err
	}
	d, err := exportdir.Held(ctx, fsys, name, token)
	if err == nil && d != nil {
		err = d.Remove(ctx)
	}
	return fail.With(fail.HDFS, err)
}

// decide sets whether a leftover is removed, and the reason.
func (c *cleaner) decide(left *Leftover, trace *status.Trace) {
	age := c.now.Sub(left.Last)
	switch {
	case left.Status == history.JobRunning:
	case trace.Broken != nil && !c.options.Force:
		left.Because = setting.Textf("its outcome is unknown: %s (%s removes it, and may lose rows)", strings.Join(strings.Fields(trace.Broken.Error()), " "), setting.Force)
	case trace.UndoRunning() && !c.options.Force:
		left.Because = setting.Textf("its undo is under way: run bulkload undo again (%s removes the state of both)", setting.Force)
	case left.Status == history.JobUnresolved && !c.options.Force:
		left.Because = setting.Textf("%s sent and the outcome is unknown: run the job again, which resolves it (%s removes them, and may lose rows)", setting.Count(len(trace.Unresolved()), "file"), setting.Force)
	case age < c.options.OlderThan && (c.options.Job == "" || left.Job == "" && !c.options.Force):
		// Whether a job of another machine runs is unknown, so naming the job is not enough.
		left.Because = setting.Textf("last changed %s ago; kept (%s)", roundAge(age), setting.OlderThan)
	default:
		left.Remove = true
		left.Because = setting.Plain("last changed " + roundAge(age) + " ago")
		if c.options.Job != "" {
			left.Because = setting.Plain("it was named")
		}
	}
}

// roundAge formats a duration in its largest unit.
func roundAge(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// treeSize returns the total size of the files below a directory.
func treeSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// lockTrace returns the trace of a directory in [LocksDir]: that of a finished job, as old as the directory.
func lockTrace(dir string) (*status.Trace, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	return &status.Trace{History: history.History{Finished: true, Last: info.ModTime()}}, nil
}
