package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/setting"
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

func (o *buildOptions) runShare(cmd *cobra.Command, g *globals) error {
	ctx := cmd.Context()
	if err := o.checkShare(cmd); err != nil {
		return err
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
		err = p.Mount(ctx, env)
	}
	if err != nil {
		return err
	}
	s, err := g.Begin(cmd, env.Log, lineage.Subject{Command: "build", Spec: p.Job, Out: o.out, Env: env}, &o.Watch)
	if err != nil {
		return err
	}
	work := o.workOptions(s.Events())
	if work.RejectFile == "" && p.Job.BadRecords != "" {
		if work.RejectFile, err = o.shareRejects(env, p.RejectName(of)); err != nil {
			return err
		}
	}
	defer o.hold(cmd, env, &work)()
	made, err := share.Build(ctx, env, p, of, o.out, work)
	r := &result.Result{Schema: 1, Table: p.Job.Table}
	if made != nil {
		r.Share = &result.Share{Share: of.K, Of: of.N, Records: made.Records, Rejected: made.Rejected, Filtered: made.Filtered, Bytes: made.Bytes, RejectFile: made.RejectFile, FilteredFile: made.FilteredFile}
	}
	if err := s.End(r, err); err != nil {
		return err
	}
	if !g.ForPeople() {
		return nil
	}
	filtered := ""
	if p.Job.Filter != "" {
		filtered = fmt.Sprintf("%d filtered, ", made.Filtered)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "done: share %s, %s read, %d rejected, %s%s in %s\n", of, setting.Count(made.Records, "record"), made.Rejected, filtered, setting.Bytes(made.Bytes), strings.TrimSuffix(o.out, "/")+"/"+made.Chunks)
	return err
}

// checkShare refuses flags whose values the plan determines.
func (o *buildOptions) checkShare(cmd *cobra.Command) error {
	if o.plan == "" || o.share == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--plan and --share go together: a share is part of a plan"), "plan", "share"))
	}
	if o.out == "" {
		return fail.Usage(errors.New("no output directory: name that of all shares with --out"))
	}
	return planned(cmd)
}

// planned refuses flags that only a command without a plan accepts.
func planned(cmd *cobra.Command) error {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&specFlags{}).add(known)
	known.String("splits", "", "")
	var err error
	known.VisitAll(func(f *pflag.Flag) {
		if flag := cmd.Flags().Lookup(f.Name); flag != nil && flag.Changed && err == nil {
			err = fail.Usage(settings.AboutFlags(fmt.Errorf("--%s is part of the plan, which all shares use: give it to bulkload plan --out", f.Name), f.Name))
		}
	})
	return err
}

// shareRejects returns the default path for the bad records of a share: next to the share's rows, or if those are on
// HDFS, in the current directory.
func (o *buildOptions) shareRejects(env *cluster.Env, name string) (string, error) {
	l, err := env.Conf.Resolve(o.out)
	if err != nil {
		return "", err
	}
	if l.Local() {
		return filepath.Join(l.Path, name), nil
	}
	return filepath.Abs(path.Base(l.Path) + "." + name)
}
