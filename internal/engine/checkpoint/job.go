package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Options define where a job keeps its state, which it needs to continue after a crash.
type Options struct {
	Dir     string // directory of all jobs; empty: no state is kept
	JobID   string // distinguishes otherwise equal jobs: a date, a run's id
	Restart bool   // discard the state of the job
	Version string // version of the program, for the journal

	LockWait time.Duration // how long to wait for another process that runs the job; default: no wait
}

// Job is the journal of a job and its history. Only records change the history, see [Job.Record]. Without a directory no state is kept.
type Job struct {
	Identity
	Dir  string
	lock *Lock
	Log  *journal.Journal
	history.History
	stop      stopAfter
	begun     bool       // this process has begun an attempt
	torn      bool       // a record could not be written
	fresh     bool       // there was no journal, or an empty one: no records can have been lost
	recording sync.Mutex // serializes records
}

// MakeDir creates the directory of all jobs.
func (o Options) MakeDir() error {
	if o.Dir == "" {
		return nil
	}
	if err := durable.MakePrivateDir(o.Dir); err != nil {
		return fail.Errorf(fail.Config, "state of the job: %w (name a directory with %s)", err, setting.State)
	}
	return nil
}

// Open takes the job's lock and reads its journal. If the lock is held, the error has kind [fail.Busy] and names the holder. The caller owns the
// cluster, which may hold the state, and keeps it open until the job is closed.
func Open(ctx context.Context, c *loader.Cluster, id Identity, o Options, e progress.Events) (_ *Job, err error) {
	st := &Job{Identity: id, History: history.New()}
	if o.Dir == "" {
		return st, nil
	}
	st.Dir = o.StateDir(id)
	if st.lock, st.fresh, err = LockNew(ctx, c, st.Dir, o.LockWait, e); err != nil {
		return nil, err
	}
	if err := st.reopen(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	st.stop = newStopAfter()
	e.Open(progress.Start{Job: st.Dir, JobID: o.JobID})
	return st, nil
}

// reopen opens and reads the journal.
func (st *Job) reopen() error {
	log, records, err := st.lock.Open()
	if err != nil {
		return Damaged(st.Dir, err)
	}
	st.Log = log
	if st.History, err = history.Of(records); err != nil {
		return Damaged(st.Dir, fmt.Errorf("journal of the job in %s, %w", st.Dir, err))
	}
	return nil
}

// Damaged returns the error about a job's journal that cannot be read. No command of the job can discard it, because it names what must be removed. That
// clean can is advised only for a journal that no other version can read.
func Damaged(dir string, err error) error {
	if e, ok := errors.AsType[*history.RecordError](err); ok && e.Version != "" {
		return fail.With(fail.Config, err)
	}
	return fail.Errorf(fail.Config, "%w (%s discards the job's state, and may lose rows)", err, CleanByForce(filepath.Base(dir)))
}

// CleanByForce returns the command that discards a job, for messages. The job is the name of its directory, or the digits at its end.
func CleanByForce(job string) setting.Text {
	return setting.Textf("bulkload clean %s %s %s", setting.Job, job, setting.Force)
}

// Record appends to the journal, and applies the record to the history as a replay would, so that the process and the next one have the same history.
// A job without a directory has only the history. Any number of goroutines may call it, while none reads the parts of the history that their records
// change.
func (st *Job) Record(e history.Event, data any) error {
	st.recording.Lock()
	defer st.recording.Unlock()
	return st.record(e, data)
}

// RecordMade calls make to create something, and records the data that make returns. No other record is written meanwhile, so that the journal knows
// everything that exists at the time of any record.
func (st *Job) RecordMade(e history.Event, make func() (any, error)) error {
	st.recording.Lock()
	defer st.recording.Unlock()
	data, err := make()
	if err != nil {
		return err
	}
	return st.record(e, data)
}

func (st *Job) record(e history.Event, data any) error {
	info, err := history.InfoOf(e, data)
	if err != nil {
		return err
	}
	var r journal.Record
	if st.Log != nil {
		r, err = st.Log.Append(string(e), data, info.Synced)
	} else {
		r, err = journal.NewRecord(int64(st.Records)+1, string(e), data)
	}
	if err != nil {
		st.torn = true
		return fail.With(fail.HDFS, err)
	}
	if err := st.Apply(r); err != nil {
		return fail.With(fail.Unexpected, &history.RecordError{Record: r, Err: err})
	}
	st.begun = st.begun || e == history.EventAttempt
	st.stop.seen(st, r)
	return nil
}

// Turn switches to another table of the job, by its number in loading order: later records about files and verification, and the history's state of
// the load, are then about that table.
func (st *Job) Turn(number int, table string) error {
	if number == st.Current {
		return nil
	}
	return st.Record(history.EventTable, history.TurnRecord{Number: number, Table: table})
}

// Publish copies the journal next to the files on HDFS, for people and for clean on other machines. A failure is only a warning.
func (st *Job) Publish(ctx context.Context, stage *staging.Dir, e progress.Events) {
	if st.Log == nil || st.Check(ctx) != nil {
		return
	}
	if err := st.copyTo(ctx, stage); err != nil {
		e.Warn("the journal could not be copied to the staging directory", "path", stage.Location.String(), "error", err)
	}
}

func (st *Job) copyTo(ctx context.Context, stage *staging.Dir) error {
	name := path.Join(stage.Location.Path, staging.JournalName)
	fsys := stage.FS
	if err := fsys.Remove(ctx, name+".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := hdfsio.WriteFile(ctx, fsys, name+".new", st.Log, hdfsio.CreateOptions{Perm: 0o600}); err != nil {
		return err
	}
	if err := fsys.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.Rename(ctx, name+".new", name)
}

// Close closes the journal and releases the lock. It removes the directory of a job that has done nothing and left nothing.
func (st *Job) Close() error {
	var errs []error
	if st.Log != nil {
		errs = append(errs, fail.With(fail.HDFS, st.Log.Close()))
	}
	if st.lock != nil {
		release, err := st.forget()
		errs = append(errs, err, release())
	}
	return errors.Join(errs...)
}

// forget removes the directory of a job that has done nothing, unless it has other files. What a process without a record has reported there, such as one
// that was stopped in a pause, goes with it. It returns the function that releases the lock.
func (st *Job) forget() (release func() error, err error) {
	if st.Log == nil || st.torn || st.ID == "" || !st.IsEmpty() || st.Records == 0 && !st.fresh { // without an identity, the job was opened by its directory
		return st.lock.Release, nil
	}
	own := []string{journal.FileName, journal.LockName} // a waiting process notices that the lock's file is gone, and so does the one that reports
	if st.Records == 0 {
		own = append(own, status.LiveName, status.EndingName, status.CommandName)
	}
	list, err := os.ReadDir(st.Dir)
	if err != nil || slices.ContainsFunc(list, func(d fs.DirEntry) bool { return !slices.Contains(own, d.Name()) }) {
		return st.lock.Release, err
	}
	for _, name := range append(own, "") {
		if err := os.Remove(filepath.Join(st.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) { // a report may just be written
			return st.lock.Release, fail.With(fail.Config, err)
		}
	}
	st.Dir = ""
	return st.lock.remove, nil
}

// Resume returns the state from which a build resumes, and the checkpoint that records its progress.
func (st *Job) Resume() *build.Resume {
	return &build.Resume{Done: &st.Done, Checkpoint: buildRecords{st}, Name: filepath.Base(st.Dir)}
}

// buildRecords implements the checkpoint of a build with the journal of a job.
type buildRecords struct{ st *Job }

func (r buildRecords) Spilling(s build.SpillRecord) error { return r.st.Record(history.EventSpill, s) }
func (r buildRecords) Streaming(s streams.Record) error   { return r.st.Record(history.EventStream, s) }
func (r buildRecords) Sorted(s build.SortedRecord) error  { return r.st.Record(history.EventSorted, s) }
func (r buildRecords) Wrote(w build.WrittenRecord) error  { return r.st.Record(history.EventWritten, w) }
func (r buildRecords) Lost(l build.LostRecord) error      { return r.st.Record(history.EventLost, l) }

// OpenDir takes the lock of the job with the given directory, and reads its journal. If the state is shared, it connects to the cluster, until the
// job is closed.
func OpenDir(ctx context.Context, env *cluster.Env, dir string, wait time.Duration, e progress.Events) (_ *Job, err error) {
	st := &Job{Dir: dir}
	c, err := dialShared(ctx, env, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && c != nil {
			c.Close()
		}
	}()
	if st.lock, err = WaitLock(ctx, c, dir, wait, e); err != nil {
		return nil, err
	}
	st.lock.own = c
	if err := st.reopen(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if st.Plan != nil {
		st.ID, st.Table = st.Plan.Job, st.Plan.Table
	}
	st.stop = newStopAfter()
	return st, nil
}
