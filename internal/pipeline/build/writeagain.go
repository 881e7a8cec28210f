package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"syscall"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/base/retry"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// WriteRetry determines how often a failed write of a file is retried. It is
// given up only when both limits are exceeded.
type WriteRetry struct {
	Attempts int           // number of writes of the file, default 6
	Patience time.Duration // time since its first failure, or since another file was finished; default 1 min
	Pause    time.Duration // before the second write; doubled with each retry, up to 30 times as long; default 1 s
}

func (r WriteRetry) withDefaults() WriteRetry {
	r.Attempts = cmp.Or(r.Attempts, 6)
	r.Patience = cmp.Or(r.Patience, time.Minute)
	r.Pause = cmp.Or(r.Pause, time.Second)
	return r
}

// longestPause is a multiple of the first pause.
const longestPause = 30

// Persist repeats a write that failed with err until it succeeds or must be
// given up: at once if a quota is exceeded, a permission is missing, or complete files could not be recorded. The write
// receives the number of earlier writes. When the context ends, Persist returns its cause, also if a write has failed by then.
func (r WriteRetry) Persist(ctx context.Context, e progress.Events, what string, err error, progress func() time.Time, write func(attempt int) error) error {
	r = r.withDefaults()
	var before error // the cause of the last failure, if it is a lasting one
	pauses := retry.Policy{First: r.Pause, Most: longestPause * r.Pause, Jitter: true}
	since := time.Now()
	for failed := 1; err != nil; failed++ {
		if _, ok := errors.AsType[recordError](err); ok || fail.KindOf(err) != fail.HDFS {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx) // another file, or the operator, ended the build: that is its outcome
		}
		cause := persistentCause(err)
		if cause != nil && (cause == before || cause == hdfsio.ErrQuota) {
			return fail.With(fail.HDFS, fmt.Errorf("%w%s", err, advice(cause)))
		}
		before = cause
		if t := progress(); t.After(since) {
			since = t
		}
		if d := time.Since(since); failed >= r.Attempts && d >= r.Patience {
			return fail.With(fail.HDFS, fmt.Errorf("%w (written %s; no progress for %s)", err, setting.Count(failed, "time"), d.Round(time.Millisecond)))
		}
		pause, _ := pauses.Next(since, failed)
		e.Note("a file was not written and is written again", "file", what, "try", failed+1, "pause", pause, "error", err)
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
		err = write(failed)
	}
	return nil
}

// recordError is the failure to record complete files, which no other file repairs.
type recordError struct{ error }

func (e recordError) Unwrap() error { return e.error }

// writeAgain writes the file of a region from the sorted rows until it
// succeeds, after an earlier write has failed.
func (w *writers) writeAgain(ctx context.Context, r region, failed error) error {
	name := path.Join(w.plan.Family.Name, w.plan.FileName(w.plan.Family.Name, r.i))
	return w.out.Retry.Persist(ctx, w.events, name, failed, w.lastFinished, func(attempt int) error {
		p, err := w.encode(ctx, r, attempt)
		if err != nil {
			return err
		}
		return w.complete(ctx, p)
	})
}

func (w *writers) lastFinished() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// writeWhole creates a small file below the directory. The file has its name
// only when it is complete.
func (o Output) writeWhole(ctx context.Context, name string, content []byte) error {
	write := func(attempt int) error {
		writing := path.Join(o.Dir, name+".writing."+strconv.Itoa(attempt))
		f, err := o.FS.Create(ctx, writing, hdfsio.CreateOptions{Perm: o.FileMode})
		if err != nil {
			return fail.With(fail.HDFS, err)
		}
		if _, err = f.Write(content); err == nil {
			err = f.Finish()
		}
		if err != nil {
			_ = f.Abort()
			o.remove(ctx, writing) // it may be complete despite the error
			return fail.With(fail.HDFS, err)
		}
		err = o.FS.Rename(ctx, writing, path.Join(o.Dir, name))
		if err != nil {
			o.remove(ctx, writing)
		}
		// An earlier attempt's rename may have succeeded despite its error.
		if attempt > 0 && errors.Is(err, fs.ErrExist) && o.hasContent(ctx, name, content) {
			return nil
		}
		return fail.With(fail.HDFS, err)
	}
	return o.Retry.Persist(ctx, progress.Events{}, name, write(0), func() time.Time { return time.Time{} }, write)
}

// remove removes a file that is not wanted, if that is possible, also when the context has ended.
func (o Output) remove(ctx context.Context, name string) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	_ = o.FS.Remove(ctx, name)
}

// hasContent reports whether a small file of the directory has the given content.
func (o Output) hasContent(ctx context.Context, name string, content []byte) bool {
	is, err := hdfsio.ReadFile(ctx, o.FS, path.Join(o.Dir, name), int64(len(content))+1)
	return err == nil && bytes.Equal(is, content)
}

// persistentCause returns the cause of a failure that persists until an operator acts.
func persistentCause(err error) error {
	for _, cause := range []error{hdfsio.ErrQuota, hdfsio.ErrNoSpace, fs.ErrNotExist, fs.ErrExist,
		syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EMFILE} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return nil
}

// advice returns an operator's remedy for a lasting cause; errors of HDFS have
// their own.
func advice(cause error) string {
	switch cause {
	case fs.ErrNotExist:
		return ": the directory was removed while the job ran"
	case fs.ErrExist:
		return ": another process writes to that directory"
	}
	return ""
}
