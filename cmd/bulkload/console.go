package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/serve"
	"bulkload/internal/serve/console"

	"github.com/spf13/cobra"
)

type consoleOptions struct {
	clusterFlags
	serviceFlags
	state   string
	staging string
	control bool
}

func newConsoleCmd(g *globals) *cobra.Command {
	o := &consoleOptions{}
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show all jobs as pages, live; with --control, act on them",
		Long: `Console serves over HTTP what status prints: / lists all jobs of --state, and the rows
and times of each table's finished jobs; /jobs/NAME shows one job with its progress,
result, plan, report, log and what it left behind; /jobs.json and /jobs/NAME.json are
the same for programs. Pages refresh themselves and work without JavaScript. With
--state hbase:TABLE they show the jobs of all hosts. While the state cannot be read,
they say so and show what was read last. Console takes no lock and disturbs no job.

Console is read only unless --control is given. Then a client whose entry in --clients
has control may pause, resume, stop, start or clean a job. Console can reach only
processes on its own host; for others the page names the host to act on.`,
		Example: `  bulkload console
  bulkload console --state hbase:bulkload_state --listen :8443 --clients clients.yaml --tls-cert tls.crt --tls-key tls.key
  bulkload console --control --clients clients.yaml --audit audit.jsonl`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.limits = consoleLimits()
	f := cmd.Flags()
	o.clusterFlags.add(f)
	o.serviceFlags.add(f)
	settings.Bind(f, settings.To{"state": &o.state, "staging": &o.staging, "control": &o.control})
	return cmd
}

// consoleLimits returns the limits of a console without flags. Its requests read no rows, so that they take no memory for them.
func consoleLimits() serve.Limits {
	l := serve.Limits{Deadline: 30 * time.Second, InFlight: 64, Memory: 128 << 20, ScanMemory: 1}.WithDefaults()
	l.PerClient = 0 // default: half of the requests in flight, whatever their limit
	return l
}

func (o *consoleOptions) run(cmd *cobra.Command, g *globals) error {
	if err := o.checkTLS(); err != nil {
		return fail.Usage(err)
	}
	if o.control && o.clients == "" {
		return fail.Usage(settings.AboutFlags(errors.New("--control needs --clients: the file that lists who may act on jobs"), "control", "clients"))
	}
	return o.withEnv(g, func(env *cluster.Env) error {
		dir, err := checkpoint.StateDir(env, o.state)
		if err != nil {
			return err
		}
		place := console.New(console.Options{
			Name: cmp.Or(o.state, dir), Control: o.control, Words: speakState,
			Current: func(ctx context.Context) (string, error) { return currentState(ctx, env, o.state) },
			Clean: func(ctx context.Context, job string, remove bool) (*checkpoint.Cleaning, error) {
				return clean(ctx, env, checkpoint.CleanOptions{State: dir, Staging: o.staging, Job: job, Remove: remove})
			},
		})
		return o.serve(cmd.Context(), g, serve.Options{Console: place})
	})
}
