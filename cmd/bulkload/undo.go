package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"
	"bulkload/pkg/loader"
)

type undoOptions struct {
	clusterFlags
	state   string
	job     string
	stage   string
	options undo.Options
}

func newUndoCmd(g *globals) *cobra.Command {
	o := &undoOptions{}
	cmd := &cobra.Command{
		Use:   "undo --job JOB",
		Short: "Take one finished load out of its table again",
		Long: `Undo hides the cells of one load, which all have the job's timestamp, with delete
markers of exactly that timestamp: older versions become visible again. It reads a
snapshot of the table from HDFS, says what it will remove and what becomes visible,
and loads the markers as HFiles. --dry-run stops after the prediction. With several
tables, indexes are first and the job's own table is last, so that readers see no
entry of an index whose row is gone.

Undo refuses, with exit status 3 and without changing any table, if data could be lost:
if the cells of the timestamp are not those that the job wrote, or if a compaction may
have dropped what they had overwritten.

--by snapshot restores a snapshot from before the load: in place, with the table out of
service meanwhile, or --into a new table. A restore in place loses what others have
written since: undo counts it, and refuses with 3 unless --discard-writes is given.

After a crash the same command resumes. The timestamp is never used again for the
table: run refuses it.`,
		Example: `  bulkload undo --job check-0123456789ab-cdef01234567 --dry-run
  bulkload undo --job check-0123456789ab-cdef01234567
  bulkload undo --job check-0123456789ab-cdef01234567 --by snapshot --into check_before`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.add(f)
	u := &o.options
	settings.Bind(f, settings.To{"state": &o.state, "job": &o.job, "staging": &u.Staging, "load-mode": &o.stage, "load-concurrency": &u.LoadConcurrency, "verify": &u.Verify, "dry-run": &u.DryRun, "by": &u.By,
		"snapshot": &u.Snapshot, "into": &u.Into, "discard-writes": &u.Discard, "insert-only": &u.InsertOnly, "lock-wait": &u.LockWait})
	return cmd
}

func (o *undoOptions) run(cmd *cobra.Command, g *globals) error {
	u := &o.options
	u.Stage, _ = loader.ParseStage(o.stage) // the setting accepts only valid values
	if err := abilities.Verifies(abilities.Undo, u.Verify, "full", "range"); err != nil {
		return fail.Usage(settings.AboutFlags(settings.SpokenError(cmd, err), "verify"))
	}
	if u.By != undo.BySnapshot && (u.Snapshot != "" || u.Into != "" || u.Discard) {
		return fail.Usage(settings.AboutFlags(errors.New("--snapshot, --into and --discard-writes need --by snapshot"), "by", "snapshot", "into", "discard-writes"))
	}
	if u.By == undo.BySnapshot && u.InsertOnly {
		return fail.Usage(settings.AboutFlags(errors.New("--insert-only is about markers: --by snapshot compares the table with the snapshot"), "by", "insert-only"))
	}
	return o.withEnv(g, func(env *cluster.Env) error {
		dir, err := jobDir(cmd.Context(), env, o.state, o.job)
		if err != nil {
			return err
		}
		u.Version, u.Events = version, session.LogEvents(env.Log)
		r, err := undo.Run(cmd.Context(), env, dir, *u)
		if r != nil {
			for i, why := range r.Refused {
				r.Refused[i] = settings.Spoken(why)
			}
			if e := g.Print(cmd.OutOrStdout(), r, func(w io.Writer) { jobtext.PrintUndo(w, r, err) }); e != nil {
				return e
			}
		}
		return err
	})
}

type diffOptions struct {
	clusterFlags
	state string
	job   string
	limit int
}

func newDiffCmd(g *globals) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff --job JOB",
		Short: "Say what a finished load has changed in its table",
		Long: `Diff reads a snapshot of the table from HDFS and counts what one load has changed:
rows that it added, rows that existed before, and cells that it added, overwrote, or
wrote with the value that they had; in total and for each region. It does not see
what a compaction has dropped: if a family keeps one version, overwritten rows may
count as added, and diff says for how many cells that is possible. For a job of
several tables it does this for each table.

--limit names rows, but only with --show-data: row keys are data.`,
		Example: `  bulkload diff --job check-0123456789ab-cdef01234567
  bulkload diff --job check-0123456789ab-cdef01234567 --show-data --limit 20`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.add(f)
	settings.Bind(f, settings.To{"state": &o.state, "job": &o.job, "limit": &o.limit})
	return cmd
}

func (o *diffOptions) run(cmd *cobra.Command, g *globals) error {
	if o.limit > 0 && !g.ShowData {
		return fail.Usage(settings.AboutFlags(errors.New("--limit prints row keys, which are data: give --show-data too"), "limit", "show-data"))
	}
	return o.withEnv(g, func(env *cluster.Env) error {
		dir, err := jobDir(cmd.Context(), env, o.state, o.job)
		if err != nil {
			return err
		}
		s, err := undo.Diff(cmd.Context(), env, dir, undo.DiffOptions{Keys: o.limit, Events: session.LogEvents(env.Log)})
		if err != nil {
			return err
		}
		return g.Print(cmd.OutOrStdout(), s, func(w io.Writer) { jobtext.PrintSurvey(w, s) })
	})
}
