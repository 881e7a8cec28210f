package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/upload"
)

// specFlags are the job file and the flags that override its fields.
type specFlags struct {
	jobFile string
}

// add registers the flags of a job that reads inputs.
func (s *specFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"job": &s.jobFile})
	settings.AddFields(f, spec.OfTable, spec.OfRecords, spec.OfText)
}

// addTable registers the flags that describe a table's rows: all that a reader needs.
func (s *specFlags) addTable(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"job": &s.jobFile})
	settings.AddFields(f, spec.OfTable, spec.OfQueries)
}

// describedBy returns the absolute path of the job file, or its name unchanged if that is a URI or the path is
// unknown. It is empty without a job file.
func (s *specFlags) describedBy() string {
	if abs, err := filepath.Abs(s.jobFile); err == nil && s.jobFile != "" && !strings.Contains(s.jobFile, "://") {
		return abs
	}
	return s.jobFile
}

func (s *specFlags) load(cmd *cobra.Command) (spec.Job, error) {
	given := settings.JobSpec(cmd)
	if s.jobFile == "" && given.Key == "" && given.Table == "" {
		return spec.Job{}, fail.Usage(settings.AboutFlags(errors.New("no job: name a job file with --job, or give --table and --key"), "job"))
	}
	if err := stdinOnce(cmd, given); err != nil {
		return spec.Job{}, err
	}
	return given.Resolve()
}

// stdinOnce refuses standard input as an input if a flag reads it too.
func stdinOnce(cmd *cobra.Command, given spec.Spec) error {
	if !slices.Contains(given.Inputs, "-") {
		return nil
	}
	for _, name := range []string{"job", "config", "splits"} {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			continue
		}
		switch file := strings.TrimPrefix(f.Value.String(), "@"); file {
		case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
			return fail.Usage(settings.AboutFlags(fmt.Errorf("--%s %s and --input - both read standard input: give a file for one of them", name, file), name, "input"))
		}
	}
	return nil
}

// workFlags are the flags of a build's resources and of its files of records.
type workFlags struct{ work build.WorkOptions }

func (w *workFlags) add(f *pflag.FlagSet) {
	w.addMerge(f)
	settings.Bind(f, settings.To{"spill-dir": &w.work.SpillDir, "spill-limit": &w.work.SpillLimit})
}

// addLeftOut registers the flags of all files for records that are left out.
func (w *workFlags) addLeftOut(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"reject-file": &w.work.RejectFile, "filtered-file": &w.work.FilteredFile, "duplicates-file": &w.work.DuplicatesFile})
}

// addMerge registers the flags of work without an input.
func (w *workFlags) addMerge(f *pflag.FlagSet) {
	w.work.Memory = spec.DefaultMemory
	settings.Bind(f, settings.To{"memory": &w.work.Memory, "workers": &w.work.Workers})
}

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
