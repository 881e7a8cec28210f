// Command bulkload fills HBase tables from exports, without Spark or MapReduce.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/metrics"
	"bulkload/internal/cli/session"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/cli/usage"
)

func main() {
	abortOnPanic()
	collectAt(startingGOGC)
	version = thisBuild().Version
	os.Exit(run(os.Args[1:]))
}

// abortOnPanic makes a panic end the process by SIGABRT after its trace: Go's exit code of a panic, 2, is that of wrong settings. A core dump, which
// may hold rows, is prevented by a limit of one byte (core(5)), unless the environment asks for one.
func abortOnPanic() {
	if os.Getenv("GOTRACEBACK") != "" {
		return
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil && limit.Max > 0 {
		limit.Cur = 1
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	}
	debug.SetTraceback("crash")
}

const (
	// startingGOGC is the collector's GOGC until the settings are read. With workingGOGC, a few megabytes of flags, help texts
	// and parsed files would have been collected six times by then, a quarter of the CPU time of the start. With 400 a spilling
	// job of 64 MiB peaks 4 MB higher.
	startingGOGC = 200
	// workingGOGC is the GOGC of the work. The heap is a few large buffers without pointers, so collecting it costs next to
	// nothing, and a heap of twice that size would exceed the memory budget: at 50 a spilling job of 64 MiB peaks at 90 MB
	// instead of 106.
	workingGOGC = 50
)

// collectAt sets the collector's GOGC, unless the environment sets it.
func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// spareProcessors sets GOMAXPROCS to two for each core, unless the environment sets it. A goroutine that waits for a disk in a
// system call keeps its processor, for up to 10 ms when the others have nothing queued: with one processor for each core, cores
// are idle while files are synced. The number of workers stays one for each core.
func spareProcessors(workers *pflag.Flag, cores int) error {
	if os.Getenv("GOMAXPROCS") != "" {
		return nil
	}
	if workers.Value.String() == "0" {
		if err := workers.Value.Set(strconv.Itoa(cores)); err != nil {
			return err
		}
	}
	runtime.GOMAXPROCS(2 * cores)
	return nil
}

// run is main without the exit, so that tests can call it.
func run(args []string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	standard := &ui.Console{File: standardError()}
	stopOnSignal(cancel, standard)
	g := &globals{Program: session.Program{Console: standard}, out: &ending.Output{Writer: os.Stdout}, cores: runtime.GOMAXPROCS(0)}
	cmd, err := execute(ctx, g, args)
	if err == nil {
		err = g.out.Err()
	}
	return g.End(ctx, g.out, cmd, err)
}

// standardError returns standard error with another descriptor. Go ends a process by SIGPIPE if nobody reads descriptor 2: a job must end in order, also if
// the same Ctrl-C has ended the program that reads its log.
func standardError() *os.File {
	fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil { // it is closed
		return os.Stderr
	}
	return os.NewFile(uintptr(fd), os.Stderr.Name())
}

// stopOnSignal cancels at the first SIGINT or SIGTERM, or SIGHUP unless the caller ignores it, as nohup does. The next SIGINT or SIGTERM ends the
// process at once; a terminal that closes may send SIGHUP twice.
func stopOnSignal(cancel context.CancelCauseFunc, standard *ui.Console) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	go func() {
		sig, _ := (<-c).(syscall.Signal)
		signal.Reset(syscall.SIGINT, syscall.SIGTERM) // the signals of pausing stay caught: by default they kill
		cancel(ending.Signal(sig))                    // first: nobody may be reading standard error
		standard.Say(slog.LevelWarn, "stopping by a signal", fmt.Sprintf("%v: stopping; a second signal ends the process at once", sig))
	}()
}

// execute runs the command that the arguments name, with the profiles that they select, and returns the command.
func execute(ctx context.Context, g *globals, args []string) (cmd *cobra.Command, err error) {
	if g.Console == nil {
		g.Console = &ui.Console{File: os.Stderr}
	}
	root := newRootCmd(g)
	root.SetArgs(args)
	if g.out != nil {
		root.SetOut(g.out)
	}
	g.Args = args
	if err := usage.Values(root, args); err != nil {
		return root, err
	}
	stop := func() error { return nil }
	pre := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := pre(cmd, args); err != nil {
			return err
		}
		collectAt(workingGOGC)
		var err error
		if workers := cmd.Flags().Lookup("workers"); workers != nil && g.cores > 0 {
			if err = spareProcessors(workers, g.cores); err != nil {
				return err
			}
		}
		stop, err = g.profile.start()
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cmd, err = root.ExecuteContextC(ctx)
	return cmd, settings.WithOrigins(cmd, usage.Explain(root, err))
}

// globals are the flags of every command.
type globals struct {
	session.Program
	out     *ending.Output // standard output; nil: cobra's default
	cores   int            // initial number of processors of the Go runtime; 0: it is left unchanged
	profile profileFlags
}

func newRootCmd(g *globals) *cobra.Command {
	this := thisBuild()
	g.Build = metrics.Build{Version: version, Revision: this.Revision, Go: this.Go}
	root := &cobra.Command{
		Use:   "bulkload",
		Short: "Fill HBase tables from exports, without Spark or MapReduce",
		Long: `bulkload reads exports (CSV, 0x01/0x10 dumps, JSON lines, Parquet, ORC, Avro), tables
and snapshots, makes row keys, sorts the rows by the table's regions in fixed memory,
writes one HFile for each region as HBase itself would, uploads them to HDFS, loads
them and verifies what is visible.`,
		Version:           this.String(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return g.Prepare(cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	f := root.PersistentFlags()
	g.Program.Add(f)
	g.profile.add(f)
	settings.AddFlags(f)
	root.AddCommand(newRunCmd(g), newBuildCmd(g), newMergeCmd(g), newPlanCmd(g), newInspectCmd(g), newCheckCmd(g), newLoadCmd(g), newUndoCmd(g), newDiffCmd(g), newCleanCmd(g), newStatusCmd(g), newGetCmd(g), newRekeyCmd(g), newScanCmd(g), newExportCmd(g), newCompareCmd(g), newServeCmd(g), newConsoleCmd(g), newKeyCmd(g), newTableCmd(g), newHFileCmd(g), newVersionCmd(g), newConfigCmd(g), newDemoCmd(g), newCompletionCmd(), newTaskCmd(g))
	settings.AddOldNames(root)
	addCompletions(root)
	root.InitDefaultVersionFlag()
	usage.Define(root)
	return root
}
