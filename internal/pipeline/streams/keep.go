package streams

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bulkload/internal/formats/spool"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"golang.org/x/sync/errgroup"
)

// Needed describes how a job needs its streams.
type Needed struct {
	// Bound: an earlier attempt has made a plan for these streams, so their content must be the same.
	Bound bool
	// Built: all HFiles are written, and the streams are read again only if one of the files is damaged.
	Built bool
	// Over: the load has begun, or the job is done, and the streams are not read any more.
	Over bool
}

// reportEvery is the interval between progress reports of a copy.
const reportEvery = 10 * time.Second

// Options are the settings for copying streams.
type Options struct {
	SpillDir   string    // directory of the copies, default the system's temporary directory
	SpillLimit spec.Size // maximum number of bytes of copies, 0 for no limit
	Events     progress.Events
}

// A Job keeps the copies for its next attempt: they have names, and their states are recorded.
type Job struct {
	Prefix string                   // prefix of the names
	Known  func(place string) State // returns the state from earlier attempts and later records
	Note   func(Record) error       // called before a copy is created, when it is complete, and after it is removed; one call at a time
	Remove func(name string) error  // removes a copy
}

// Keep copies the streams into files in the spill directory, which only the owner may read. The copies of a job have names,
// which are recorded, and stay until [Drop]; other copies disappear with the process. A complete copy from an earlier
// attempt is reused. If such a stream is supplied again nevertheless, it is read to its end and compared with what the
// earlier attempt has read. It is an error if a stream is needed, is not supplied, and has no copy. Copies count against
// SpillLimit.
func (s *Inputs) Keep(ctx context.Context, o Options, j *Job, n Needed) error {
	k := &keeper{options: o, job: j, need: n}
	g, ctx := errgroup.WithContext(ctx)
	for _, one := range s.list {
		if one.plain {
			continue
		}
		g.Go(func() error { return k.keep(ctx, one) })
	}
	err := g.Wait()
	s.used = k.used
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// keeper is the state of one call of Keep.
type keeper struct {
	options Options
	job     *Job // nil: copies disappear with the process
	need    Needed

	mu   sync.Mutex
	used int64
}

// earlier returns the state of a stream from earlier attempts.
func (k *keeper) earlier(one *stream) State {
	if k.job == nil {
		return State{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.job.Known(one.place)
}

// note records the state of a copy.
func (k *keeper) note(r Record) error {
	if k.job == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.job.Note(r)
}

func (k *keeper) keep(ctx context.Context, one *stream) (err error) {
	was, given := k.earlier(one), one.absent == nil
	if was.Digest == nil && k.need.Bound && given {
		return fail.Errorf(fail.Input, "the input has changed since this job began: %s is a stream now (%s)", one.describe(), spec.RestartHint())
	}
	bound := k.need.Bound && was.Digest != nil
	kept, read, err := k.reuse(ctx, one, was)
	if err != nil {
		return err
	}
	defer func() {
		if one.file = kept; err != nil && kept != nil {
			one.file, err = nil, errors.Join(err, kept.Close())
		}
	}()
	if was.Digest != nil {
		one.digest = *was.Digest
	}
	switch {
	case given && bound && (kept != nil || k.need.Over):
		if err := k.compare(ctx, one, one.digest); err != nil {
			return err
		}
	case given:
		if kept != nil {
			if err := errors.Join(kept.Close(), k.drop(one, was.Copy)); err != nil {
				return fail.With(fail.HDFS, err)
			}
		}
		kept, err = k.copy(ctx, one, was, bound)
		return err
	case kept == nil && (k.need.Over || k.need.Built):
		k.options.Events.Note("the stream is not needed: an earlier attempt read all of it", "input", one.given, "bytes", one.digest.Bytes, "stream", one.absent.Error())
	case kept == nil:
		return k.missing(one, was, read)
	}
	if kept != nil {
		k.options.Events.Note("the copy of a stream that an earlier attempt made is used", "input", one.given, "bytes", one.digest.Bytes, "copy", kept.Name())
		k.take(one.digest.Bytes)
	}
	return nil
}

// reuse opens the copy of an earlier attempt, if it is complete. An incomplete one is removed, and read is the number of bytes that it had.
func (k *keeper) reuse(ctx context.Context, one *stream, was State) (kept *spool.File, read int64, err error) {
	read = was.Read
	if was.Copy == "" {
		return nil, read, nil
	}
	if was.Whole {
		kept, err = spool.Reopen(ctx, was.Copy, *was.Digest)
		if err == nil || !errors.Is(err, spool.ErrDamaged) {
			return kept, read, err
		}
		k.options.Events.Warn("the copy of a stream that an earlier attempt made cannot be used", "input", one.given, "error", err)
	} else if info, err := os.Lstat(was.Copy); err == nil {
		read = info.Size()
	}
	return nil, read, fail.With(fail.HDFS, k.drop(one, was.Copy))
}

// drop removes a copy.
func (k *keeper) drop(one *stream, name string) error {
	if err := k.job.Remove(name); err != nil {
		return err
	}
	return k.note(Record{Input: one.given, Place: one.place})
}

// missing returns the error for a stream that is needed but not supplied.
func (k *keeper) missing(one *stream, was State, read int64) error {
	again := "run the export again, and give it to the same command"
	switch {
	case was.Digest != nil:
		return fail.Errorf(fail.Input, "%s was read to its end, byte %d, by a failed attempt, and its copy is gone: %s (%w)", one.describe(), was.Digest.Bytes, again, one.absent)
	case read > 0:
		return fail.Errorf(fail.Input, "%s was read to byte %d by a failed attempt: %s (%w)", one.describe(), read, again, one.absent)
	}
	return one.noData()
}

// compare reads a stream that is not needed, to check that it equals the one that an earlier attempt has read.
func (k *keeper) compare(ctx context.Context, one *stream, want spool.Digest) error {
	k.options.Events.Note("the stream is compared with what an earlier attempt read", "input", one.given, "bytes", want.Bytes)
	got, err := k.read(ctx, one, nil)
	if err != nil {
		return err
	}
	return differs(one, want, got)
}

// differs returns an error if a stream has changed.
func differs(one *stream, want, got spool.Digest) error {
	if got == want {
		return nil
	}
	return fail.Errorf(fail.Input, "the input has changed since this job began: %s had %s, it has %s (%s)", one.describe(), want, got, spec.RestartHint())
}

// copy reads a stream into a new file, which it removes on failure.
func (k *keeper) copy(ctx context.Context, one *stream, was State, bound bool) (*spool.File, error) {
	dir, err := filepath.Abs(cmp.Or(k.options.SpillDir, os.TempDir()))
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	f, err := k.create(one, dir)
	if err != nil {
		return nil, k.explain(dir, one, fail.With(fail.Config, setting.Errorf("copy of %s: %w (name a directory with %s)", one.describe(), err, setting.SpillDir)))
	}
	k.options.Events.Note("the stream is copied to local disk, and read from there", "input", one.given, "directory", dir)
	began := time.Now()
	got, err := k.read(ctx, one, f)
	if err == nil && bound {
		err = differs(one, *was.Digest, got)
	}
	if one.digest = got; err == nil {
		k.options.Events.Note("the stream is complete", "input", one.given, "bytes", got.Bytes, "crc32c", got.CRC32C.String(), "took", time.Since(began).Round(time.Millisecond))
		if k.job == nil {
			return f, nil
		}
		if err = k.note(Record{Input: one.given, Place: one.place, Copy: f.Name(), Read: &got, Whole: true}); err == nil {
			return f, nil
		}
	}
	err = k.explain(dir, one, err)
	if k.job == nil {
		return nil, errors.Join(err, f.Close())
	}
	return nil, errors.Join(err, f.Close(), os.Remove(f.Name()), k.note(Record{Input: one.given, Place: one.place, Read: &got}))
}

// create creates the file of a copy. A checkpoint records it before it exists.
func (k *keeper) create(one *stream, dir string) (*spool.File, error) {
	if k.job == nil {
		return spool.CreateNameless(dir, "bulkload-stream-*")
	}
	name := filepath.Join(dir, k.job.Prefix+"stream-"+rand.Text())
	if err := k.note(Record{Input: one.given, Place: one.place, Copy: name}); err != nil {
		return nil, err
	}
	f, err := spool.Create(name)
	if err != nil {
		return nil, errors.Join(err, k.note(Record{Input: one.given, Place: one.place}))
	}
	return f, nil
}

// read reads a stream to its end, and writes it to a file if there is one.
func (k *keeper) read(ctx context.Context, one *stream, to *spool.File) (d spool.Digest, err error) {
	src, err := one.begin(ctx)
	if err != nil {
		return d, fail.With(fail.Input, fmt.Errorf("open %s: %w", one.describe(), err))
	}
	reported, scanned := time.Now(), int64(0)
	o := spool.CopyOptions{Allow: k.allow(one), Progress: func(d spool.Digest) {
		k.options.Events.Scanned(d.Bytes - scanned)
		scanned = d.Bytes
		if time.Since(reported) >= reportEvery {
			reported = time.Now()
			k.options.Events.Note("the stream is read", "input", one.given, "bytes", d.Bytes)
		}
	}}
	var dst io.Writer
	if to != nil {
		dst = to
	}
	d, err = spool.Copy(ctx, dst, src, o)
	if re, ok := errors.AsType[*spool.ReadError](err); ok {
		err = fail.With(fail.Input, fmt.Errorf("read %s %w", one.describe(), re))
	}
	if ctx.Err() == nil {
		err = errors.Join(err, src.Close()) // else a read may block there
	}
	return d, err
}

// allow counts a copy against the limit of local disk. The count of a failed copy does not matter, because the job ends then.
func (k *keeper) allow(one *stream) func(int64) error {
	limit, mine := int64(k.options.SpillLimit), int64(0)
	return func(n int64) error {
		if k.take(n) > limit && limit > 0 {
			return fail.Errorf(fail.Config, "the limit of %s for local disk (%s) is reached by the copy of %s after %s: allow more with %s, or load the export in parts",
				spec.Size(limit).Rounded(), setting.SpillLimit, one.describe(), setting.Count(mine, "byte"), setting.SpillLimit)
		}
		mine += n
		return nil
	}
}

// take counts bytes of copies, and returns the total.
func (k *keeper) take(n int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used += n
	return k.used
}

// explain adds advice to an error of the copy.
func (k *keeper) explain(dir string, one *stream, err error) error {
	switch {
	case fail.DiskFull(err):
		err = fail.With(fail.HDFS, err)
		if full, ok := errors.AsType[*fail.DiskFullError](err); ok {
			full.Advise(setting.Textf("%s is copied to %s before it is read: make room there, or name a directory on a larger disk with %s; then run the export again", one.describe(), dir, setting.SpillDir))
		}
	case errors.Is(err, context.Canceled):
		return err
	}
	return fail.With(fail.HDFS, err)
}
