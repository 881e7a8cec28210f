package main

import (
	"errors"
	"io"

	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/undo"
	"bulkload/internal/model/fail"

	"github.com/spf13/cobra"
)

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
