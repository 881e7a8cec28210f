package job

import (
	"context"
	"fmt"

	"bulkload/internal/base/abilities"
	"bulkload/internal/engine/checkpoint"
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
		if t.families, err = t.ApplyToAll(t.facts.Families); err != nil {
			return err
		}
		j.targets = append(j.targets, t)
	}
	return nil
}

// specTargets returns the job's targets, with qualified table names.
func (j *run) specTargets() []spec.Target {
	list := make([]spec.Target, len(j.targets))
	for i, t := range j.targets {
		list[i] = t.Target
	}
	return list
}

// recordTables adds further tables to the record of the plan, as far as they are known before planning.
func (j *run) recordTables(now *checkpoint.PlanRecord) {
	now.Tables = j.askedTables(*now)
	for i := range now.Tables {
		p, t := &now.Tables[i], j.targets[i+1]
		p.Table, p.Family = t.Table, t.families[0]
		if p.Mapping != nil {
			p.Families = t.families
		}
	}
}

// askedTables returns the further tables as the job file describes them.
func (j *run) askedTables(now checkpoint.PlanRecord) []checkpoint.PlanRecord {
	if j.input == nil {
		now = *j.job.History.Plan
	}
	return checkpoint.AskedTables(j.spec, now.Formats())
}

// planTables plans the further tables, and completes their records. The first table is already planned.
func (j *run) planTables(ctx context.Context, records []checkpoint.PlanRecord) (err error) {
	j.targets[0].plan = j.work
	for i := range records {
		r, t := &records[i], j.targets[i+1]
		if t.plan, err = cells.NewPlan(t.Job, j.work.Columns, t.families[0], t.facts.Splits, j.work.Timestamp, t.families[1:]...); err != nil {
			return fmt.Errorf("table %s: %w", t.Table, err)
		}
		t.plan.WarnKey(j.options.Events)
		if r.Made, err = j.tableRecord(ctx, t.facts); err != nil {
			return err
		}
		r.Modulus, r.Splits = t.plan.Modulus, append([]rowkey.Key{}, rowkey.Keys(t.facts.Splits)...)
	}
	return nil
}

// planAgain restores the plans of further tables from the journal.
func (j *run) planAgain(old *checkpoint.PlanRecord) (err error) {
	j.targets[0].plan = j.work
	for i, t := range j.targets[1:] {
		if t.plan, err = old.Of(1+i).BuildPlan(t.families[0], j.work.Salt); err != nil {
			return err
		}
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

// madeOf returns the plan's record that identifies a table.
func (j *run) madeOf(t *target) *checkpoint.TableRecord {
	p := j.job.History.Plan
	switch {
	case t.number == 0:
		return p.Made
	case t.number <= len(p.Tables):
		return p.Tables[t.number-1].Made
	}
	return nil
}
