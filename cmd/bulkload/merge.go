package main

import (
	"errors"
	"fmt"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/share"

	"github.com/spf13/cobra"
)

type mergeOptions struct {
	workFlags
	clusterFlags
	limitFlags
	session.Watch
	plan   string
	shares string
	out    string
	share  string
}

func newMergeCmd(g *globals) *cobra.Command {
	o := &mergeOptions{}
	cmd := &cobra.Command{
		Use:   "merge --plan FILE --shares DIR --out DIR",
		Short: "Make HFiles of the shares that several builds have left",
		Long: `Merge takes the sorted rows that build --plan FILE --share K/N has left in a
directory, of all N shares, and writes the HFiles that one build of the whole input
would write, byte for byte, with the same manifest. Load takes them. As with build,
the files of each of several tables are in DIR/TABLE/FAMILY.

Merge refuses a directory in which a share is missing, damaged or of another plan,
and an input that has changed since the plan was made. The bad records of all shares
together count against the job's budget.

With --share K/M it writes a part of the regions; the last merge to finish writes the
manifest. The same command repeats a merge that failed or was killed.`,
		Example: `  bulkload merge --plan /shared/check.plan --shares /shared/check.rows --out hdfs:///tmp/check-hfiles
  bulkload merge --plan /shared/check.plan --shares /shared/check.rows --out hdfs:///tmp/check-hfiles --share 1/2`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.workFlags.addMerge(f)
	o.clusterFlags.addReading(f)
	o.limitFlags.add(f)
	o.Watch.Add(f)
	settings.Bind(f, settings.To{"plan": &o.plan, "shares": &o.shares, "out": &o.out, "share": &o.share})
	return cmd
}

func (o *mergeOptions) run(cmd *cobra.Command, g *globals) error {
	ctx := cmd.Context()
	if o.plan == "" || o.shares == "" {
		return fail.Usage(settings.AboutFlags(errors.New("merge needs --plan and --shares"), "plan", "shares"))
	}
	of, err := share.ParseFraction(o.share)
	if err != nil {
		return fail.Usage(settings.AboutFlags(fmt.Errorf("--share: %w", err), "share"))
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	p, err := share.Read(ctx, env, o.plan)
	if err == nil {
		o.out, err = p.Output(o.out)
	}
	if err == nil {
		err = p.Mount(ctx, env)
	}
	if err != nil {
		return err
	}
	if o.out == "" {
		return fail.Usage(settings.AboutFlags(errors.New("merge needs --out: the directory for the HFiles"), "out"))
	}
	job, err := p.Job.Resolve()
	if err != nil {
		return err
	}
	s, err := g.Begin(cmd, env.Log, lineage.Subject{Command: "build", Spec: p.Job, Out: o.out, Env: env}, &o.Watch)
	if err != nil {
		return err
	}
	work := o.workOptions(s.Events())
	defer o.hold(cmd, env, &work)()
	made, err := share.Merge(ctx, env, p, o.shares, o.out, of, work)
	r := &result.Result{Schema: 1, Table: p.Job.Table}
	if made != nil {
		r.SetManifests(job.Targets(), made.Manifests)
		r.Share = &result.Share{Share: of.K, Of: of.N, Pending: len(made.Missing)}
		r.Already, r.DoneAt = !made.DoneAt.IsZero(), made.DoneAt
		if m := r.Manifest; m != nil && r.Already {
			r.Elapsed = m.WriteTime // the time of reading is that of all shares
		}
	}
	if err := s.End(r, err); err != nil {
		return err
	}
	if made.Manifests == nil {
		if g.ForPeople() {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "done: merge %s; %d merges are missing before the files can be loaded: %s\n", of, len(made.Missing), made.MissingText())
		}
		return err
	}
	if g.ForPeople() {
		printFiles(cmd.OutOrStdout(), job, made.Manifests, o.out)
	}
	return s.Summarize(cmd.OutOrStdout())
}
