package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"bulkload/internal/settings"
	"bulkload/pkg/build"
	"bulkload/pkg/cluster"
	"bulkload/pkg/progress"
	"bulkload/pkg/upload"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// limitFlags say how much of a serving cluster a job may take, and when.
type limitFlags struct {
	upload      upload.Options
	calls       int
	onlyBetween string

	window *progress.Window // nil: always
}

// add registers the flags.
func (l *limitFlags) add(f *pflag.FlagSet) {
	f.Var(&l.upload.Rate, "upload-limit", "most bytes a second that HFiles are written to HDFS with, all together, such as 50MiB (default no limit)")
	f.IntVar(&l.upload.Streams, "upload-streams", 0, "regions whose HFiles are written to HDFS at a time (default: the number of workers, and up to 32 small ones that are completed meanwhile)")
	f.StringVar(&l.onlyBetween, "only-between", "", "work only between these times of the day, such as 22:00-06:00 (in --time-zone), and wait otherwise")
}

// addLoad registers that of commands that load.
func (l *limitFlags) addLoad(f *pflag.FlagSet) {
	f.IntVar(&l.calls, "load-concurrency", 0, "regions of the whole table that take files at a time (default 2 of each region server, 8 while they are quick)")
}

// check reads the window too, so that what is wrong is said before anything is done.
func (l *limitFlags) check(cmd *cobra.Command) (err error) {
	switch {
	case l.upload.Streams < 0:
		return usageError{settings.AboutFlags(fmt.Errorf("--upload-streams %d is below 0", l.upload.Streams), "upload-streams")}
	case l.calls < 0:
		return usageError{settings.AboutFlags(fmt.Errorf("--load-concurrency %d is below 0", l.calls), "load-concurrency")}
	case l.onlyBetween == "":
		return nil
	}
	if l.window, err = progress.ParseWindow(l.onlyBetween, settings.Of(cmd).Zone); err != nil {
		return usageError{settings.AboutFlags(fmt.Errorf("--only-between: %w", err), "only-between")}
	}
	return nil
}

// hold puts the limits into the options, and a gate at which the job waits:
// outside of the window, and when SIGUSR1 asked for it until SIGUSR2 comes.
// stop ends the listening to those signals.
func (l *limitFlags) hold(ctx context.Context, env *cluster.Env, w *build.WorkOptions) (stop func()) {
	h := &progress.Hold{Window: l.window, Events: w.Events, Rest: env.Rest}
	// They stay caught: one that comes while the command ends must not kill it.
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)
	ctx, stop = context.WithCancel(ctx)
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
