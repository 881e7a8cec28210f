package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/base/retry"
	"bulkload/internal/cli/jobtext"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
)

type statusOptions struct {
	clusterFlags
	state string
	job   string
	watch bool
}

func newStatusCmd(g *globals) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List jobs, or show one while it runs",
		Long: `Status lists the jobs of the state directory, the newest first; with --job it shows one
job, also while it runs. It takes no lock, so it may be called often, and connects to no
cluster except with --state hbase:TABLE: then it lists the jobs of all hosts. A job is
running, done, failed, stopped (by a signal) or interrupted (it was killed, or its
machine stopped). The command that began a failed, stopped or interrupted job resumes
it. The exit status is 0 if the job was found, whatever its state, which is in the field
"state" of --output json. For an unknown job the exit status is 5.`,
		Example: `  bulkload status
  bulkload status --job check-0123456789ab --output json
  bulkload status --job scheduled__2017-10-12 --watch`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	f := cmd.Flags()
	o.add(f)
	settings.Bind(f, settings.To{"state": &o.state, "job": &o.job, "watch": &o.watch})
	return cmd
}

func (o *statusOptions) run(cmd *cobra.Command, g *globals) error {
	if o.watch && o.job == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--watch needs --job"), "watch", "job"))
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	dir, err := currentState(cmd.Context(), env, o.state)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if o.job == "" {
		jobs, err := status.ReadAll(dir)
		if err != nil {
			return err
		}
		list := struct {
			Schema int             `json:"schema"`
			Jobs   []*status.State `json:"jobs"`
		}{1, jobs}
		for _, s := range jobs { // --job shows the details
			s.Attempts, s.Result, s.Live, s.Log = nil, nil, nil, nil
			speakState(s)
		}
		return g.Print(w, list, func(w io.Writer) { jobtext.PrintJobs(w, jobs, time.Now()) })
	}
	s, err := status.Find(dir, o.job)
	for o.watch && err == nil && s.State == history.JobRunning {
		speakState(s)
		if err := g.Print(w, s, func(w io.Writer) { fmt.Fprintln(w, jobtext.Line(s)) }); err != nil {
			return err
		}
		if err := retry.Sleep(cmd.Context(), status.LiveEvery); err != nil {
			return err
		}
		if err := checkpoint.Refresh(cmd.Context(), env, dir); err != nil {
			return err
		}
		s, err = status.Find(dir, s.Dir)
	}
	if err != nil {
		return err
	}
	speakState(s)
	return g.Print(w, s, func(w io.Writer) { jobtext.PrintJob(w, s, time.Now()) })
}

// speakState names settings as flags in the errors of a job's state: the journal has them in the library's words.
func speakState(s *status.State) {
	s.Error = settings.Spoken(s.Error)
	for i := range s.Attempts {
		s.Attempts[i].Error = settings.Spoken(s.Attempts[i].Error)
	}
}

// addOwnState registers the flags of the command's own job in the state directory.
func addOwnState(f *pflag.FlagSet, o *checkpoint.Options) {
	settings.Bind(f, settings.To{"state": &o.Dir, "job-id": &o.JobID, "lock-wait": &o.LockWait, "restart": &o.Restart})
}

// ownState finds the state directory of the command's own job.
func ownState(env *cluster.Env, o *checkpoint.Options) (err error) {
	o.Version = version
	o.Dir, err = checkpoint.StateDir(env, o.Dir)
	return err
}

// currentState returns the state directory of all jobs, refreshed to their current state.
func currentState(ctx context.Context, env *cluster.Env, state string) (string, error) {
	dir, err := checkpoint.StateDir(env, state)
	if err == nil {
		err = checkpoint.Refresh(ctx, env, dir)
	}
	return dir, err
}

// jobDir returns the directory of the one job that a word identifies.
func jobDir(ctx context.Context, env *cluster.Env, state, word string) (string, error) {
	if word == "" {
		return "", fail.Usage(settings.AboutFlags(fmt.Errorf("no job: name one with --job (bulkload status lists them)"), "job"))
	}
	dir, err := currentState(ctx, env, state)
	if err != nil {
		return "", err
	}
	s, err := status.Find(dir, word)
	if err != nil {
		return "", err
	}
	return s.Dir, nil
}
