package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/pipeline/mapreduce"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

type cleanOptions struct {
	clusterFlags
	options   checkpoint.CleanOptions
	olderThan age
}

func newCleanCmd(g *globals) *cobra.Command {
	o := &cleanOptions{olderThan: age(checkpoint.DefaultCleanAge)}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what finished and abandoned jobs left behind",
		Long: `Clean lists the directories that jobs have left on this machine and in the staging
directory on HDFS, and says which of them it would remove; with --yes it removes
them. It keeps the directories of running jobs, of jobs that changed recently, and
those with files that HBase may not have taken yet. It never touches what the
program did not create. When the state of a finished job is gone, the job's command
starts a new job.`,
		Example: `  bulkload clean
  bulkload clean --older-than 30d --yes
  bulkload clean --job check-0123456789ab --yes`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.add(f)
	settings.Bind(f, settings.To{"state": &o.options.State, "staging": &o.options.Staging, "job": &o.options.Job, "older-than": &o.olderThan, "force": &o.options.Force, "yes": &o.options.Remove})
	return cmd
}

func (o *cleanOptions) run(cmd *cobra.Command, g *globals) error {
	return o.withEnv(g, func(env *cluster.Env) (err error) {
		if o.options.State, err = currentState(cmd.Context(), env, o.options.State); err != nil {
			return err
		}
		o.options.OlderThan = max(time.Duration(o.olderThan), 1)
		r, err := clean(cmd.Context(), env, o.options)
		if r != nil {
			if e := g.Print(cmd.OutOrStdout(), r, func(w io.Writer) { printCleaning(w, r, o.options.Job, err == nil) }); e != nil {
				return e
			}
		}
		return err
	})
}

// clean runs checkpoint.Clean, which also ends jobs on YARN, and words its reasons with the names of flags.
func clean(ctx context.Context, env *cluster.Env, o checkpoint.CleanOptions) (*checkpoint.Cleaning, error) {
	o.EndYARN = func(ctx context.Context, tag string) error {
		return mapreduce.Kill(ctx, env, mapreduce.Submission{Tag: tag})
	}
	r, err := checkpoint.Clean(ctx, env, o)
	if r != nil {
		for i, d := range r.Dirs {
			r.Dirs[i].Because = d.Because.As(settings.Flag)
		}
	}
	return r, err
}

// printCleaning prints what was found. That nothing is left is said only if everything was looked at.
func printCleaning(w io.Writer, r *checkpoint.Cleaning, job string, whole bool) {
	removed, bytes := 0, int64(0)
	verb := "would remove"
	if r.Removed {
		verb = "removed"
	}
	for _, d := range r.Dirs {
		act := "keep"
		if d.Remove {
			act = verb
			removed++
			bytes += d.Bytes
		}
		fmt.Fprintf(w, "%-12s  %-7s  %-10s  %10s  %s\n%14s%s\n", act, d.Kind, d.Status, setting.Bytes(d.Bytes), d.Path, "", d.Because)
	}
	switch {
	case removed == 0 && !whole:
	case len(r.Dirs) == 0 && job != "":
		fmt.Fprintf(w, "no files of job %s are left (--job takes the name of its directory, or the twelve digits at its end: bulkload status lists them)\n", job)
	case len(r.Dirs) == 0:
		fmt.Fprintln(w, "no files of jobs are left")
	case removed == 0:
		fmt.Fprintln(w, "nothing to remove")
	case r.Removed:
		fmt.Fprintf(w, "%s removed, %s\n", setting.Count(removed, "directory"), setting.Bytes(bytes))
	default:
		fmt.Fprintf(w, "%s with %s would be removed: give --yes to do it\n", setting.Count(removed, "directory"), setting.Bytes(bytes))
	}
}

// age is a time span whose flag also accepts days.
type age time.Duration

// Set parses a number of days, such as 7d, or any text that time.ParseDuration accepts.
func (a *age) Set(s string) error {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is not a time span such as 7d or 12h", s)
		}
		*a = age(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time span such as 7d or 12h", s)
	}
	*a = age(d)
	return nil
}

// String formats whole days as days.
func (a *age) String() string {
	d := time.Duration(*a)
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return d.String()
}

func (a *age) Type() string { return "age" }
