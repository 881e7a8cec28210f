package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/upload"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// limitFlags are the flags that limit a job's load on a serving cluster, and the time of day.
type limitFlags struct {
	upload upload.Options
	calls  int // loading calls at a time; only commands that load have the flag
}

func (l *limitFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"upload-limit": &l.upload.Rate, "upload-streams": &l.upload.Streams, "only-between": new(string)})
}

// hold adds the limits to the options, and a gate at which the job waits outside of the window and between SIGUSR1
// and SIGUSR2. stop ends the handling of those signals.
func (l *limitFlags) hold(cmd *cobra.Command, env *cluster.Env, w *build.WorkOptions) (stop func()) {
	h := &progress.Hold{Window: settings.Of(cmd).Window, Events: w.Events, Rest: env.Rest}
	// The signals stay caught: one that arrives while the command ends must not kill it.
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	ctx, stop := context.WithCancel(cmd.Context())
	go func() {
		for {
			select {
			case s := <-c:
				if s == syscall.SIGUSR1 {
					h.Pause()
				} else {
					h.Resume()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	w.Gate, w.Uploads = h, l.upload
	return stop
}
