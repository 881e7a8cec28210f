package job

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// restartable checks, before the journal of a load that starts over is discarded, that its table and its files exist.
func (d *dirLoad) restartable(ctx context.Context) error {
	if d.job.Plan == nil {
		return nil
	}
	if d.fresh == nil {
		if _, err := cluster.TableFacts(ctx, d.env, d.cluster, d.result.Table, d.families()...); err != nil {
			return err
		}
	}
	if holds, err := d.holdsFiles(ctx); err != nil || holds || d.replaces() {
		return err
	}
	return noHFiles(d.at.Path)
}

// rehearse plans a job that starts over without a journal, before the journal of its earlier attempts is discarded, so that a refused job keeps it. find
// finds the tables. Streams and tables are not read, so their columns are not compared.
func (j *run) rehearse(ctx context.Context, find func(context.Context) error) error {
	j.job, j.options.Events, j.result = &checkpoint.Job{Identity: j.job.Identity, History: history.New()}, progress.Events{}, &result.Result{}
	if err := find(ctx); err != nil {
		return err
	}
	found, err := streams.Find(ctx, j.env.Source, j.spec.Inputs, j.options.Stdin, nil)
	if err == nil {
		err = found.Absent()
	}
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(found.Others(j.spec.Inputs), cluster.IsTable)
	if len(files) == len(j.spec.Inputs) {
		err = j.plan(ctx)
		return errors.Join(err, j.streams.Close())
	}
	if len(files) > 0 {
		_, err = source.List(ctx, found.Resolve, files, build.SelectionOf(j.spec))
	}
	return fail.With(fail.Input, err)
}

// rehearsed is [run.rehearse] for the tables of a run, and checks its other prerequisites. A table that is to replace another does not exist yet: the
// other one has its families, and may be offline.
func rehearsed(ctx context.Context, env *cluster.Env, c *loader.Cluster, st *checkpoint.Job, s spec.Job, into *freshTable, o RunOptions) error {
	j := &run{env: env, spec: s, options: o, job: st, cluster: c}
	if into != nil {
		return j.rehearse(ctx, func(ctx context.Context) error {
			t, err := c.Describe(ctx, into.Old)
			if err != nil {
				return cluster.Failure(err)
			}
			j.spec.Regions = cmp.Or(s.Regions, 1) // a number is known when the table is made
			j.facts = &cluster.Facts{Name: into.Old, Table: t}
			if j.facts.Families, err = cluster.FamiliesOf(env, t, s.Families()...); err != nil {
				return err
			}
			return j.setTargets([]*cluster.Facts{j.facts})
		})
	}
	err := j.rehearse(ctx, func(ctx context.Context) (err error) {
		if j.facts, err = cluster.TableFacts(ctx, env, c, s.Table, s.Families()...); err != nil {
			return err
		}
		j.spec.Table = j.facts.Name.String()
		if err = j.findTables(ctx); err != nil {
			return err
		}
		return j.storesReadable(ctx)
	})
	if err != nil {
		return err
	}
	return j.checkBefore(ctx)
}

// undone refuses a job whose load was undone, or is being undone: the table may not
// have its rows any more. again explains how to load it again.
func undone(dir string, h *history.History, restart bool, again setting.Text) error {
	u := h.Undo
	switch {
	case u == nil:
	case !u.Done:
		return fail.Errorf(fail.Check, "an undo of this job is under way: bulkload undo %s %s resumes it", setting.Job, dir)
	case !restart:
		return fail.Errorf(fail.Check, "this job was undone at %s: %s", u.DoneAt.Format(time.RFC3339), again)
	}
	return nil
}

// byRestart explains that a restart loads a job again, and how that load differs.
func byRestart(how string) setting.Text {
	return setting.Textf("%s loads it again%s", setting.Restart, how)
}

// afterUndo explains how to load a run again after an undo.
func (o RunOptions) afterUndo() setting.Text {
	if o.parts > 0 { // a restart would affect all directories
		return setting.Textf("leave the directory out, or load it again by a run of it alone with %s", setting.Restart)
	}
	return byRestart(", with another timestamp")
}

// buildAgain explains how to load a directory again after an undo by markers, which hide cells with its timestamp.
func buildAgain() setting.Text {
	return setting.Plain("build its files again, with another timestamp")
}

// freshTimestamp refuses a timestamp that was undone in one of the plan's tables:
// delete markers hide cells that are written with it, in regions where no compaction
// has dropped the markers.
func freshTimestamp(ctx context.Context, c *loader.Cluster, p *history.PlanRecord, state string, again setting.Text, e progress.Events) error {
	if state == "" {
		return nil
	}
	all, err := checkpoint.ReadUndone(ctx, c, state, e)
	if err != nil {
		return err
	}
	for i := range 1 + len(p.Tables) {
		for _, u := range all {
			if u.Cluster == p.Made.Cluster && u.Table == p.At(i).Table && u.Timestamp == p.Timestamp {
				return fail.Errorf(fail.Config, "timestamp %d of table %s was undone (job %s), and delete markers hide cells with it: %s",
					u.Timestamp, u.Table, u.Job, again)
			}
		}
	}
	return nil
}
