package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// stagingOf removes the directories on HDFS that a job's journal names, when
// the job itself is removed. The error says why one still exists, or may exist.
func (c *cleaner) stagingOf(ctx context.Context, job *Leftover, trace *status.Trace) error {
	var errs []error
	decided := *job
	if trace.Planned().Staging != "" { // even one that was removed: another job's directory may have its name
		errs = append(errs, c.stagingAt(ctx, job, decided, trace.Planned().Staging, trace.Finished && (trace.StagingEnd == history.StagingRemoved || trace.StagingEnd == history.StagingGone)))
	}
	for _, r := range trace.Resources() {
		if r.Kind == history.ResourceStaging && r.Name != trace.Planned().Staging {
			errs = append(errs, c.stagingAt(ctx, job, decided, r.Name, false))
		}
	}
	return errors.Join(errs...)
}

// stagingAt is stagingOf for one directory, which the journal may call removed. decided is the job before any directory was looked at.
func (c *cleaner) stagingAt(ctx context.Context, job *Leftover, decided Leftover, uri string, removed bool) error {
	l, err := c.env.Conf.Resolve(uri)
	if err != nil {
		return c.leave(ctx, job, uri, err)
	}
	c.seen[l.URI()] = true
	if l.Local() || !staging.IsName(path.Base(l.Path)) {
		switch {
		case !job.Remove:
			return nil
		case c.options.Force:
			return c.leave(ctx, job, uri, errors.New("it is not a staging directory"))
		}
		job.Remove, job.Because = false, setting.Plain("its directory on HDFS was not removed")
		return setting.Errorf("its journal names %s, which is not a staging directory: remove it by hand (then %s removes the state)", uri, setting.Force)
	}
	fsys, seen, err := c.look(ctx, l)
	if removed && unanswered(err) && ctx.Err() == nil {
		if job.Remove {
			job.Because = setting.Textf("%s; its journal says that %s was removed, and HDFS does not answer", job.Because, uri)
		}
		return nil
	}
	if err != nil {
		return c.leave(ctx, job, uri, err)
	}
	if seen == nil {
		return nil
	}
	left := decided
	left.Kind, left.Path, left.Bytes = "staging", l.String(), seen.bytes
	if err := c.removeStaging(ctx, fsys, l.Path, left); err != nil {
		job.Remove, job.Because = false, setting.Plain("its directory on HDFS was not removed")
		return err
	}
	return nil
}

// removeStaging removes a directory on HDFS, if left says so, and lists it.
func (c *cleaner) removeStaging(ctx context.Context, fsys hdfsio.FS, name string, left Leftover) (err error) {
	if left.Remove && c.options.Remove {
		if err = fsys.RemoveAll(ctx, name); err != nil {
			left.Remove, left.Because = false, setting.Plain("it was not removed")
			err = fail.With(fail.HDFS, err)
		}
	}
	c.result.Dirs = append(c.result.Dirs, left)
	return err
}

// stagings cleans the directories on HDFS that no job of this machine
// names: those of other machines, and of jobs whose state was lost.
func (c *cleaner) stagings(ctx context.Context) error {
	user, err := c.env.User()
	if err != nil {
		return fail.With(fail.Config, err)
	}
	l, err := staging.Base(ctx, c.env, c.options.Staging)
	if err != nil {
		return err
	}
	fsys, err := c.fs(l)
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("%s: %w", l, err))
	}
	list, err := fsys.ReadDir(ctx, l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		c.heard(ctx, l, err)
		return fail.With(fail.HDFS, err)
	}
	var errs []error
	for _, info := range list {
		if !info.IsDir() || c.seen[l.Join(info.Name()).URI()] || !ownedBy(info, user) {
			continue
		}
		if staging.IsName(info.Name()) || staging.IsProbe(info.Name()) {
			errs = append(errs, c.cleanUnknown(ctx, fsys, l.Join(info.Name())))
		}
	}
	return errors.Join(errs...)
}

// cleanUnknown cleans a directory on HDFS without a state directory here. Its copy of
// the journal, if there is one, describes the job.
func (c *cleaner) cleanUnknown(ctx context.Context, fsys hdfsio.FS, l hdfsio.Location) error {
	seen, err := lookAround(ctx, fsys, l.Path)
	if err != nil || seen == nil { // its job has ended meanwhile
		return fail.With(fail.HDFS, err)
	}
	left := Leftover{Kind: "staging", Path: l.String(), Status: history.JobUnknown, Last: seen.last, Bytes: seen.bytes}
	trace, err := status.ReadStaged(ctx, fsys, l.Path)
	switch {
	case err == nil:
		left.Table, left.Status = trace.Planned().Table, trace.Status()
		left.mayRun(trace)
	case errors.Is(err, fs.ErrNotExist):
		trace = &status.Trace{} // its job was killed before it had a copy here
	default:
		return fmt.Errorf("%s: %w", l, err)
	}
	if c.options.Job != "" && (trace.ID() == "" || trace.ID() != c.options.Job && !strings.HasSuffix(c.options.Job, "-"+trace.ID())) {
		return nil
	}
	c.decide(&left, trace)
	return errors.Join(c.endYARN(ctx, &left, trace), c.preparedOf(ctx, &left, trace), c.removeStaging(ctx, fsys, l.Path, left))
}

// mayRun sets the status of a job whose state is elsewhere to running or unknown: the copy of its journal does not show whether its process still runs.
func (left *Leftover) mayRun(t *status.Trace) {
	a := history.LastAttempt(t.Attempts)
	if a.State != history.JobInterrupted {
		return
	}
	runs, here := journal.Owner{PID: a.PID, Host: a.Host, Since: a.Began, Start: a.Start}.Running()
	switch {
	case runs:
		left.Status, left.Because = history.JobRunning, setting.Textf("it is running: process %d on %s, with its state elsewhere", a.PID, a.Host)
	case !here && left.Status == history.JobAbandoned:
		left.Status = history.JobUnknown
	}
}

// preparedOf removes HBase's staging directories that the journal of a removed job names. A job
// stays if one of them has a file, or cannot be looked at.
func (c *cleaner) preparedOf(ctx context.Context, job *Leftover, trace *status.Trace) error {
	var errs []error
	decided := *job
	for _, token := range slices.Sorted(maps.Keys(trace.Prepared)) {
		errs = append(errs, c.prepared(ctx, job, decided, token, trace.Prepared[token]))
	}
	return errors.Join(errs...)
}

// prepared is preparedOf for one directory. decided is the job before any directory was looked at.
func (c *cleaner) prepared(ctx context.Context, job *Leftover, decided Leftover, token, table string) error {
	l, err := c.env.Conf.Resolve(token)
	if err != nil {
		return c.leave(ctx, job, token, err)
	}
	c.seen[l.URI()] = true
	_, seen, err := c.look(ctx, l)
	if err != nil {
		return c.leave(ctx, job, token, err)
	}
	if seen == nil {
		return nil
	}
	left := decided
	left.Kind, left.Path, left.Table, left.Bytes = "staging", l.String(), table, seen.bytes
	if left.Remove && c.options.Remove {
		err = withCluster(ctx, c.env, func(ctx context.Context, hbase *loader.Cluster) error {
			return removePrepared(ctx, c.env, hbase, token, table)
		}, 1)
	}
	if err != nil {
		left.Remove, left.Because = false, setting.Plain("it was not removed")
		job.Remove, job.Because = false, setting.Plain("its directory below HBase's staging directory was not removed")
	}
	c.result.Dirs = append(c.result.Dirs, left)
	return err
}

// environment is the content of a directory and of those below it.
type environment struct {
	last  time.Time // the newest change
	bytes int64
}

// lookAround returns the content of a directory as far as it was read; nil if the directory does not exist.
func lookAround(ctx context.Context, fsys hdfsio.FS, dir string) (*environment, error) {
	s := &environment{}
	info, err := fsys.Stat(ctx, dir)
	var list []fs.FileInfo
	if err == nil {
		s.last = info.ModTime()
		list, err = fsys.ReadDir(ctx, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return s, err
	}
	for _, info := range list {
		below := &environment{last: info.ModTime(), bytes: info.Size()}
		if info.IsDir() {
			if below, err = lookAround(ctx, fsys, path.Join(dir, info.Name())); err != nil {
				return s, err
			} else if below == nil {
				continue
			}
		}
		s.bytes += below.bytes
		if below.last.After(s.last) {
			s.last = below.last
		}
	}
	return s, nil
}

func ownedBy(info fs.FileInfo, user string) bool {
	owner, _ := hdfsio.Owner(info)
	return owner == user
}

// preparedName matches the names that HBase gives the directories of loads: user, table, and 320 random bits in base 32
// (SecureBulkLoadManager.createStagingDir, 2.6).
var preparedName = regexp.MustCompile(`^(.+?)__(.+)__([0-9a-v]{40,64})$`)

// maxUnclaimed is the maximum number of listed directories below HBase's staging directory that no journal names.
const maxUnclaimed = 100

// unclaimed lists the old directories that HBase has made for loads of the caller, or of all users if the caller is HBase's user, and that no journal
// names: left by a killed check, by a job whose state was lost, or by another loader. They are kept, since a load may still use them. Only its owner
// and superusers can list HBase's staging directory; for other users unclaimed does nothing.
func (c *cleaner) unclaimed(ctx context.Context) error {
	root := cluster.Root(c.env.Conf)
	if root == "" || c.options.Job != "" {
		return nil
	}
	user, err := c.env.User()
	if err != nil {
		return fail.With(fail.Config, err)
	}
	l, err := c.env.Conf.Resolve(root)
	if err != nil || l.Local() {
		return nil // nothing else in Clean needs HBase's directory
	}
	l = l.Join("staging")
	fsys, err := c.fs(l)
	if err != nil {
		return fail.With(fail.HDFS, fmt.Errorf("%s: %w", l, err))
	}
	var list []fs.FileInfo
	info, err := fsys.Stat(ctx, l.Path)
	if err == nil {
		list, err = fsys.ReadDir(ctx, l.Path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	list = slices.DeleteFunc(list, func(x fs.FileInfo) bool {
		name := preparedName.FindStringSubmatch(x.Name())
		return name == nil || name[1] != user && !ownedBy(info, user) || !x.IsDir() || c.now.Sub(x.ModTime()) < c.options.OlderThan || c.seen[l.Join(x.Name()).URI()]
	})
	slices.SortFunc(list, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, x := range list[:min(len(list), maxUnclaimed)] {
		more := 0
		if i == maxUnclaimed-1 {
			more = len(list) - maxUnclaimed
		}
		if err := c.nameUnclaimed(ctx, fsys, l.Join(x.Name()), more); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// nameUnclaimed lists one directory, with the command that removes it unless it holds a file. more is the number of further directories.
func (c *cleaner) nameUnclaimed(ctx context.Context, fsys hdfsio.FS, l hdfsio.Location, more int) error {
	seen, err := lookAround(ctx, fsys, l.Path)
	if seen == nil || err == nil && c.now.Sub(seen.last) < c.options.OlderThan {
		return nil // its load is active, or has ended
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	left := Leftover{Kind: "staging", Path: l.String(), Status: history.JobUnknown, Last: seen.last, Bytes: seen.bytes}
	because := "no journal here names it, and it is empty: hdfs dfs -rm -r " + l.Path + " as HBase's user, if no load of its user runs"
	switch {
	case err != nil:
		because = "no journal here names it, and what it holds cannot be read"
	case seen.bytes > 0:
		because = "no journal here names it, and it holds files: a load may have left the only copy here"
	}
	if more > 0 {
		because += "; and " + setting.Count(more, "directory") + " more"
	}
	left.Because = setting.Plain(because)
	c.result.Dirs = append(c.result.Dirs, left)
	return nil
}
