package job

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strconv"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/pipeline/upload"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// LoadOptions are the options of [LoadDir]: those of a run that do not concern its build, and these.
type LoadOptions struct {
	RunOptions
	Verify string // full, if the directory has a manifest, or off
	// TrustFiles skips the reading of all files before the first is loaded: damaged files are loaded unchanged.
	TrustFiles bool
	// Unreplicated excludes the load from replication to peers.
	Unreplicated bool
	// PhoenixIndexes is ignore to load a table that has Phoenix indexes. Default: the load is refused.
	PhoenixIndexes string
	// Replace makes the table hold exactly the contents of the directory, which needs a manifest. MaxDeletes and ReplaceRejected: see [spec.Spec].
	Replace         bool
	MaxDeletes      string
	ReplaceRejected bool

	discard bool // only discards an earlier load of the directory, with State.Restart, unless that has finished
	salted  bool // the caller has compared the salts of the files with those of the tables
}

// CheckPhoenix refuses to load a table with Phoenix indexes, unless indexes is ignore.
func CheckPhoenix(ctx context.Context, c *loader.Cluster, facts *cluster.Facts, indexes string, e progress.Events) error {
	check := preflight.Phoenix(ctx, c, facts.Table, indexes)
	if check.Severity == preflight.SeverityWarning {
		e.Warn("check", "check", check.Name, "warning", check.Message, "hint", check.Hint)
	}
	return refusal(check)
}

// CheckQuota refuses to load any of several tables if HBase would refuse files of any size: its space quota is used up, or its namespace's. It asks
// before [cluster.TableFacts], which finds a table disabled by a quota. A quota that cannot be seen refuses nothing. The tables may be missing.
func CheckQuota(ctx context.Context, c *loader.Cluster, tables ...loader.TableName) error {
	for _, t := range tables {
		if err := refusal(preflight.Quota(ctx, c, t)); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns the error of a check.
func refusal(c preflight.Check) error {
	if c.Severity != preflight.SeverityError {
		return nil
	}
	return fail.With(fail.Check, setting.Errorf("%s (%s)", c.Message, c.Hint))
}

// copying copies local HFiles into a staging directory. As in a build, each file is
// verified and then renamed. It fills in the checksums and ids of the copies. It
// first removes the files that an earlier attempt has left there. owned returns an error if another process, which copies to the same directory, has
// taken over the job.
func copying(ctx context.Context, env *cluster.Env, owned func(context.Context) error, to hdfsio.Location, from build.Output, files []manifest.File, facts *cluster.Facts, o LoadOptions) (st *stage, err error) {
	if err := owned(ctx); err != nil {
		return nil, err
	}
	if st, err = stageAt(ctx, env, to); err != nil {
		return nil, err
	}
	made := st
	defer func() {
		if err != nil && owned(ctx) == nil {
			err = errors.Join(err, made.Remove(ctx))
		}
	}()
	if err := st.Remove(ctx); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	if st, err = stageAt(ctx, env, to); err != nil {
		return nil, err
	}
	st.out.Uploads, st.out.Policies = upload.NewLimiter(o.Uploads), policies(facts, o.Events)
	for i := range files {
		f := &files[i]
		if err := progress.Pass(ctx, o.Gate); err != nil {
			return nil, err
		}
		if i == 0 || files[i-1].Family != f.Family {
			if err := st.out.Prepare(ctx, f.Family); err != nil {
				return nil, err
			}
		}
		if err := copyFile(ctx, owned, st.out, from, f, facts.Near, o); err != nil {
			if d, ok := errors.AsType[*filecheck.DamagedError](err); ok {
				return nil, refuse(from.Dir, []*filecheck.DamagedError{d})
			}
			return nil, fail.With(fail.HDFS, fmt.Errorf("upload %s: %w", f.Name, err))
		}
	}
	return st, nil
}

// policies returns the storage policies of a table's families for files of a job. If HDFS refuses a policy, the files are loaded without it.
func policies(facts *cluster.Facts, e progress.Events) build.Policies {
	return build.Policies{Of: facts.Policies, Refused: func(_ context.Context, family, policy string, err error) {
		e.Warn("the files do not get the storage policy of their family", "family", family, "policy", policy, "error", err,
			"hint", "hdfs mover -p on the table's directory, once the policy can be met")
	}}
}

// copyFile copies one file of another output into this one. A copy that HDFS could not write, or that differs when it is read back, is written again
// under another name: the failed one may still have a lease.
func copyFile(ctx context.Context, owned func(context.Context) error, o, from build.Output, f *manifest.File, near cells.Near, load LoadOptions) error {
	writing := path.Join(o.Dir, o.WritingOf(f.Family), path.Base(f.Name))
	err := copyOnce(ctx, o, from, f, writing, near, load)
	err = o.Retry.Persist(ctx, load.Events, f.Name, err, func() time.Time { return time.Time{} }, func(attempt int) error {
		if err := errors.Join(owned(ctx), progress.Pass(ctx, load.Gate)); err != nil {
			return err
		}
		writing = path.Join(o.Dir, o.WritingOf(f.Family), path.Base(f.Name)) + "." + strconv.Itoa(attempt)
		return copyOnce(ctx, o, from, f, writing, near, load)
	})
	if err != nil {
		return err
	}
	info, err := o.FS.Stat(ctx, writing)
	if err != nil {
		return err
	}
	f.FileID, _ = hdfsio.FileID(info)
	return o.FS.Rename(ctx, writing, path.Join(o.Dir, f.Name))
}

// copyOnce copies a file once. It compares the checksums of the bytes read, and of the copy when it is read back. Only an error of the copy is of
// the kind [fail.HDFS]: that of the source would recur.
func copyOnce(ctx context.Context, o, from build.Output, f *manifest.File, writing string, near cells.Near, load LoadOptions) (err error) {
	source := path.Join(from.Dir, f.Name)
	src, err := hdfsio.OpenAt(ctx, from.FS, source)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := o.Create(ctx, writing, hdfsio.CreateOptions{Perm: o.FileMode, BlockSize: (f.Bytes>>20 + 1) << 20, Near: near.Of(f.FirstRow)})
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	w := &countingWriter{to: dst, count: load.Events.Written}
	defer func() {
		if err != nil {
			load.Events.Written(-w.n)
			cleanupCtx, cancel := cleanup.Context(ctx)
			defer cancel()
			_ = o.FS.Remove(cleanupCtx, writing) // a whole file that differs would take space until the load ends
		}
	}()
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{src}, make([]byte, 1<<20)); err != nil {
		return errors.Join(err, dst.Abort())
	}
	if !load.TrustFiles && w.sum != f.CRC32C {
		return errors.Join((&filecheck.Checker{FS: from.FS}).Differs(ctx, src, &filecheck.Target{File: *f, Path: source}, w.sum), dst.Abort())
	}
	if err := dst.Finish(); err != nil {
		return fail.With(fail.HDFS, errors.Join(err, dst.Abort()))
	}
	if f.CRC32C = w.sum; !load.TrustFiles {
		return fail.With(fail.HDFS, filecheck.ReadBack(ctx, o.FS, writing, w.sum))
	}
	if err = filecheck.Written(ctx, o.FS, writing, *f); err != nil && filecheck.Written(ctx, from.FS, source, *f) == nil {
		return fail.With(fail.HDFS, err)
	}
	return err
}

// countingWriter reports the number of bytes written, and computes their checksum.
type countingWriter struct {
	to    io.Writer
	count func(bytes int64)
	n     int64
	sum   uint32 // CRC-32C of the bytes
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.sum = crc32.Update(w.sum, crc32.MakeTable(crc32.Castagnoli), p[:n])
	w.n += int64(n)
	w.count(int64(n))
	return n, fail.With(fail.HDFS, err)
}

func totalBytes(files []manifest.File) (n int64) {
	for _, f := range files {
		n += f.Bytes
	}
	return n
}
