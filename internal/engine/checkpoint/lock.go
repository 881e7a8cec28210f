package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/durable"
	"bulkload/internal/base/retry"
	"bulkload/internal/engine/journal"
	"bulkload/internal/engine/statetable"
	"bulkload/internal/engine/status"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// lockPoll is the interval at which a lock that another process holds is tried again.
const lockPoll = 250 * time.Millisecond

const (
	// stoppedTime is how long after a stop records are still written to shared state: a load resolves the outcome of its calls for up to 8 s. What is not
	// recorded by then is for the next attempt to resolve.
	stoppedTime = 10 * time.Second
	// releaseTime is how long a check or the release may take that begins later.
	releaseTime = time.Second
)

// LocksDir is the directory of jobs' state with the locks of runs that have a job for each directory. Such a lock has a directory of its own and no
// journal.
const LocksDir = "split"

// Lock excludes other processes from a directory of a job's state: on this machine, and on all machines if the state is shared.
type Lock struct {
	dir   string
	file  *journal.Lock
	owner *statetable.Owner // nil: the state is not shared
	own   *loader.Cluster   // closed together with the lock; nil: the cluster belongs to the caller
	ctx   context.Context   // of its records; it outlives a stop by stoppedTime
	stop  func()            // ends ctx
}

// newLock returns the lock of a directory, which the caller takes. ctx is that of the command.
func newLock(ctx context.Context, dir string) *Lock {
	l := &Lock{dir: dir}
	l.ctx, l.stop = endingAfter(context.WithoutCancel(ctx), ctx, func() time.Duration { return stoppedTime })
	return l
}

// endingAfter returns ctx with another end, a time after the end of other, and what ends it at once.
func endingAfter(ctx, other context.Context, left func() time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(other, func() { time.AfterFunc(left(), cancel) })
	return ctx, func() {
		forget()
		cancel()
	}
}

// WaitLock takes the lock of a job's directory. While another process holds it, WaitLock retries until wait has passed; zero: no retry. An error of
// kind [fail.Busy] names the process that holds it. A shared directory is brought up to date; its cluster must stay connected until the lock is
// released.
func WaitLock(ctx context.Context, c *loader.Cluster, dir string, wait time.Duration, e progress.Events) (*Lock, error) {
	l := newLock(ctx, dir)
	began, noted := time.Now(), false
	for {
		err := l.try(ctx, c, e)
		if err == nil {
			return l, nil
		}
		holder, busy := holderOf(err)
		if !busy {
			return nil, fail.With(fail.Config, err)
		}
		left := wait - time.Since(began)
		switch {
		case wait <= 0:
			return nil, fail.With(fail.Busy, err)
		case left <= 0:
			return nil, fail.With(fail.Busy, fmt.Errorf("%w; waited %s for it", err, wait))
		case !noted:
			e.Note("another process is running this job: waiting for it", "holder", holder, "at_most", wait)
			noted = true
		}
		if err := retry.Sleep(ctx, min(left, lockPoll)); err != nil {
			return nil, err
		}
	}
}

// maxRemoved is how often LockNew makes a directory again that others remove at once: each is a process that was refused.
const maxRemoved = 100

// LockNew makes a job's directory, and takes its lock as [WaitLock] does. The process that held the lock may remove the directory: LockNew makes it
// again. It reports whether the directory had no journal, or an empty one.
func LockNew(ctx context.Context, c *loader.Cluster, dir string, wait time.Duration, e progress.Events) (l *Lock, empty bool, err error) {
	began := time.Now()
	for range maxRemoved {
		info, absent := os.Stat(filepath.Join(dir, journal.FileName))
		empty = errors.Is(absent, fs.ErrNotExist) || absent == nil && info.Size() == 0
		if err = durable.MakePrivateDir(dir); err != nil {
			return nil, empty, fail.Errorf(fail.Config, "state of the job: %w (name a directory with %s)", err, setting.State)
		}
		if l, err = WaitLock(ctx, c, dir, max(wait-time.Since(began), min(wait, lockPoll)), e); !errors.Is(err, fs.ErrNotExist) {
			return l, empty, err
		}
	}
	return nil, empty, err
}

// holderOf returns the process that holds a lock which could not be taken.
func holderOf(err error) (holder string, busy bool) {
	if e, ok := errors.AsType[*journal.BusyError](err); ok {
		return e.Holder, true
	}
	if e, ok := errors.AsType[*statetable.BusyError](err); ok {
		return e.Holder.String(), true
	}
	return "", false
}

// try takes the lock, or returns an error that names its holder.
func (l *Lock) try(ctx context.Context, c *loader.Cluster, e progress.Events) (err error) {
	if l.file, err = journal.TryLock(l.dir); err != nil {
		return err
	}
	if err = l.take(ctx, c, e); err != nil {
		err = errors.Join(err, l.file.Release())
	}
	return err
}

// take makes this process the owner of shared state, and copies the state to the directory.
func (l *Lock) take(ctx context.Context, c *loader.Cluster, e progress.Events) error {
	shared, err := sharedOf(l.dir)
	if err != nil || shared == nil {
		return err
	}
	if c == nil {
		return errNoCluster
	}
	live := func() []byte {
		b, err := os.ReadFile(filepath.Join(l.dir, status.LiveName))
		if err != nil || len(b) > status.MaxFile {
			return nil // it is only information for people
		}
		return b
	}
	watching := func(h statetable.Holder) {
		e.Note("another process worked on this job: checking that it is dead", "holder", h.String())
	}
	owner, content, err := statetable.New(c, shared.table).Take(ctx, shared.job, live, watching)
	if _, busy := errors.AsType[*statetable.BusyError](err); busy {
		return err
	}
	if err != nil {
		return stateFailure(err)
	}
	if err := replaceIfOther(filepath.Join(l.dir, journal.FileName), textOf(content)); err != nil {
		return errors.Join(err, owner.Release(l.ctx))
	}
	l.owner = owner
	return nil
}

// stateFailure adds the kind to an error of shared state.
func stateFailure(err error) error {
	if err == nil {
		return nil
	}
	if _, lost := errors.AsType[*statetable.LostError](err); lost {
		return fail.With(fail.Busy, err)
	}
	if foreign, ok := errors.AsType[*statetable.ForeignTableError](err); ok {
		return fail.With(fail.Config, setting.Errorf("%s: %w", setting.State, foreign))
	}
	return fail.With(fail.State, fmt.Errorf("state of the job: %w", err))
}

// replaceIfOther writes a file unless it already has the text: a [Cache] takes a file that is written for changed.
func replaceIfOther(name string, text []byte) error {
	if info, err := os.Stat(name); err == nil && info.Size() == int64(len(text)) {
		if now, err := os.ReadFile(name); err == nil && bytes.Equal(now, text) {
			return nil
		}
	}
	return durable.ReplaceVolatile(name, text)
}

// textOf returns the text of a journal.
func textOf(c *statetable.Content) []byte { return bytes.Join(append(c.Records, nil), []byte("\n")) }

// Open opens the directory's journal.
func (l *Lock) Open() (*journal.Journal, []journal.Record, error) {
	log, records, err := journal.Open(l.dir)
	if err == nil && l.owner != nil {
		log.Share(func(line []byte, d journal.Durability) error {
			if d == journal.First {
				return stateFailure(l.owner.Append(l.ctx, line))
			}
			return stateFailure(l.owner.Queue(line, d == journal.OnDisk))
		})
	}
	return log, records, err
}

// Discard replaces the directory's journal, which must be closed, by one with a first record: at no time there is a journal without it.
func (l *Lock) Discard(first []byte) error {
	if l.owner != nil {
		if err := l.owner.Restart(l.ctx, first); err != nil {
			return stateFailure(err)
		}
	}
	return fail.With(fail.Config, durable.Replace(filepath.Join(l.dir, journal.FileName), append(bytes.Clone(first), '\n')))
}

// Check returns an error of kind [fail.Busy] if another process has taken over the job. Call it before removing anything that the other may use.
func (l *Lock) Check(ctx context.Context) error {
	if l == nil || l.owner == nil {
		return nil
	}
	if ctx.Err() != nil {
		limited, cancel := cleanup.Context(ctx)
		defer cancel()
		var done func()
		ctx, done = l.lasting(limited)
		defer done()
	}
	return stateFailure(l.owner.Check(ctx))
}

// lasting returns a context that ends with that of the records, or releaseTime from now if that is later, and what ends it.
func (l *Lock) lasting(ctx context.Context) (context.Context, func()) {
	began := time.Now()
	return endingAfter(ctx, l.ctx, func() time.Duration { return releaseTime - time.Since(began) })
}

// Release releases the lock. It is called once.
func (l *Lock) Release() error { return l.end((*statetable.Owner).Release) }

// remove removes the state, also where it is shared, and releases the lock.
func (l *Lock) remove() error { return l.end((*statetable.Owner).Delete) }

func (l *Lock) end(owner func(*statetable.Owner, context.Context) error) (err error) {
	defer l.stop()
	if l.owner != nil {
		ctx, done := l.lasting(context.WithoutCancel(l.ctx))
		defer done()
		err = stateFailure(owner(l.owner, ctx))
	}
	if l.own != nil {
		l.own.Close()
	}
	return errors.Join(err, l.file.Release())
}

// errNoCluster reports shared state that is opened without a cluster.
var errNoCluster = setting.Errorf("%s names a table, but there is no connection to a cluster", setting.State)
