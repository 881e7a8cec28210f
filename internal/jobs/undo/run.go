package undo

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Options are the options of [Run].
type Options struct {
	DryRun     bool   // predict only, change nothing
	By         string // markers or snapshot; empty: the kind of the undo that is under way, else markers
	Snapshot   string // by snapshot: a snapshot from before the load, default the job's
	Into       string // by snapshot: a new table that is made from it; empty: the load's table is restored
	Discard    bool   // by snapshot: later changes of others may be lost
	InsertOnly bool   // the caller knows that no row of the load was in the table before
	Verify     string // full: the table is as predicted (default); range: no cell of the load is visible, for tables that others write to meanwhile
	Staging    string // directory on HDFS for the files with delete markers, default [staging.Base]
	Stage      loader.Stage
	// LoadConcurrency is the number of regions of the whole table that load concurrently, default 2 per region server, 8 while they are fast.
	LoadConcurrency int
	LockWait        time.Duration // how long to wait for another process that works on the job; default: no wait
	Version         string        // version of the program, for the journal
	Gate            progress.Gate // the load waits here between its steps, default: no gate
	Events          progress.Events
}

// undo is the work of one process on an undo.
type undo struct {
	env       *cluster.Env
	options   Options
	cluster   *loader.Cluster
	job       *checkpoint.Job
	state     string    // directory of all jobs' state
	tables    []*target // in loading order
	clusterID string    // cluster id
	result    *result.Undo
	read      reading
}

// Run removes the load of a finished job from its tables. dir is the directory of
// the job's state. If there is an error, the result has the state so far, or is
// nil. An error of kind [fail.Check] explains why markers would lose data; nothing
// was changed then. The same call resumes after a crash, and does nothing after a
// success.
func Run(ctx context.Context, env *cluster.Env, dir string, o Options) (_ *result.Undo, err error) {
	started := time.Now()
	dir = filepath.Clean(dir)
	u := &undo{env: env, options: o, state: filepath.Dir(dir)}
	u.options.Verify = cmp.Or(o.Verify, "full")
	if err := abilities.Verifies(abilities.Undo, u.options.Verify, "full", "range"); err != nil {
		return nil, fail.With(fail.Config, err)
	}
	u.read = reading{workers: readers, now: started, events: o.Events}
	if o.DryRun {
		trace, err := status.ReadTrace(dir)
		if err != nil {
			return nil, fail.With(fail.Input, err)
		}
		u.job = &checkpoint.Job{Dir: dir, History: trace.History}
	} else {
		if u.job, err = checkpoint.OpenDir(ctx, env, dir, o.LockWait, o.Events); err != nil {
			return nil, err
		}
		working, end := u.job.Work(ctx)
		defer end(&err, nil)
		ctx = working
	}
	loads, err := u.loads(dir)
	if err != nil {
		return nil, err
	}
	u.target(loads, dir)
	defer func() { u.result.Elapsed = time.Since(started) }()
	if was := u.job.Undo; was != nil && was.Done {
		if o.Into != "" {
			return u.result, fail.Errorf(fail.Check, "job %s is undone already: %s is not made; the shell of HBase makes a table of a snapshot: clone_snapshot", u.jobName(), o.Into)
		}
		if was.Result != nil {
			*u.result = *was.Result
		}
		u.result.Already, u.result.DoneAt = true, was.DoneAt
		return u.result, nil
	}
	if u.options.By != BySnapshot && !slices.ContainsFunc(loads, func(l *load) bool { return l.manifest.Digest.Cells > 0 }) {
		return u.result, fail.Errorf(fail.Check, "job %s has written no cells: there is nothing to undo", u.jobName())
	}
	if u.cluster, err = env.Dial(ctx); err != nil {
		return u.result, err
	}
	defer u.cluster.Close()
	if u.clusterID, err = u.cluster.ID(ctx); err != nil {
		return u.result, cluster.Failure(err)
	}
	for _, t := range u.tables {
		if err := t.sameCluster(u.clusterID); err != nil {
			return u.result, err
		}
	}
	if err := u.withinQuotas(ctx); err != nil {
		return u.result, err
	}
	for _, t := range u.tables {
		if u.options.By == BySnapshot {
			r, err := u.restoring()
			if err != nil {
				return u.result, err
			}
			if made, err := r.made(ctx); made || err != nil {
				return u.result, err
			}
			return u.result, r.run(ctx)
		}
		if t.facts, err = cluster.TableFacts(ctx, env, u.cluster, t.table.String(), t.families...); err != nil {
			return u.result, err
		}
	}
	if err := cmp.Or(u.countUndone(ctx), u.findTwins()); err != nil {
		return u.result, err
	}
	if o.DryRun {
		return u.result, u.predict(ctx)
	}
	return u.result, u.job.Steps(ctx, nil, u.steps())
}

// loads returns the loads to undo, according to the options or to the undo that is under way.
func (u *undo) loads(dir string) ([]*load, error) {
	if was := u.job.Undo; was != nil && !was.Done {
		by := ByMarkers
		if was.From != nil {
			by = BySnapshot
		}
		if u.options.By != "" && u.options.By != by {
			return nil, fail.With(fail.Config, setting.Errorf("an undo by %s is under way: %s %[1]s ends it", by, setting.UndoBy))
		}
		u.options.By = by
	}
	if u.options.By != BySnapshot {
		return loadsOf(dir, &u.job.History)
	}
	l, err := loadBefore(dir, &u.job.History)
	return []*load{l}, err
}

// jobName returns the name of the job's directory.
func (u *undo) jobName() string { return u.tables[0].job }

// predict surveys snapshots that are taken for this, and deletes them again.
func (u *undo) predict(ctx context.Context) error {
	if was := u.job.Undo; was != nil && was.Built {
		for i, was := range resultsOf(was.Result) {
			u.tables[i].result.Survey = was.Survey
		}
		return nil // as predicted when the undo began
	}
	for _, t := range u.tables {
		u.options.Events.Phase("snapshot")
		var err error
		if t.result.Survey, err = t.present(ctx); err != nil {
			return err
		}
	}
	return u.judge(ctx)
}

// countUndone counts for each table the other timestamps that were undone.
func (u *undo) countUndone(ctx context.Context) error {
	undone, err := checkpoint.ReadUndone(ctx, u.cluster, u.state, u.options.Events)
	if err != nil {
		return err
	}
	for _, t := range u.tables {
		others := map[int64]bool{}
		for _, x := range undone {
			if x.Cluster == u.clusterID && x.Table == t.table.String() && x.Timestamp != t.stamp {
				others[x.Timestamp] = true
			}
		}
		t.others = len(others)
	}
	return nil
}

// findTwins finds for each table the other jobs of the state directory that have loaded it with the same timestamp.
func (u *undo) findTwins() error {
	jobs, err := status.ReadAll(u.state)
	if err != nil {
		return err
	}
	for _, t := range u.tables {
		for _, s := range jobs {
			if s.Job == t.job || !loads(s, t.table.String()) || s.Loaded+s.Sent == 0 || s.Undo == history.UndoDone {
				continue
			}
			trace, err := status.ReadTrace(s.Dir)
			if err != nil {
				return fail.With(fail.Input, err)
			}
			if p := trace.Plan; p != nil && p.Timestamp == t.stamp && !u.elsewhere(p) {
				t.twins = append(t.twins, s.Job)
			}
		}
	}
	return nil
}

// judge refuses an undo by which markers would lose data in any of the tables.
func (u *undo) judge(ctx context.Context) error {
	var all []setting.Text
	for _, t := range u.tables {
		for _, why := range t.refusals(t.result.Survey, u.options.InsertOnly) {
			if t.several {
				why = setting.Textf("table %s: %s", t.table, why)
			}
			all = append(all, why)
		}
	}
	refused := refuse(u.result, all)
	if refused == nil {
		return nil
	}
	return fail.With(fail.Check, setting.Errorf("job %s is not undone by markers, and nothing was changed: %w; %s", u.jobName(), refused, u.tables[0].wayBack(ctx)))
}

// steps returns the steps of an undo. Tables are undone in the reverse order of loading, so that readers find no index entry whose row is gone.
func (u *undo) steps() []checkpoint.Step {
	sent := func() bool { was := u.job.Undo; return was == nil || !was.Built || len(was.Sent) > 0 }
	steps := []checkpoint.Step{
		u.job.BeginStep(u.options.Version, nil),
		{Name: "delete snapshots of earlier attempts", Run: u.dropPresent},
		{Name: "check again before the first marker is sent", Done: sent, Run: u.reconsider},
		{Name: "record the step in the journal", Done: func() bool { return u.job.Undo != nil }, Run: u.begin},
		{Name: "write the markers", Run: u.build},
	}
	for _, t := range slices.Backward(u.tables) {
		steps = append(steps, checkpoint.Step{Name: "take the load out of " + t.table.String(), Done: func() bool { return u.job.Undo.Out[t.number] }, Run: t.takeOut})
	}
	return append(steps, checkpoint.Step{Name: "end the undo", Run: u.end})
}

// dropPresent deletes the snapshots of an attempt that was killed while it read a table.
func (u *undo) dropPresent(ctx context.Context) error {
	left := u.job.InputPlaces()
	for _, t := range u.tables {
		left = append(left, t.presentPlace())
	}
	return fail.With(fail.Load, u.job.DropSnapshots(ctx, u.cluster, left...))
}

// resume restores the prediction and the files of an earlier attempt.
func (u *undo) resume() {
	before := *u.job.Undo.Result
	before.DryRun, before.Elapsed, before.Tables = false, 0, nil
	for _, r := range u.job.Undo.Result.Tables { // copied, because changes by this attempt are not in the journal
		before.Tables = append(before.Tables, new(*r))
	}
	*u.result = before
	files := 0
	for i, r := range resultsOf(u.result) {
		u.tables[i].result = r
		files += len(u.job.Undo.Markers[i])
	}
	u.options.Events.Note("markers are written already", "files", files)
}

// begin records the begin of the undo, with the names of the snapshots and the
// staging directories.
func (u *undo) begin(ctx context.Context) error {
	now := time.Now()
	begun := history.UndoRecord{Timestamp: u.tables[0].stamp, Created: now.UnixMilli()}
	for i, t := range u.tables {
		l, err := staging.Choose(ctx, u.env, u.options.Staging, t.table.String(), t.stamp)
		if err != nil {
			return err
		}
		own := history.UndoTable{Table: t.table.String(), Snapshot: tablesource.NewName(t.table, now), Staging: l.String()}
		if i == 0 {
			begun.Snapshot, begun.Staging = own.Snapshot, own.Staging
		} else {
			begun.Tables = append(begun.Tables, own)
		}
	}
	return u.job.Record(history.EventUndoing, begun)
}

// withdraw records that nothing was changed, and that the timestamp may be used: no marker of it was loaded.
func (u *undo) withdraw(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := u.dropSnapshots(ctx); err != nil {
		return err // the undo stays begun, and the same command withdraws it
	}
	u.dropStaging(ctx)
	for _, t := range u.tables {
		if err := checkpoint.WithdrawUndone(ctx, u.cluster, u.state, t.noted(), u.options.Events); err != nil {
			return err
		}
	}
	return u.job.Record(history.EventUndoing, history.UndoRecord{})
}

// end removes temporary files, and records that the undo is done. It keeps the snapshots if a table was not as predicted, unless a later full
// verification has succeeded.
func (u *undo) end(ctx context.Context) error {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if u.job.Undo.Differs && u.options.Verify != "full" {
		for _, t := range u.tables {
			u.options.Events.Warn("the snapshot from before the undo is kept, since the table was not as predicted: delete it by hand", "table", t.table.String(), "snapshot", t.own().Snapshot)
			if err := u.job.ForgetSnapshot(history.PlaceUndone(t.number)); err != nil {
				return err
			}
		}
	} else {
		for _, r := range resultsOf(u.result) {
			r.Snapshot = ""
		}
		if err := u.dropSnapshots(ctx); err != nil {
			return err
		}
	}
	u.dropStaging(ctx)
	u.job.EndPrepared(ctx, u.env, u.cluster, u.options.Events)
	return u.job.Record(history.EventUndone, history.UndoneRecord{Undo: u.result})
}
