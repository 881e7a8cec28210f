package main

import (
	"errors"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
)

type runOptions struct {
	specFlags
	workFlags
	clusterFlags
	limitFlags
	session.Watch
	engineFlags
	freshFlags
	job      job.RunOptions
	stage    string
	skipCode bool
	splitBy  string // directory: one job for each subdirectory
}

func newRunCmd(g *globals) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run --job FILE --input PATH…",
		Short: "The whole job: exports in, rows visible in the table",
		Long: `Run reads the split points of the table and the family's settings, reads the exports,
builds one HFile for each region in a staging directory on HDFS, loads the files and
verifies what is visible then. A run that fails while it reads or builds loads nothing.

Run writes each step to a journal in a state directory before the step begins. After
a crash, a kill or a failure the same command resumes the job: it does not write
finished HFiles or load regions again. After a success it loads
nothing, and verifies a sample again.

With --engine yarn, one MapReduce job builds the HFiles. Its tasks run this program;
the Hadoop client on this host submits it. The files are the same, byte for byte, and
after a crash the same command finds the application again.

With --replace the table then has exactly the rows of this export: before the load, a
snapshot of the table is compared with the HFiles, and rows and columns that the files
do not have get delete markers, which are loaded with them. If that would delete more
than --max-deletes of the table's rows, nothing is loaded. With --into TABLE too, run
makes a new table like the job's and loads into that one; the old table stays as it is.
Readers switch by the table's name in their job files, and --drop-old drops the old
table afterwards.

With --also DIR the HFiles are built once, on local disk, and loaded into the tables
of several clusters at the same time: the command's own, and that of each DIR. A
cluster that is down does not delay the others; the same command loads into it later.

SIGUSR1 pauses a run between two pieces of its work, and SIGUSR2 resumes it. To load
years of history, use --split-by directory and the limits for uploads, loading calls
and hours below.`,
		Example: `  bulkload run --job examples/check.yaml --input /exports/check/20171012
  bulkload run --job examples/check.yaml --table test:check --input hdfs:///user/tina/check/20171012 --verify full
  bulkload run --job examples/check.yaml --input /exports/check/20171012 --replace --into check_20171012
  bulkload run --replace --into check_20171012 --drop-old check`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.specFlags.add(cmd.Flags())
	settings.AddFields(cmd.Flags(), spec.OfReplaced, spec.OfLoad)
	o.workFlags.add(cmd.Flags())
	o.addLeftOut(cmd.Flags())
	o.clusterFlags.addReading(cmd.Flags())
	o.limitFlags.add(cmd.Flags())
	o.Watch.Add(cmd.Flags())
	o.engineFlags.add(cmd.Flags())
	o.freshFlags.add(cmd.Flags())
	addOwnState(cmd.Flags(), &o.job.State)
	settings.Bind(cmd.Flags(), settings.To{"load-concurrency": &o.calls, "drop-old": &o.dropOld, "staging": &o.job.Staging, "max-files": &o.job.MaxFiles, "load-mode": &o.stage, "snapshot": &o.job.Snapshot,
		"keep-snapshots": &o.job.KeepSnapshots, "compact-after": &o.job.CompactAfter, "quiet-table": &o.job.Quiet, "also": &o.job.Also, "split-by": &o.splitBy, "skip-exit-code": &o.skipCode, "keep-staging": &o.job.Keep})
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, g *globals) error {
	if o.dropOld != "" {
		return o.drop(cmd, g)
	}
	if err := checkKept(o.job.Snapshot, o.job.KeepSnapshots); err != nil {
		return err
	}
	points, err := o.splitKeys(cmd.Context())
	if err != nil {
		return err
	}
	spec, err := o.load(cmd)
	if err != nil {
		return err
	}
	if err := needInputs(spec); err != nil {
		return err
	}
	if o.job.YARN, err = o.engineFlags.settings(cmd.Flags()); err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	if err := listInputs(cmd.Context(), env, &spec); err != nil {
		return err
	}
	o.job.Stage, _ = loader.ParseStage(o.stage) // the setting accepts only valid values
	if err := ownState(env, &o.job.State); err != nil {
		return err
	}
	s, err := g.Begin(cmd, env.Log, lineage.Subject{Command: "run", Spec: spec.Spec(), Into: o.into, Env: env}, &o.Watch)
	if err != nil {
		return err
	}
	o.job.WorkOptions = o.workOptions(s.Events())
	defer o.hold(cmd, env, &o.job.WorkOptions)()
	o.job.LoadConcurrency, o.job.JobFile, o.job.Into, o.job.Splits = o.calls, o.describedBy(), o.into, o.splitsOf(env, spec, o.job.WorkOptions, points)
	runJob := job.Run
	if o.splitBy == "directory" {
		runJob = job.RunParts
	} else if len(o.job.Also) > 0 {
		runJob = job.RunOnClusters
	}
	r, err := runJob(cmd.Context(), env, spec, o.job)
	if err := s.End(r, err); err != nil {
		return errors.Join(err, s.Summarize(cmd.OutOrStdout()))
	}
	return loaded(cmd, g, s, r, o.jobFile, o.skipCode)
}

// loaded prints the result of a run or a load that has succeeded. With skipCode it returns an error if the job was done before.
func loaded(cmd *cobra.Command, g *globals, s *session.Session, r *result.Result, jobFile string, skipCode bool) error {
	if err := s.Summarize(cmd.OutOrStdout()); err != nil {
		return err
	}
	if g.ForPeople() {
		jobtext.PrintSwitch(cmd.OutOrStdout(), r, jobFile)
	}
	if r.Already && skipCode {
		return ending.ErrAlready
	}
	return nil
}

// checkKept refuses to delete snapshots of earlier jobs for a job that takes no snapshot.
func checkKept(snapshot string, keep int) error {
	if keep > 0 && snapshot == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--keep-snapshots needs --snapshot: it deletes those of earlier jobs"), "keep-snapshots", "snapshot"))
	}
	return nil
}
