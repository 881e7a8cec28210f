// Command bulkload fills HBase tables from exports, without Spark or MapReduce.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	// The heap is a few large buffers without pointers, so collecting it costs
	// next to nothing, and twice its size would break the memory budget: at 50
	// a spilling job of 64 MiB peaks at 90 MB instead of 106.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	os.Exit(run(os.Args[1:]))
}

// run is main without the exit, so that tests can call it.
func run(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go stopOnSignal(cancel)
	err := execute(ctx, args)
	if err == nil {
		return exitDone
	}
	code := endCode(ctx, err)
	switch {
	case code > exitSignal:
		fmt.Fprintf(os.Stderr, "bulkload: stopped by %v\n", context.Cause(ctx))
	case code != exitAlready:
		fmt.Fprintf(os.Stderr, "bulkload: %v\n", err)
	}
	return code
}

// endCode is the exit code of a command that ended with an error: that of the signal by which it was stopped, if it was.
func endCode(ctx context.Context, err error) int {
	if s, ok := errors.AsType[signalled](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		return exitSignal + int(s.sig)
	}
	return exitCode(err)
}

// signalled is why a command was stopped.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string { return s.sig.String() }

// Is makes a stop by a signal a cancellation.
func (s signalled) Is(target error) bool { return target == context.Canceled }

// stopOnSignal cancels at the first SIGINT or SIGTERM; the second ends the
// process at once.
func stopOnSignal(cancel context.CancelCauseFunc) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	sig, _ := (<-c).(syscall.Signal)
	signal.Reset()
	fmt.Fprintf(os.Stderr, "bulkload: %v: stopping; a second one ends at once\n", sig)
	cancel(signalled{sig})
}

// execute runs the command that the arguments name, under the profiles that they ask for.
func execute(ctx context.Context, args []string) (err error) {
	g := &globals{}
	root := newRootCmd(g)
	root.SetArgs(args)
	stop := func() error { return nil }
	pre := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := pre(cmd, args); err != nil {
			return err
		}
		var err error
		stop, err = g.profile.start()
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cmd, err := root.ExecuteContextC(ctx)
	return withOrigins(cmd, err)
}
