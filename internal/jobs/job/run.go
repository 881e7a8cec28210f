package job

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/fresh"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/mapreduce"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/internal/pipeline/verify"
	"bulkload/pkg/loader"
)

// RunOptions is [WorkOptions] with the options of a whole run.
type RunOptions struct {
	build.WorkOptions
	Staging  string       // directory on HDFS, default [staging.Base]
	Keep     bool         // keep the staging directory of a successful run
	MaxFiles int          // for one family of a region, default that of the configuration, else 32; more are merged
	Stage    loader.Stage // the load mode, default as the table needs it
	Snapshot string       // name of a snapshot to take before loading; empty: none
	// KeepSnapshots is the number of snapshots to keep of those that jobs of the state directory have taken before loading the table, including this one's; 0: all.
	KeepSnapshots int
	State         checkpoint.Options
	// LoadConcurrency is the number of concurrent calls to regions of the table, default 2 for each region server, 8 while they are quick.
	LoadConcurrency int

	// CompactAfter is minor or major to request compactions of the tables after they are loaded and verified. Default: none.
	CompactAfter string

	// Quiet switches off splits, merges and normalization of the job's tables while it runs.
	Quiet bool

	// Into is the new table that a job with Replace creates to replace its own, which stays unchanged. Empty: it replaces in place.
	Into   string
	Splits fresh.Splits // of the new table; nil: those of the job's table

	// JobFile is the name of the file that describes the job, by which expectations know the earlier jobs to compare with. Empty: none.
	JobFile string

	// Also are directories of the configurations of further clusters, whose tables of the same names get the same files. See [RunOnClusters].
	Also []string

	// YARN builds the HFiles on YARN. Default: in this process.
	YARN *mapreduce.Settings

	part, parts   int // of a job that was split, from 1; 0: it was not
	behind, ahead progress.PartsWork
}

// samplesPerRegion is the number of rows of each region that a run with verification "sample" reads back.
const samplesPerRegion = 20

// Run does the whole job: table facts, build into staging, load, verify.
// Nothing is loaded unless the whole input was read and every file verified.
// With an error it returns the result as far as it is known, or nil.
// With a state directory the same call after a crash resumes,
// and after a success does nothing.
func Run(ctx context.Context, env *cluster.Env, s spec.Job, o RunOptions) (r *result.Result, err error) {
	start := time.Now()
	s, table, into, err := accepted(env, s, o)
	if err != nil {
		return nil, err
	}
	id, err := checkpoint.Identify(env, s, o.State.JobID)
	if err != nil {
		return nil, err
	}
	if into != nil {
		id = id.InPlaceOf(into.Old)
	}
	if err := o.State.MakeDir(); err != nil {
		return nil, err
	}
	known := &result.Result{Schema: 1, Table: table}
	c, err := env.Dial(ctx)
	if err == nil {
		defer c.Close()
		id, err = id.OnCluster(ctx, c)
	}
	if err != nil {
		return notReached(known, id, o.State, err)
	}
	known.Job = o.State.StateDir(id)
	st, err := checkpoint.Open(ctx, c, id, o.State, o.Events)
	if err != nil {
		return known, err
	}
	ctx, end := st.Work(ctx)
	defer func() { end(&err, r) }()
	defer func() { st.GiveBackTables(ctx, c, o.Events) }()
	if err := undone(st.Dir, &st.History, o.State.Restart, o.afterUndo()); err != nil {
		return known, err
	}
	if err := KeepRejects(&o.WorkOptions, st.Dir); err != nil {
		return known, err
	}
	if !st.Finished || o.State.Restart { // a finished job needs no time window
		if err := progress.Pass(ctx, o.Gate); err != nil {
			return nil, err
		}
	}
	if err := begin(ctx, env, c, st, s, into, o); err != nil {
		return known, err
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	others := listOthers(asking, env, st, o)
	facts, err := cluster.TableFacts(ctx, env, c, table, s.Families()...)
	if err != nil {
		return known, err
	}
	s.Table = facts.Name.String()
	j := &run{env: env, spec: s, options: o, job: st, cluster: c, facts: facts, started: start, fresh: into, others: others, result: &result.Result{Schema: 1, Table: s.Table, Job: st.Dir, JobFile: o.JobFile}}
	defer func() { j.result.Elapsed = cmp.Or(j.result.Elapsed, time.Since(start)) }()
	defer j.copying.Wait()
	if err := j.yarn().SameEngine(j.options.YARN); err != nil {
		return j.result, err
	}
	err = j.open(ctx)
	defer func() { err = errors.Join(err, j.streams.Close(), j.closeTables(ctx)) }()
	if err != nil {
		if st.History.Plan == nil { // no later attempt finds it: the next one may be another job
			j.dropTables(ctx)
		}
		return j.result, err
	}
	if st.Finished {
		j.dropStreams() // of a process that was killed between the job's end and this step
		j.dropTables(ctx)
		return j.earlierResult(ctx)
	}
	err = st.Steps(ctx, o.Gate, j.steps())
	j.result.Elapsed = time.Since(start)
	return j.result, err
}

// accepted refuses options that contradict each other, before any request to the cluster. It returns the job, the name of its
// table, and the new table if one replaces another.
func accepted(env *cluster.Env, s spec.Job, o RunOptions) (_ spec.Job, table string, into *freshTable, err error) {
	name, err := cluster.TableName(s)
	if err = cmp.Or(err, CheckEngine(env, o.YARN, o.State, s), checkTables(o, s), checkDuplicatesFile(o, s)); err != nil {
		return s, "", nil, err
	}
	if into, err = inPlaceOf(o, s); err != nil {
		return s, "", nil, err
	}
	if into != nil {
		s, name = into.job, into.New
	}
	return s, name.String(), into, cmp.Or(checkReplace(s), tablesource.CheckReadBy(s.Inputs, tablesource.ReadBy(s.ReadBy)), tablesource.CheckTables(s))
}

// begin refuses a snapshot that exists, discards the job's state if it is to start over, and creates the new table that replaces another.
func begin(ctx context.Context, env *cluster.Env, c *loader.Cluster, st *checkpoint.Job, s spec.Job, into *freshTable, o RunOptions) error {
	if err := snapshotFree(ctx, c, st, o.Snapshot, o.State.Restart); err != nil {
		return err
	}
	if o.State.Restart {
		if err := rehearsed(ctx, env, c, st, s, into, o); err != nil {
			return err
		}
		if err := st.Restart(ctx, env, OnYARN{Env: env, Journal: st}.End, into.restarting(env, c, st, o)); err != nil {
			return err
		}
	}
	if into == nil {
		return nil
	}
	return into.make(ctx, env, c, st)
}

// open finds the job's other tables, opens its inputs, and plans it.
func (j *run) open(ctx context.Context) error {
	if err := j.findTables(ctx); err != nil {
		return err
	}
	if err := j.storesReadable(ctx); err != nil {
		return err
	}
	if err := j.openTables(ctx); err != nil {
		return err
	}
	return j.plan(ctx)
}

// notReached ends a run that cannot reach its cluster. If the job has state of
// one cluster only, another process that has that is named, and the result of the
// run is for its directory.
func notReached(known *result.Result, id checkpoint.Identity, o checkpoint.Options, cause error) (*result.Result, error) {
	dir := o.AnyCluster(id)
	if dir == "" {
		return known, cause
	}
	lock, err := journal.TryLock(dir)
	if _, busy := errors.AsType[*journal.BusyError](err); busy {
		return known, fail.With(fail.Busy, err)
	}
	if err != nil {
		return known, cause
	}
	known.Job = dir
	return known, errors.Join(cause, lock.Release())
}

// The phases of a job are types, each made from the one before: only built files
// can be loaded, and only a loaded table can be verified.

// built is a job whose HFiles are complete and whose row counts match. It is made
// by run.build, and by LoadDir for files that it has read.
type built struct {
	manifest *manifest.Manifest
	markers  []loader.HFile // loaded together with the files of the manifest
}

// loaded is a job after HBase has loaded every file. It is made by loadFiles, also
// from a journal that has this state.
type loaded struct {
	manifest *manifest.Manifest
	facts    *cluster.Facts
	stores   *verify.Stores // nil if only rows are compared
}

// verify compares a loaded table with the files that were written, to the extent of the mode. The findings are in
// the result, also if there is an error.
func (j *run) verify(ctx context.Context, l *loaded, mode string, r *result.Result) error {
	return verify.Table(ctx, j.cluster, l.facts, mode, l.manifest, l.stores, j.options.Events, r)
}

// recordVerified ends the verification of a table, which the result has: it also compares the table with an export that replaces its rows.
func (j *run) recordVerified(ctx context.Context, m *manifest.Manifest, r *result.Result) error {
	if err := j.replaced(ctx, m, r.Verify); err != nil {
		return err
	}
	return j.job.Record(history.EventVerified, r.Verify)
}

// storesReadable refuses a job that is to be verified by its files if these cannot be read.
func (j *run) storesReadable(ctx context.Context) error {
	if j.spec.Verify != "files" || j.job.Finished {
		return nil
	}
	s, err := verify.StoresOf(j.env)
	if err != nil {
		return err
	}
	for _, t := range j.targets {
		if err := s.Readable(ctx, t.facts); err != nil {
			return err
		}
	}
	return nil
}

// start returns the description of the attempt when it begins.
func (j *run) start() progress.Start {
	s := progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: j.spec.Table, Attempt: j.result.Attempt, Key: j.spec.Key(), Inputs: j.spec.Inputs,
		Regions: j.work.Ranges.Len(), Timestamp: j.work.Timestamp, Staging: j.result.Staging,
		Part: j.options.part, Parts: j.options.parts, Behind: j.options.behind, Ahead: j.options.ahead}
	j.addInputs(&s)
	s.Splits = j.work.Ranges.Splits()
	s.Columns, s.Phases, s.Earlier = len(j.work.Columns), j.phasesLeft(), earlierPace(j.job.Dir)
	if slices.Contains(s.Phases, "verify") {
		s.Verify = j.spec.Verify
	}
	return s
}

// phasesLeft returns the phases that the attempt will go through, according to the
// journal.
func (j *run) phasesLeft() (phases []string) {
	if j.job.Finished {
		if j.spec.Verify == "full" {
			return []string{"verify"}
		}
		return nil
	}
	if len(j.job.Written) > 0 && !j.job.AnyLoading() {
		phases = append(phases, "check")
	}
	if j.job.Built == nil {
		if j.job.Sorted == nil || len(j.job.Sorted.Runs) == 0 {
			phases = append(phases, "read", "sort")
		}
		phases = append(phases, "write")
	}
	if j.options.Snapshot != "" && j.job.History.Snapshot == "" && !j.job.AnyLoading() {
		phases = append(phases, "snapshot")
	}
	if j.job.Built == nil || j.job.AnyLoading() {
		phases = append(phases, "check")
	}
	if j.compares() && !j.job.AnyLoading() {
		phases = append(phases, "replace")
	}
	phases = append(phases, "load")
	if v := j.spec.Verify; v == "full" || v == "files" || v == "sample" {
		phases = append(phases, "verify")
	}
	return phases
}
