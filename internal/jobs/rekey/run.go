package rekey

import (
	"context"
	"slices"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// run is the work of one process on a job.
type run struct {
	env     *cluster.Env
	req     *resolved
	options RunOptions
	job     *checkpoint.Job
	cluster *loader.Cluster

	source *snapshot.Snapshot // nil: no longer needed
	facts  *cluster.Facts
	dir    *staging.Dir
	proven bool // every file has just been read completely
	result *result.Result

	started time.Time
}

// Run runs the whole job: snapshot, new table, files, load, verification. With a
// state directory the same call resumes after a crash, and does nothing after a
// success. If there is an error, the result has the state so far, or is nil.
func Run(ctx context.Context, env *cluster.Env, request Request, o RunOptions) (r *result.Result, err error) {
	start := time.Now()
	req, err := request.resolve()
	if err != nil {
		return nil, err
	}
	if err := o.State.MakeDir(); err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	id, err := req.identity(o.State.JobID).OnCluster(ctx, c)
	if err != nil {
		return nil, err
	}
	st, err := checkpoint.Open(ctx, c, id, o.State, o.Events)
	if err != nil {
		return nil, err
	}
	ctx, end := st.Work(ctx)
	defer func() { end(&err, r) }()
	j := &run{env: env, req: req, options: o, job: st, cluster: c, started: start, result: &result.Result{Schema: 1, Table: req.To.String(), Job: st.Dir}}
	if o.State.Restart {
		if err := req.restartable(ctx, c); err != nil {
			return j.result, err
		}
		if err := st.Restart(ctx, env, j.yarn().End); err != nil {
			return j.result, err
		}
	}
	if st.Rekey != nil && st.Rekey.Snapshot != "" { // otherwise nothing remains of an earlier attempt
		if err := req.checkCells(st.Rekey); err != nil {
			return j.result, err
		}
	}
	if st.Finished {
		if err := req.checkRows(st.Rekey); err != nil {
			return j.result, err
		}
		return j.earlierResult(ctx), nil
	}
	if err := j.engine(); err != nil {
		return j.result, err
	}
	if !st.Loading {
		if err := job.CheckQuota(ctx, c, req.To); err != nil {
			return j.result, err
		}
	}
	defer func() { j.result.Elapsed = time.Since(start) }()
	return j.result, st.Steps(ctx, o.Gate, j.steps())
}

// steps returns the steps of a rekey.
func (j *run) steps() []checkpoint.Step {
	built := func() bool { return j.job.Built != nil }
	var m *manifest.Manifest
	steps := []checkpoint.Step{
		{Name: "record the snapshot in the journal", Gate: true, Run: j.record, TakeBack: j.giveBack},
		{Name: "open the snapshot", Done: built, Run: j.open},
		{Name: "make the table", Run: j.plan},
	}
	if j.options.PlanTo != "" {
		return append(steps, checkpoint.Step{Name: "plan shares", Run: j.divide})
	}
	return append(steps, []checkpoint.Step{
		{Name: "begin the attempt", Run: j.begin},
		{Name: "build the files", Run: func(ctx context.Context) (err error) { m, err = j.build(ctx); return err }},
		{Name: "load the files", Gate: true, Run: func(ctx context.Context) error { return j.load(ctx, m) }},
		{Name: "delete the snapshot", Run: func(ctx context.Context) error { j.drop(ctx); return nil }},
		{Name: "verify the table", Gate: true, Run: func(ctx context.Context) error { return j.verify(ctx, m) }},
		{Name: "end the job", Run: j.end},
	}...)
}

// begin begins an attempt.
func (j *run) begin(context.Context) (err error) {
	if j.result.Attempt, err = j.job.Begin(j.options.State.Version); err == nil {
		j.options.Events.Start(j.start())
	}
	return err
}

// record records the input of the job before anything else is done, or uses the
// record of an earlier attempt.
func (j *run) record(context.Context) error {
	q, k := j.req, j.job.Rekey
	if k == nil || k.Snapshot == "" {
		now := time.Now()
		if err := j.job.ForgetBuild(); err != nil { // files of another snapshot
			return err
		}
		k = &history.RekeyRecord{From: q.From.String(), Snapshot: q.Snapshot, Now: now.UnixMilli(), Since: q.chosen.Since, Choice: q.Choice, Versions: q.Versions, Key: q.Key, OldKey: q.OldKey, Makes: k != nil && k.Makes}
		if k.Snapshot == "" {
			k.Snapshot, k.Own, k.Created = tablesource.NewName(q.From, now), true, now.UnixMilli()
		}
	} else if k.Duplicates == q.Duplicates && k.BadRecords == q.BadRecords {
		return nil
	}
	if j.job.Built != nil || j.divided() {
		return q.checkRows(k)
	}
	if err := j.job.ForgetBuild(); err != nil {
		return err
	}
	now := *k
	now.Duplicates, now.BadRecords = q.Duplicates, q.BadRecords
	return j.job.Record(history.EventRekey, now)
}

func (j *run) now() time.Time {
	if j.job.Rekey == nil {
		return time.Time{}
	}
	return time.UnixMilli(j.job.Rekey.Now)
}

// input returns the name of the job's input.
func (j *run) input() string { return j.req.ref().String() }

// open opens the snapshot, and takes it if it is the job's own and does not exist.
func (j *run) open(ctx context.Context) (err error) {
	k := j.job.Rekey
	if k.Own { // files of earlier attempts depend on the snapshot that those have taken
		_, there, err := j.cluster.SnapshotTime(ctx, j.req.From, k.Snapshot)
		if err == nil && !there && j.divided() {
			return fail.Errorf(fail.Check, "snapshot %s, which other processes read, is gone (%s discards the job and takes another one)", k.Snapshot, setting.Restart)
		}
		if err == nil && !there {
			err = j.job.ForgetBuild()
		}
		if err != nil {
			return fail.With(fail.Load, err)
		}
	}
	src, err := tablesource.Open(ctx, j.env, j.req.ref(), tablesource.Options{Name: k.Snapshot, Created: k.Created, Keep: k.Own, FilesOnly: true, Choice: j.req.chosen})
	if err != nil {
		return err
	}
	j.source = src.Snapshot
	if err := j.req.checkTable(j.source); err != nil {
		return err
	}
	now := *k
	if now.Created = j.source.Created.UnixMilli(); now.Created == k.Created {
		return nil
	}
	if j.divided() {
		return fail.Errorf(fail.Check, "snapshot %s is not the one that other processes read (%s discards the job)", k.Snapshot, setting.Restart)
	}
	if err := j.job.ForgetBuild(); err != nil { // files of another snapshot with that name
		return err
	}
	return j.job.Record(history.EventRekey, now)
}

// checkTable refuses the snapshot of another table.
func (q *resolved) checkTable(s *snapshot.Snapshot) error {
	if name, err := loader.ParseTableName(s.Table); err != nil || name != q.From {
		return fail.Errorf(fail.Config, "snapshot %s is of table %s, not of %s", s.Name, s.Table, q.From)
	}
	return nil
}

// plan finds or creates the new table and chooses the staging directory, or takes
// both from the journal.
func (j *run) plan(ctx context.Context) (err error) {
	p := j.job.Plan
	if p == nil {
		if j.facts, err = j.target(ctx); err != nil {
			return err
		}
		now := j.now().UnixMilli()
		l, err := staging.Choose(ctx, j.env, j.options.Staging, j.facts.Name.String(), now)
		if err != nil {
			return err
		}
		p = &history.PlanRecord{Job: j.job.ID, Table: j.facts.Name.String(), Family: j.facts.Family, Families: j.facts.Families, Key: j.req.Key, Columns: []string{},
			Duplicates: j.req.Duplicates, Timestamp: now, Staging: l.String(), Inputs: []history.InputRecord{{Input: j.input(), Place: j.input(), Size: j.source.Bytes()}}}
		p.Splits = rowkey.Keys(j.facts.Splits)
		if p.Made, err = checkpoint.RecordTable(ctx, j.env, j.cluster, j.facts.Table, j.facts.Regions); err != nil {
			return err
		}
		if err := j.job.Record(history.EventPlan, *p); err != nil {
			return err
		}
	} else if j.facts, err = cluster.TableFacts(ctx, j.env, j.cluster, p.Table, spec.FamilyNames(p.Families)...); err != nil {
		return err
	}
	j.dir, err = j.job.Stage(ctx, j.env, p.Staging)
	j.result.Staging = p.Staging
	return err
}

func (j *run) start() progress.Start {
	p := j.job.Plan
	s := progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: p.Table, Attempt: j.result.Attempt, Key: p.Key, Inputs: []string{j.input()}, Bytes: p.Inputs[0].Size,
		Regions: len(p.Splits) + 1, Timestamp: p.Timestamp, Staging: p.Staging, Phases: []string{"read", "sort", "write", "check", "load"}}
	if j.source != nil {
		for _, r := range j.source.Regions {
			s.Files += r.Files
		}
	}
	switch {
	case j.job.Built != nil || j.job.Rekey.Shares != "":
		s.Phases = s.Phases[3:]
	case j.job.Sorted != nil && len(j.job.Sorted.Runs) > 0:
		s.Phases = s.Phases[2:]
	}
	if len(j.job.Written) > 0 && !j.job.Loading {
		s.Phases = slices.Insert(s.Phases, 0, "check")
	}
	if j.req.Verify == "full" {
		s.Phases, s.Verify = append(s.Phases, "verify"), "full"
	}
	return s
}

// earlierResult returns the result of a job that was done before.
func (j *run) earlierResult(ctx context.Context) *result.Result {
	r := j.result
	j.job.Answer(ctx, j.env, r, j.options.Events)
	j.options.Events.Start(progress.Start{Job: j.job.Dir, JobID: j.options.State.JobID, Table: r.Table, Key: j.req.Key, Inputs: []string{j.input()}, Timestamp: j.now().UnixMilli()})
	return r
}

// giveBack deletes the job's own snapshot after an error that the same command
// would repeat: the next attempt takes another one. After any other error the
// snapshot is kept.
func (j *run) giveBack(ctx context.Context, cause error) error {
	own, there := j.job.OwnSnapshots[history.PlaceRekeyed]
	if !there || j.divided() {
		return nil
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	kind := fail.KindOf(cause)
	if j.job.Built != nil || kind != fail.Config && kind != fail.Check && kind != fail.BadRows {
		if _, there, err := j.cluster.SnapshotTime(ctx, j.req.From, own.Snapshot); there || err != nil {
			j.options.Events.Warn("the snapshot stays for the next attempt; bulkload clean deletes it with the job", "snapshot", own.Snapshot)
		}
		return nil
	}
	if err := j.job.ForgetBuild(); err != nil {
		return err
	}
	if !j.drop(ctx) {
		return nil
	}
	now := *j.job.Rekey
	now.Snapshot = ""
	return j.job.Record(history.EventRekey, now)
}

// drop deletes the job's own snapshot when the job does not need it any more.
func (j *run) drop(ctx context.Context) bool {
	if err := j.job.DropSnapshots(ctx, j.cluster, history.PlaceRekeyed); err != nil {
		j.options.Events.Warn("the snapshot is left behind", "error", err)
		return false
	}
	return true
}

// end records that the job is done.
func (j *run) end(ctx context.Context) error {
	if err := j.job.Record(history.EventVerified, j.result.Verify); err != nil {
		return err
	}
	j.job.EndPrepared(ctx, j.env, j.cluster, j.options.Events)
	k := j.job.Rekey
	j.result.Rekey = &result.Rekey{From: k.From, Snapshot: k.Snapshot, Created: k.Created, Since: k.Since, Next: j.req.next(k.Created)}
	j.result.Elapsed = time.Since(j.started)
	return j.job.End(ctx, j.result, j.dir, j.options.Keep, j.options.Events)
}
