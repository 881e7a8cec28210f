package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/durable"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/journal"
	"bulkload/pkg/progress"
	"bulkload/pkg/staging"
)

// StateOptions say where a job keeps what it needs to go on after a crash.
type StateOptions struct {
	Dir     string // of all jobs; empty: nothing is kept
	JobID   string // tells jobs apart that are equal otherwise: a date, a run's id
	Restart bool   // throw away what there is of the job
	Version string // of the program, for the journal

	LockWait time.Duration // how long to wait for another process that runs the job; default: not at all
}

// DefaultState is $BULKLOAD_STATE, else $XDG_STATE_HOME/bulkload, else
// ~/.local/state/bulkload.
func DefaultState() (string, error) { return cleanState() }

// state is the journal of a job with what it told when it was opened. All
// methods do nothing without a directory.
type state struct {
	identity
	dir  string
	lock *journal.Lock
	log  *journal.Journal
	history
	stop stopAfter
}

// makeDir makes the directory of all jobs.
func (o StateOptions) makeDir() error {
	if o.Dir == "" {
		return nil
	}
	if err := durable.MakePrivateDir(o.Dir); err != nil {
		return fail.Errorf(fail.Config, "state of the job: %w (name a directory with --state)", err)
	}
	return nil
}

// openState takes the job's lock and reads its journal. Who holds the lock is
// in the error, of kind [fail.Busy].
func openState(ctx context.Context, id identity, o StateOptions, e progress.Events) (_ *state, err error) {
	st := &state{identity: id, history: newHistory()}
	if o.Dir == "" {
		return st, nil
	}
	st.dir = o.stateDir(id)
	if err := durable.MakePrivateDir(st.dir); err != nil {
		return nil, fail.Errorf(fail.Config, "state of the job: %w (name a directory with --state)", err)
	}
	if st.lock, err = waitLock(ctx, st.dir, o.LockWait, e); err != nil {
		return nil, err
	}
	if err := st.open(); err != nil {
		return nil, errors.Join(err, st.close())
	}
	st.stop = newStopAfter(os.Getenv("BULKLOAD_TEST_STOP_AFTER"))
	return st, nil
}

// open reads the journal.
func (st *state) open() error {
	log, records, err := journal.Open(st.dir)
	if err != nil {
		return fail.Errorf(fail.Config, "%w (--restart begins anew)", err)
	}
	st.log, st.history = log, newHistory()
	for _, r := range records {
		if err := st.replay(r); err != nil {
			return fail.Errorf(fail.Config, "journal of the job in %s, record %d (%s): %w (--restart begins anew)", st.dir, r.Seq, r.Event, err)
		}
	}
	return nil
}

// restart throws the journal away, and what it leads to. A job of which HBase
// may hold files is loaded again then, which readers do not see if the
// timestamp is the same, and see as newer cells if it is not.
func (st *state) restart(ctx context.Context, env *cluster.Env) error {
	if st.log == nil {
		return nil
	}
	if st.plan != nil && !st.done {
		if l, err := env.Conf.Resolve(st.plan.Staging); err == nil && !l.Local() && staging.IsName(path.Base(l.Path)) {
			fsys, err := env.FS(l)
			if err != nil {
				return err
			}
			if err := fsys.RemoveAll(ctx, l.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fail.With(fail.HDFS, fmt.Errorf("remove what the job left in %s: %w", st.plan.Staging, err))
			}
		}
	}
	if err := st.resume().dropSpill(); err != nil {
		return fail.With(fail.HDFS, err)
	}
	if err := errors.Join(st.log.Close(), os.Remove(filepath.Join(st.dir, journal.FileName))); err != nil {
		return fail.With(fail.Config, err)
	}
	return st.open()
}

// record appends to the journal.
func (st *state) record(event string, data any, sync bool) error {
	if st.log == nil {
		return nil
	}
	appendTo := st.log.Append
	if sync {
		appendTo = st.log.AppendSync
	}
	if err := appendTo(event, data); err != nil {
		return fail.With(fail.HDFS, err)
	}
	st.stop.seen(event)
	return nil
}

// publish copies the journal beside the files on HDFS, for people and for
// clean on other machines. That it could not is no reason to fail.
func (st *state) publish(ctx context.Context, stage *staging.Dir, e progress.Events) {
	if st.log == nil {
		return
	}
	if err := st.copyTo(ctx, stage); err != nil {
		e.Warn("the journal could not be copied to the staging directory", "path", stage.Location.String(), "error", err)
	}
}

func (st *state) copyTo(ctx context.Context, stage *staging.Dir) error {
	name := path.Join(stage.Location.Path, staging.JournalName)
	fsys := stage.FS
	if err := fsys.Remove(ctx, name+".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := fsys.Create(ctx, name+".new", hdfsio.CreateOptions{Perm: 0o600})
	if err != nil {
		return err
	}
	if _, err := st.log.WriteTo(f); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Finish(); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := fsys.Remove(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.Rename(ctx, name+".new", name)
}

// close ends the journal and releases the lock.
func (st *state) close() error {
	var errs []error
	if st.log != nil {
		errs = append(errs, fail.With(fail.HDFS, st.log.Close()))
	}
	if st.lock != nil {
		errs = append(errs, st.lock.Release())
	}
	return errors.Join(errs...)
}

// stopAfter kills the process after a record, for tests of what follows a
// crash: event, or event:n for the n-th of them.
type stopAfter struct {
	event string
	left  int
}

func newStopAfter(s string) stopAfter {
	event, n, _ := strings.Cut(s, ":")
	left, err := strconv.Atoi(n)
	if err != nil {
		left = 1
	}
	return stopAfter{event, left}
}

func (s *stopAfter) seen(event string) {
	if s.event != event {
		return
	}
	if s.left--; s.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// decode reads a record's own fields.
func decode[T any](r journal.Record) (v T, err error) {
	err = json.Unmarshal(r.Data, &v)
	return v, err
}

// resume makes a build go on from what the journal says, and keep on.
func (st *state) resume() *Resume {
	return &Resume{Done: &st.Done, Checkpoint: buildRecords{st}, Name: filepath.Base(st.dir)}
}

// buildRecords is a job's journal as a build sees it.
type buildRecords struct{ st *state }

func (r buildRecords) Spilling(s spillRecord) error { return r.st.record("spill", s, false) }
func (r buildRecords) Sorted(s sortedRecord) error  { return r.st.record("sorted", s, true) }
func (r buildRecords) Wrote(w writtenRecord) error  { return r.st.record("written", w, false) }
