package compare

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"bulkload/internal/base/workers"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// run is the work of one process on a comparison.
type run struct {
	req     Request
	options Options
	job     *checkpoint.Job
	now     time.Time // time for deciding which cells have expired
	dir     string    // directory of the lists of differences

	a, b      *opened
	comparing history.ComparingRecord      // both sides, and the cuts of an earlier attempt whose ranges count
	kept      bool                         // the ranges of an earlier attempt count
	built     bool                         // the directory for HFiles to compare exists
	found     map[int]result.ComparedRange // by number of the range
	ranges    []keyrange.Range
	result    *result.Comparison
	shown     uint64 // checksum of B's cells that differ
	fixed     *round // nil: there was no repair
	loaded    int64  // A's cells of lower timestamps were loaded by the repair before: B's delete markers hide those that B lacks
}

// repairs is the maximum number of repairs, each followed by a comparison: a marker can uncover an older cell.
const repairs = 3

// Run compares, and with [Request.Repair] repairs B and compares again. With a state directory the same call resumes after a crash. Differences are
// not an error.
func Run(ctx context.Context, request Request, o Options) (*result.Comparison, error) {
	start := time.Now()
	o = o.withDefaults()
	if err := request.check(o); err != nil {
		return nil, err
	}
	if err := o.State.MakeDir(); err != nil {
		return nil, err
	}
	var c *loader.Cluster // nil: HBase is not read
	if request.A.onHBase() || request.B.onHBase() || checkpoint.IsShared(o.State.Dir) {
		var err error
		if c, err = request.A.Env.Dial(ctx); err != nil {
			return nil, err
		}
		defer c.Close()
	}
	var done []round
	if request.Repair { // finish a load of an earlier attempt before anything is read
		resumed, err := request.repair(ctx, c, o, nil)
		if err != nil {
			return nil, err
		}
		if resumed != nil {
			done, o.State.Restart = append(done, round{Repair: *resumed}), true
		}
		if err := request.repairable(ctx, o); err != nil {
			return nil, err
		}
	}
	var file string // the list of what was repaired
	var listed int
	for {
		r, fixed, err := request.compare(ctx, c, o, done)
		if r != nil {
			r.Repairs, r.Elapsed = repairsOf(done), time.Since(start)
			if r.File == "" {
				r.File, r.Listed = file, listed
			}
			file, listed = r.File, r.Listed
		}
		if err != nil || fixed == nil {
			return r, err
		}
		done, o.State.Restart = append(done, *fixed), false
	}
}

// compare runs one comparison as a job, and the repair that follows it; done are the previous repairs. fixed is nil without a repair.
func (r Request) compare(ctx context.Context, c *loader.Cluster, o Options, done []round) (found *result.Comparison, fixed *round, err error) {
	id, err := r.identity("compare", o.State.JobID)
	if err == nil {
		id, err = id.OnCluster(ctx, c)
	}
	if err != nil {
		return nil, nil, err
	}
	st, err := checkpoint.Open(ctx, c, id, o.State, o.Events)
	if err != nil {
		return nil, nil, err
	}
	ctx, end := st.Work(ctx)
	defer func() {
		if end(&err, nil); found != nil {
			found.Job = st.Dir // none, if nothing was done
		}
	}()
	if o.State.Restart || st.Finished { // tables change: earlier results are discarded
		if err := st.Restart(ctx, r.A.Env); err != nil {
			return nil, nil, err
		}
	}
	j := &run{req: r, options: o, job: st, dir: st.Dir, now: time.Now(), result: &result.Comparison{Schema: 1, Job: st.Dir}}
	if j.dir == "" {
		if j.dir, err = os.MkdirTemp(o.SpillDir, "bulkload-compare-"); err != nil {
			return nil, nil, fail.With(fail.Config, err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(j.dir)) }()
	}
	err = st.Steps(ctx, o.Gate, []checkpoint.Step{
		{Name: "begin the attempt", Run: j.begin},
		{Name: "open both sides", Gate: true, Run: j.openAll, TakeBack: j.giveBack},
		{Name: "divide the rows into ranges", Run: j.divide},
		{Name: "compare the ranges", Gate: true, Run: j.compareAll},
		{Name: "write the differences", Run: func(context.Context) error { return j.list(done) }},
		{Name: "repair B", Run: func(ctx context.Context) error { return j.repair(ctx, c, done) }},
		{Name: "end the job", Run: j.end},
	})
	return j.result, j.fixed, errors.Join(err, j.close(ctx))
}

func (j *run) begin(context.Context) error {
	attempt, err := j.job.Begin(j.options.State.Version)
	if err == nil {
		j.options.Events.Start(progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: j.req.tableName().String(), Attempt: attempt, Inputs: []string{j.req.A.name(), j.req.B.name()},
			Phases: []string{"snapshot", "compare"}})
	}
	return err
}

// scratch returns the local directory for HFiles that are built to be compared. Each attempt creates a new one.
func (j *run) scratch() (string, error) {
	if j.built {
		return j.job.Spill, nil
	}
	records := j.job.Resume()
	if err := records.DropSpill(); err != nil {
		return "", fail.With(fail.HDFS, err)
	}
	parent, err := filepath.Abs(cmp.Or(j.options.SpillDir, os.TempDir()))
	if err != nil {
		return "", fail.With(fail.Config, err)
	}
	dir := filepath.Join(parent, build.SpillPrefix(records.Name)+rand.Text())
	if err := records.Checkpoint.Spilling(build.SpillRecord{Dir: dir}); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fail.With(fail.Config, setting.Errorf("directory for HFiles to compare: %w (name one with %s)", err, setting.SpillDir))
	}
	j.built = true
	return dir, nil
}

// recall determines whether the ranges of an earlier attempt count: if neither side has changed since. A scanned table may have. The time for
// expired cells is that of the ranges that count.
func (j *run) recall() {
	now := history.ComparingRecord{Table: j.req.tableName().String(), A: j.a.fingerprint(), B: j.b.fingerprint(), Now: j.now.UnixMilli(), Cuts: []rowkey.Key{}}
	was := j.job.Comparing
	if j.kept = was != nil && was.A == now.A && was.B == now.B && j.a.scan == nil && j.b.scan == nil; j.kept {
		now.Now, now.Cuts = was.Now, was.Cuts
	}
	j.comparing, j.now = now, time.UnixMilli(now.Now)
}

// divide determines the ranges, or uses those of an earlier attempt.
func (j *run) divide(ctx context.Context) error {
	if !j.kept {
		cuts, err := divide(ctx, j.a, j.b, j.options.RangeBytes)
		if err != nil {
			return fail.With(fail.HDFS, err)
		}
		j.comparing.Cuts = append(j.comparing.Cuts, rowkey.Keys(cuts)...)
		if err := removeLists(j.dir); err != nil {
			return fail.With(fail.HDFS, err)
		}
		if err := j.job.Record(history.EventComparing, j.comparing); err != nil {
			return err
		}
	}
	j.ranges = within(rowkey.Rows(j.comparing.Cuts), j.req.Choice.Ranges)
	return nil
}

// compareAll compares the remaining ranges.
func (j *run) compareAll(ctx context.Context) error {
	j.options.Events.Phase("compare")
	r := j.result
	r.A, r.B, r.Ranges = j.a.result(), j.b.result(), len(j.ranges)
	j.found = make(map[int]result.ComparedRange, len(j.ranges))
	var mu sync.Mutex
	count := func(i int, f result.ComparedRange) {
		mu.Lock()
		defer mu.Unlock()
		j.found[i] = f
		r.A.Rows += f.RowsA
		r.A.Cells += f.CellsA
		r.B.Rows += f.RowsB
		r.B.Cells += f.CellsB
		r.Found.Add(f.Differences)
		j.shown += f.ShownB
		if f.Rows() > 0 {
			r.Different++
		}
	}
	known := j.job.Compared
	if len(known) > 0 {
		j.options.Events.Note("ranges are compared already", "ranges", len(known))
	}
	left := []int{}
	for i := range j.ranges {
		if f, ok := known[i]; ok && j.listed(i, f) {
			count(i, f)
			continue
		}
		left = append(left, i)
	}
	n, err := j.workers(len(left))
	if err != nil {
		return err
	}
	err = workers.Each(ctx, n, len(left), func(ctx context.Context, at int) error {
		if err := progress.Pass(ctx, j.options.Gate); err != nil {
			return err
		}
		f, err := j.compareRange(ctx, left[at])
		if err != nil {
			return err
		}
		count(left[at], f)
		return j.job.Record(history.EventCompared, history.ComparedRecord{Range: left[at], Found: f})
	})
	r.Equal = err == nil && r.Found.Rows() == 0
	return err
}

// workers returns the number of ranges that are read concurrently: the number of workers, or fewer if memory is insufficient.
func (j *run) workers(ranges int) (int, error) {
	o := build.Options{Workers: j.options.Workers, Memory: j.options.Memory}.WithDefaults()
	each := j.a.room() + j.b.room()
	if each > int64(o.Memory) {
		return 0, fail.Errorf(fail.Config, "reading a region of both sides takes %d MiB, and %s is %s: give more", each>>20+1, setting.Memory, o.Memory)
	}
	return max(min(o.Workers, ranges, int(int64(o.Memory)/each)), 1), nil
}

// listed reports whether an earlier attempt has produced the requested output for a range: its digests, and a list of its differences that is still
// on this machine, with as many rows as are to be listed.
func (j *run) listed(number int, f result.ComparedRange) bool {
	if j.options.Digests != "" && !f.Digested {
		return false
	}
	if j.options.Differences == "" || f.Rows() == 0 {
		return true
	}
	list, err := os.ReadFile(listOf(j.dir, number))
	return err == nil && int64(bytes.Count(list, []byte("\n"))) >= min(f.Rows(), int64(j.options.Limit))
}

// compareRange compares the rows of one range.
func (j *run) compareRange(ctx context.Context, number int) (f result.ComparedRange, err error) {
	if err := os.Remove(listOf(j.dir, number)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an attempt that did not record the range
		return f, fail.With(fail.HDFS, err)
	}
	m, end := j.join(ctx, j.ranges[number], j.req.view(j.now))
	defer func() { err = errors.Join(err, end()) }()
	m.read = j.options.Events.Read
	if j.options.Digests != "" {
		m.sums, m.sum.Digested = &digester{timestamps: j.req.Timestamps}, true
	}
	if j.options.Differences != "" {
		l := &list{path: listOf(j.dir, number), left: j.options.Limit, join: m}
		m.found = l.take
		defer func() { err = errors.Join(err, l.close()) }()
	}
	err = m.run(ctx)
	return m.sum, tablesource.ReadFailure(err)
}

// join opens a range of rows of both sides. The caller must call end.
func (j *run) join(ctx context.Context, x keyrange.Range, v view) (_ *join, end func() error) {
	a, b := j.a.read(ctx, x, v), j.b.read(ctx, x, v)
	return &join{a: a, b: b, timestamps: j.req.Timestamps, versions: j.req.Versions != 1, shown: digester{timestamps: true}}, func() error { return errors.Join(b.Close(), a.Close()) }
}
