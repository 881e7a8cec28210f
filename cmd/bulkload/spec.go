package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
