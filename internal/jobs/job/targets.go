package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/base/abilities"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/staging"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// target is one of the tables that a run fills.
type target struct {
	spec.Target
	number   int // in loading order, from 0
	facts    *cluster.Facts
	families []spec.Family // with the job's settings
	plan     *cells.Plan
	stage    *stage // location of its files
}

// checkTables refuses unsupported options of a job of several tables, or of several processes.
func checkTables(o RunOptions, s spec.Job) error {
	if o.YARN != nil {
		if err := s.Divisible(abilities.YARN); err != nil {
			return err
		}
	}
	if s.Several() && o.Snapshot != "" {
		return fail.With(fail.Config, setting.Errorf("%s names a snapshot of one table, but the job has several: take their snapshots before the load", setting.Snapshot))
	}
	return nil
}

// findTables reads the facts of all tables except the first, whose facts are known.
func (j *run) findTables(ctx context.Context) error {
	all := []*cluster.Facts{j.facts}
	for _, x := range j.spec.Targets()[1:] {
		facts, err := cluster.TableFacts(ctx, j.env, j.cluster, x.Table, x.Families()...)
		if err != nil {
			return err
		}
		all = append(all, facts)
	}
	return j.setTargets(all)
}

// setTargets sets the targets of the job from the facts of their tables.
func (j *run) setTargets(all []*cluster.Facts) error {
	for i, x := range j.spec.Targets() {
		t := &target{Target: x, number: i, facts: all[i]}
		if i > 0 {
			t.Table = t.facts.Name.String()
		}
		var err error
		if t.families, err = t.ApplyToAll(j.asBuilt(i, t.facts.Families)); err != nil {
			return err
		}
		j.targets = append(j.targets, t)
	}
	return nil
}

// asBuilt returns a table's families with the settings of files that are built: they stay valid if the table's settings for new files change. Unless
// the job is done, the number of versions and ZSTD's framing must still be the table's.
func (j *run) asBuilt(table int, families []spec.Family) []spec.Family {
	if j.job.Built == nil || j.job.Plan == nil || table > len(j.job.Plan.Tables) {
		return families
	}
	plan := j.job.Plan.At(table)
	families = slices.Clone(families)
	for _, was := range append(slices.Clone(plan.Families), plan.Family) {
		i := slices.IndexFunc(families, func(f spec.Family) bool { return f.Name == was.Name })
		if i < 0 {
			continue
		}
		if now := families[i]; !j.job.Finished {
			was.Versions, was.Zstd = now.Versions, now.Zstd
		}
		families[i] = was
	}
	return families
}

// specTargets returns the job's targets, with qualified table names.
func (j *run) specTargets() []spec.Target {
	list := make([]spec.Target, len(j.targets))
	for i, t := range j.targets {
		list[i] = t.Target
	}
	return list
}

// planTables plans the tables of a new job, and completes their records.
func (j *run) planTables(ctx context.Context, now *history.PlanRecord) (err error) {
	at := time.Now().UnixMilli()
	for i, t := range j.targets {
		if t.plan, err = cells.NewPlan(t.Job, now.Columns, t.families[0], t.facts.Splits, at, t.families[1:]...); err != nil && i > 0 {
			return fmt.Errorf("table %s: %w", t.Table, err)
		} else if err != nil {
			return err
		}
		t.plan.WarnKey(j.options.Events)
	}
	j.work = j.targets[0].plan
	if now.Staging, err = j.choosePlace(ctx); err != nil {
		return err
	}
	for i, t := range j.targets {
		p := now.At(i)
		if p.Made, err = j.tableRecord(ctx, t.facts); err != nil {
			return err
		}
		p.Modulus, p.Splits = t.plan.Modulus, append([]rowkey.Key{}, rowkey.Keys(t.facts.Splits)...)
	}
	return nil
}

// stageTables sets the directory of each table's files: that of the job, or a subdirectory if there are several tables.
func (j *run) stageTables(ctx context.Context) error {
	for _, t := range j.targets {
		t.stage = j.stage
		if t.Dir == "" {
			continue
		}
		l := j.stage.Location.Join(t.Dir)
		out := j.stage.out
		out.Dir = l.Path
		t.stage = &stage{Dir: &staging.Dir{FS: j.stage.FS, Location: l}, out: out}
		err := out.FS.Mkdir(ctx, l.Path, 0o711)
		if err == nil {
			err = out.FS.Chmod(ctx, l.Path, 0o711) // region servers must traverse it
		}
		if err != nil {
			return fail.With(fail.HDFS, err)
		}
	}
	return nil
}

// buildTables returns the tables in the form that a build takes.
func (j *run) buildTables() []build.Table {
	list := make([]build.Table, len(j.targets))
	for i, t := range j.targets {
		t.plan.Near = t.facts.Near
		list[i] = build.Table{Plan: t.plan}
		if t.stage != nil {
			list[i].Out = t.stage.out
			if j.local == "" {
				list[i].Out.Policies = policies(t.facts, j.options.Events)
			}
		}
	}
	return list
}
