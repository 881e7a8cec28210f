package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/settings"
	"bulkload/pkg/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// specFlags are the job file and the flags that override its fields.
type specFlags struct {
	jobFile string
}

// add registers the flags of a job that reads inputs.
func (s *specFlags) add(f *pflag.FlagSet) {
	s.addTable(f)
	settings.AddFields(f, spec.OfRecords, spec.OfText)
}

// addTable registers the flags that say what rows of a table look like: all that a reader needs.
func (s *specFlags) addTable(f *pflag.FlagSet) {
	f.StringVar(&s.jobFile, "job", "", "job file (YAML)")
	settings.MarkJobFile(f)
	settings.AddFields(f, spec.OfTable)
}

// load reads the job file and puts what flags gave over it.
func (s *specFlags) load(cmd *cobra.Command) (spec.Job, error) {
	given := settings.JobSpec(cmd)
	if s.jobFile == "" && given.Key == "" && given.Table == "" {
		return spec.Job{}, usageError{settings.AboutFlags(errors.New("no job: name a job file with --job, or give --table and --key"), "job")}
	}
	if err := stdinOnce(cmd, given); err != nil {
		return spec.Job{}, err
	}
	return given.Resolve()
}

// stdinOnce refuses an input that is standard input where a flag reads that too.
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
			return usageError{settings.AboutFlags(fmt.Errorf("--%s %s and --input - read the same standard input: give one of them a file", name, file), name, "input")}
		}
	}
	return nil
}

// workFlags are the flags that say with what a build works.
type workFlags struct {
	memory     spec.Size
	workers    int
	spillDir   string
	spillLimit spec.Size
	rejectFile string
}

func (w *workFlags) add(f *pflag.FlagSet) {
	w.memory = spec.DefaultMemory
	f.Var(&w.memory, "memory", "budget for sort, merge and buffers together")
	f.IntVar(&w.workers, "workers", 0, "workers of each pass (default: the number of cores)")
	f.StringVar(&w.spillDir, "spill-dir", "", "directory for sorted runs that do not fit in memory (default: the system's temporary directory)")
	f.Var(&w.spillLimit, "spill-limit", "most disk that sorted runs may take, such as 200GiB; a job that needs more fails and says how much (default no limit)")
	f.StringVar(&w.rejectFile, "reject-file", "", "where bad records go with their reasons, as JSON lines, when --bad-records allows any (default rejects.jsonl in the job's state directory; of build, next to --out)")
}

// addMerge registers those of a work without an input.
func (w *workFlags) addMerge(f *pflag.FlagSet) {
	w.memory = spec.DefaultMemory
	f.Var(&w.memory, "memory", "budget for merging and buffers together")
	f.IntVar(&w.workers, "workers", 0, "regions that are written at a time (default: the number of cores; fewer if memory allows no more)")
}

func (w *workFlags) check() error {
	if w.workers < 0 || w.workers > 1024 {
		return usageError{settings.AboutFlags(fmt.Errorf("--workers %d is outside 0..1024", w.workers), "workers")}
	}
	return nil
}
