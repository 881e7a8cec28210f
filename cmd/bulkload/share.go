package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"bulkload/internal/cli/lineage"
	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/share"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
