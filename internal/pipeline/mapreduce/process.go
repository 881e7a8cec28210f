package mapreduce

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/streaming"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/setting"
)

// Process is the environment of a task's process.
type Process struct {
	Env func(name string) (string, bool) // of the process
	Dir string                           // working directory, with WorkName and streaming.JobFile
	In  io.Reader
	Out io.Writer // records of a map; a reduce writes none
	Err io.Writer // reports to Hadoop, and the log
	Log *slog.Logger
}

// task is a running attempt.
type task struct {
	Process
	streaming.Task
	work  *Work
	job   spec.Job
	plans []*cells.Plan
	env   *cluster.Env
	fs    hdfsio.FS
	out   string // the attempt's output directory
	meter *meter
	began time.Time
}

// Map executes a map task. It also writes its error into the job's directory.
func (p Process) Map(ctx context.Context) error { return p.run(ctx, true, (*task).doMap) }

// Reduce executes a reduce task.
func (p Process) Reduce(ctx context.Context) error { return p.run(ctx, false, (*task).doReduce) }

func (p Process) run(ctx context.Context, isMap bool, do func(*task, context.Context) error) (err error) {
	t := &task{Process: p, began: time.Now()}
	if t.Task, err = streaming.TaskFrom(p.Env); err != nil {
		return fail.With(fail.Config, err)
	}
	if t.Task.Map != isMap {
		return fail.Errorf(fail.Config, "%s is not a task of this kind", t.Attempt)
	}
	if t.work, err = readWork(filepath.Join(p.Dir, WorkName)); err != nil {
		return err
	}
	if err := t.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.env.Close()) }()
	l, err := t.work.below(t.env.Conf, errorsName)
	if err != nil {
		return err
	}
	earlier, err := verdicts(ctx, t.fs, l.Path, nil)
	if err != nil {
		return err
	}
	if v := firstPermanent(earlier); v != nil {
		return fmt.Errorf("the job cannot succeed any more: %w", v.err())
	}
	// Memory beyond the budget is garbage-collected before the container is killed for it.
	memory := t.work.ReduceMemory
	if isMap {
		memory = t.work.MapMemory
	}
	debug.SetMemoryLimit(int64(memory + memory/8))
	t.meter = newMeter(p.Err)
	if err = t.resolve(ctx); err == nil {
		err = do(t, ctx)
	}
	t.meter.close()
	if err == nil || ctx.Err() != nil {
		return err
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return errors.Join(err, writeVerdict(ctx, t.fs, l.Path, t.Attempt, err))
}

// open reads the configuration of the submitted job, and the node's ssl-client.xml, which a job's configuration does not have.
func (t *task) open() (err error) {
	conf := &hdfsio.Conf{Env: func(name string) (string, bool) {
		if name == "HADOOP_USER_NAME" && t.User != "" {
			return t.User, true // the process may run as another user
		}
		return t.Process.Env(name)
	}}
	if err := conf.ReadFile(filepath.Join(t.Dir, streaming.JobFile)); err != nil {
		return fail.With(fail.Config, err)
	}
	if dir, _ := t.Process.Env("HADOOP_CONF_DIR"); dir != "" { // NodeManagers pass it
		err := conf.ReadFile(filepath.Join(dir, "ssl-client.xml"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Log.Warn("the system's certificates are used for a KMS with TLS", "error", err)
		}
	}
	t.env = &cluster.Env{Conf: conf, Log: t.Log}
	if conf.Kerberos(hdfsio.HadoopAuthentication) {
		if t.env.Tokens, err = hadooprpc.ReadTokens(t.TokenFile); err != nil {
			return fail.With(fail.Check, err)
		}
	}
	if t.TokenFile != "" {
		stores, err := hadooprpc.ReadSecret(t.TokenFile, storesSecret)
		if err == nil && stores != nil {
			err = t.env.TakeStores(stores)
		}
		if err != nil {
			return fail.With(fail.Check, err)
		}
	}
	t.fs, t.out, err = t.env.Resolve(t.Output)
	return err
}

// resolve mounts and resolves the plan. Reduces mount tables only if rows get new keys: they need the families of the snapshot.
func (t *task) resolve(ctx context.Context) (err error) {
	if t.Task.Map || t.work.Plan.NewKeys != nil {
		if err := t.work.Plan.Mount(ctx, t.env); err != nil {
			return err
		}
	}
	t.job, t.plans, err = t.work.Plan.Resolve(ctx)
	return err
}

// doMap reads a share of the input.
func (t *task) doMap(ctx context.Context) (err error) {
	of, err := t.item()
	if err != nil {
		return err
	}
	w := build.WorkOptions{Workers: t.work.Workers, Memory: t.work.MapMemory, SpillDir: t.spillDir(), Events: t.meter.events()}
	if t.work.Plan.Job.BadRecords != "" {
		if w.RejectFile, err = filepath.Abs(filepath.Join(t.Dir, of.RejectName())); err != nil {
			return err
		}
	}
	if t.work.Filtered {
		if w.FilteredFile, err = filepath.Abs(filepath.Join(t.Dir, of.FilteredName())); err != nil {
			return err
		}
	}
	in, err := t.work.Plan.Open(ctx, t.env, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	given := &counted{w: t.Out}
	out := bufio.NewWriterSize(given, 1<<20)
	o := build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, Budget: in.Budget, Filtered: in.Filtered, Checks: in.Checks(), Events: w.Events}
	read, err := t.work.Plan.Read(ctx, t.plans, in, t.work.Plan.Part(of), recordSink{chunk.NewFrameWriter(out), out},
		chunk.Options{Run: uint32(of.K - 1), Size: t.work.ChunkSize}, w.RejectFile, o)
	if err = share.FinishRejects(in, err); err != nil {
		return err
	}
	d := MapDone{Schema: 1, Work: t.work.Checksum, Map: of.K, Attempt: t.Attempt, PartRead: *read}
	l, err := t.work.below(t.env.Conf, mapsName)
	if err != nil {
		return err
	}
	if read.Rejected > 0 && w.RejectFile != "" {
		d.Rejects = t.Attempt + ".rejects.jsonl"
		if err := t.keepRejects(ctx, w.RejectFile, path.Join(l.Path, d.Rejects)); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	if d.FilteredFile = ""; read.FilteredFile != "" { // the file on the node
		d.LeftOut = t.Attempt + ".filtered.jsonl"
		if err := t.keepRejects(ctx, read.FilteredFile, path.Join(l.Path, d.LeftOut)); err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	d.Ran = t.statistics(given.bytes)
	return share.WriteSealed(ctx, t.fs, path.Join(l.Path, mapFile(t.Attempt)), &d, &d.Checksum)
}

// item returns the share that the task's input line names.
func (t *task) item() (share.Fraction, error) {
	const longest = 100
	lines := bufio.NewScanner(io.LimitReader(t.In, longest))
	if !lines.Scan() {
		return share.Fraction{}, fail.With(fail.Unexpected, errors.Join(errors.New("no work came on standard input: the task's JVM has failed"), lines.Err()))
	}
	of, err := share.ParseFraction(lines.Text())
	if err != nil || of.N != t.work.Maps || lines.Scan() {
		return share.Fraction{}, fail.Errorf(fail.Config, "the work on standard input is not one share of %d", t.work.Maps)
	}
	return of, nil
}

// spillDir returns a directory on the node's disks that is removed with the application.
func (t *task) spillDir() string {
	if n := len(t.LocalDirs); n > 0 {
		return t.LocalDirs[(t.Number+t.Try)%n]
	}
	return ""
}

// recordSink writes chunks as rawbytes records.
type recordSink struct {
	*chunk.FrameWriter
	buf *bufio.Writer
}

// Finish implements [build.Sink].
func (r recordSink) Finish() error { return r.buf.Flush() }

// doReduce writes the HFiles of its regions.
func (t *task) doReduce(ctx context.Context) error {
	if t.Reduces != len(t.work.Reduces) {
		return fail.Errorf(fail.Config, "the job has %s, %s has %d", setting.Count(t.Reduces, "reduce"), WorkName, len(t.work.Reduces))
	}
	got := &counted{r: t.In}
	in := chunk.NewFrameReader(bufio.NewReaderSize(got, 1<<20), "the shuffle")
	out := build.Output{FS: t.fs, Dir: t.out, FileMode: 0o666, DirMode: 0o777, Identify: true}
	name := func(run uint32) string { return fmt.Sprintf("map %d/%d", run+1, t.work.Maps) }
	o := build.Options{Workers: 1, Memory: t.work.ReduceMemory, Sample: t.work.Samples, Events: t.meter.events()}
	s, err := build.MergeStream(ctx, out.Tables(t.job, t.plans), in, t.work.Reduces[t.Number], name, t.work.Plan, o)
	if err != nil {
		return err
	}
	d := ReduceDone{Schema: 1, Work: t.work.Checksum, Reduce: t.Number, Attempt: t.Attempt, Streamed: *s[0], Tables: s[1:]}
	d.Ran = t.statistics(got.bytes)
	return share.WriteSealed(ctx, t.fs, path.Join(t.out, reduceFile(t.Number)), &d, &d.Checksum)
}

// counted counts the bytes that are read or written.
type counted struct {
	r     io.Reader
	w     io.Writer
	bytes int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.bytes += int64(n)
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.bytes += int64(n)
	return n, err
}

// statistics returns the statistics of the attempt so far.
func (t *task) statistics(shuffled int64) Ran {
	r := Ran{Began: t.began.UTC(), Ended: time.Now().UTC(), Shuffled: shuffled}
	if r.Node, _ = t.Process.Env("NM_HOST"); r.Node == "" { // set by the NodeManager
		r.Node, _ = os.Hostname()
	}
	if t.Task.Map {
		r.Read = t.meter.now[1].Load()
	}
	return r
}
