package main

import (
	"errors"

	"bulkload/internal/base/abilities"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
)

func newLoadCmd(g *globals) *cobra.Command {
	c, watch, limits, fresh := &clusterFlags{}, &session.Watch{}, &limitFlags{}, &freshFlags{}
	var table, way, replicate string
	var skipCode bool
	var o job.LoadOptions
	cmd := &cobra.Command{
		Use:   "load --table TABLE DIR",
		Short: "Load a directory of HFiles into a table",
		Long: `Load takes a directory that build, or another program in the layout DIR/FAMILY/FILE,
has written, and loads its files into the table. HBase moves files that are on HDFS
into the table; local files are first uploaded to a staging directory, and stay.

Load reads every file completely before it loads the first one: it compares the file
with the checksum in build's manifest, or, without a manifest, checks each block and
cell. If a file is damaged, or if two files have different values for one cell with
the same timestamp (HBase would show either), nothing is loaded.

With --replace the table then has exactly the rows of DIR, which must have the
manifest of build or merge. With --into TABLE too, load makes a new table like it and
loads into that one; see run.

The salts of build's keys must be as many as the table is split for, unless the
build had --salt-buckets.

After a crash the same command resumes. After a success it loads nothing until DIR has
other files; with --verify full it verifies the table again.`,
		Example: `  bulkload load --table test:check hfiles
  bulkload load --table test:check hdfs:///tmp/check-hfiles
  bulkload load --table test:check --replace --max-deletes 2% hdfs:///tmp/check-hfiles`,
		Args: usage.ExactArgs("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if table == "" {
				return fail.Usage(errors.New("no table: name it with --table"))
			}
			if err := abilities.Verifies(abilities.Load, o.Verify, "full", "off"); err != nil {
				return fail.Usage(settings.AboutFlags(settings.SpokenError(cmd, err), "verify"))
			}
			if err := checkKept(o.Snapshot, o.KeepSnapshots); err != nil {
				return err
			}
			o.Stage, _ = loader.ParseStage(way) // the setting accepts only valid values
			points, err := fresh.splitKeys(cmd.Context())
			if err != nil {
				return err
			}
			env, err := c.open(g)
			if err != nil {
				return err
			}
			defer env.Close()
			if err := ownState(env, &o.State); err != nil {
				return err
			}
			s, err := g.Begin(cmd, env.Log, lineage.Subject{Command: "load", Spec: spec.Spec{Table: table, Inputs: args}, Into: fresh.into, Env: env}, watch)
			if err != nil {
				return err
			}
			asked := settings.JobSpec(cmd)
			o.Events = s.Events()
			defer limits.hold(cmd, env, &o.WorkOptions)()
			o.Unreplicated, o.LoadConcurrency = replicate == "no", limits.calls
			o.Replace, o.MaxDeletes, o.ReplaceRejected = asked.Replace, asked.MaxDeletes, asked.ReplaceRejected
			o.Into, o.Splits = fresh.into, fresh.splitsOfFiles(env, args[0], points)
			r, err := job.LoadDir(cmd.Context(), env, table, args[0], o)
			if err := s.End(r, err); err != nil {
				return err
			}
			return loaded(cmd, g, s, r, "", skipCode)
		},
	}
	c.add(cmd.Flags())
	limits.add(cmd.Flags())
	watch.AddLoad(cmd.Flags())
	settings.AddFields(cmd.Flags(), spec.OfReplaced)
	fresh.add(cmd.Flags())
	addOwnState(cmd.Flags(), &o.State)
	settings.Bind(cmd.Flags(), settings.To{
		"table": &table, "staging": &o.Staging, "load-concurrency": &limits.calls,
		"skip-exit-code": &skipCode, "trust-files": &o.TrustFiles, "compact-after": &o.CompactAfter, "quiet-table": &o.Quiet, "max-files": &o.MaxFiles, "snapshot": &o.Snapshot, "keep-snapshots": &o.KeepSnapshots, "load-mode": &way,
		"replicate": &replicate, "phoenix-indexes": &o.PhoenixIndexes, "verify": &o.Verify,
	})
	return cmd
}
