package main

import (
	"errors"
	"fmt"

	"bulkload/internal/abilities"
	"bulkload/internal/settings"
	"bulkload/pkg/build"
	"bulkload/pkg/checkpoint"
	"bulkload/pkg/job"
	"bulkload/pkg/loader"
	"bulkload/pkg/spec"

	"github.com/spf13/cobra"
)

func newLoadCmd(g *globals) *cobra.Command {
	c, watch, limits, fresh := &clusterFlags{}, &watchFlags{}, &limitFlags{}, &freshFlags{}
	var table, verify, staging, way, phoenix, replicate string
	var maxFiles int
	var trust, skipCode bool
	var state checkpoint.Options
	cmd := &cobra.Command{
		Use:   "load --table TABLE DIR",
		Short: "Load a directory of HFiles into a table",
		Long: `Load takes a directory that build wrote, or another program in the layout
DIR/FAMILY/FILE, and loads its files into the table. Files on HDFS are moved into
the table; local ones are uploaded to a staging directory first, and stay.

Every file is read as a whole before the first is loaded: compared byte by byte
with the checksum in build's manifest, or, without one, checked block by block and
cell by cell. If one is damaged, nothing is loaded. Nor is anything if two files have
other values for one cell of the same timestamp: HBase would show either.

With --replace the table holds exactly the rows of DIR afterwards, which must have
build's or merge's manifest; with --into TABLE too, a new table is made like it and
loaded instead: see run.

The same command after a crash resumes, and after a success does nothing until
there is something else in DIR.` + "\n" + exitHelp,
		Example: `  bulkload load --table test:check hfiles
  bulkload load --table test:check hdfs:///tmp/check-hfiles
  bulkload load --table test:check --replace --max-deletes 2% hdfs:///tmp/check-hfiles`,
		Args: exactArgs("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if table == "" {
				return usageError{errors.New("no table: name it with --table")}
			}
			if err := abilities.Verifies(abilities.Load, verify, "full", "off"); err != nil {
				return usageError{settings.AboutFlags(settings.SpokenError(err), "verify")}
			}
			if replicate != "yes" && replicate != "no" {
				return usageError{settings.AboutFlags(fmt.Errorf("--replicate %q is invalid: want yes or no", replicate), "replicate")}
			}
			if phoenix != "refuse" && phoenix != "ignore" {
				return usageError{settings.AboutFlags(fmt.Errorf("--phoenix-indexes %q is invalid: want refuse or ignore", phoenix), "phoenix-indexes")}
			}
			stage, err := loader.ParseStage(way)
			if err != nil {
				return usageError{settings.AboutFlags(fmt.Errorf("--load-mode: %w", err), "load-mode")}
			}
			if maxFiles < 0 {
				return usageError{settings.AboutFlags(fmt.Errorf("--max-files %d is below 0", maxFiles), "max-files")}
			}
			if state.LockWait < 0 {
				return usageError{settings.AboutFlags(fmt.Errorf("--lock-wait %s is below 0", state.LockWait), "lock-wait")}
			}
			if err := limits.check(cmd); err != nil {
				return err
			}
			points, err := fresh.splitKeys()
			if err != nil {
				return err
			}
			state.Version = version
			env, err := c.open(g)
			if err != nil {
				return err
			}
			if state.Dir, err = checkpoint.StateDir(env, state.Dir); err != nil {
				return errors.Join(err, env.Close())
			}
			watch.subject = subject{command: "load", spec: spec.Spec{Table: table, Inputs: args}, into: fresh.into, env: env}
			defer env.Close()
			s := g.begin(cmd, env.Log, spec.Spec{Table: table, Inputs: args})
			if err := watch.observe(cmd, s); err != nil {
				return err
			}
			asked, work := settings.JobSpec(cmd), build.WorkOptions{Events: s.events()}
			defer limits.hold(cmd.Context(), env, &work)()
			r, err := job.LoadDir(cmd.Context(), env, table, args[0], job.LoadOptions{Verify: verify, Staging: staging, Stage: stage, MaxFiles: maxFiles, TrustFiles: trust, Unreplicated: replicate == "no", PhoenixIndexes: phoenix, State: state,
				LoadConcurrency: limits.calls, Uploads: work.Uploads, Gate: work.Gate, Events: work.Events,
				Replace: asked.Replace, MaxDeletes: asked.MaxDeletes, ReplaceRejected: asked.ReplaceRejected, Into: fresh.into, Splits: fresh.splitsOfFiles(env, args[0], points)})
			if err := s.end(r, err); err != nil {
				return err
			}
			if err := g.summarize(cmd.OutOrStdout(), r); err != nil {
				return err
			}
			if !g.json() && !g.logs.quiet {
				printSwitch(cmd.OutOrStdout(), r, "")
			}
			if r.Already && skipCode {
				return errAlready
			}
			return nil
		},
	}
	c.add(cmd.Flags())
	limits.add(cmd.Flags())
	limits.addLoad(cmd.Flags())
	watch.add(cmd.Flags())
	settings.AddFields(cmd.Flags(), spec.OfReplaced)
	fresh.add(cmd.Flags(), "those by which the files were built")
	cmd.Flags().StringVar(&table, "table", "", "table, namespace:name or name")
	cmd.Flags().StringVar(&staging, "staging", "", "directory on HDFS for files that are uploaded, and for delete markers (default /tmp/bulkload-USER)")
	addState(cmd.Flags(), &state.Dir)
	cmd.Flags().StringVar(&state.JobID, "job-id", "", "distinguishes loads of the same files: a date, an orchestrator's run id")
	cmd.Flags().DurationVar(&state.LockWait, "lock-wait", 0, "wait up to so long for another process that runs this load, such as 30m (default: exit with 75 at once)")
	cmd.Flags().BoolVar(&state.Restart, "restart", false, "discard the checkpoint and load all that is in DIR")
	cmd.Flags().BoolVar(&skipCode, "skip-exit-code", false, "exit with 99, not 0, when the load was done by an earlier run")
	cmd.Flags().BoolVar(&trust, "trust-files", false, "load files without reading them before: a damaged one is loaded as it is, and so are two with other values for one cell")
	cmd.Flags().IntVar(&maxFiles, "max-files", 0, maxFilesHelp)
	cmd.Flags().StringVar(&way, "load-mode", "auto", "load mode: secure (through HBase's staging directory), direct (from where the files are) or auto (as the table needs it)")
	cmd.Flags().StringVar(&replicate, "replicate", "yes", "whether peers of replication get the load: yes, or no where they are loaded too")
	cmd.Flags().StringVar(&phoenix, "phoenix-indexes", "refuse", "table with Phoenix indexes, for which a load writes no entries: refuse or ignore")
	cmd.Flags().StringVar(&verify, "verify", "full", "after the load, when the directory has build's manifest: full or off")
	return cmd
}
