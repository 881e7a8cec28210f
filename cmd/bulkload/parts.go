package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"bulkload/pkg/job"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// splitFlags say whether a run is one job or several.
type splitFlags struct {
	by string
}

func (s *splitFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.by, "split-by", "none", "none: one job for all inputs; directory: one for each directory that holds files, in order")
}

// runner is the function that does the run.
func (s *splitFlags) runner() (func(context.Context, *job.Env, job.Spec, job.RunOptions) (*job.Result, error), error) {
	switch s.by {
	case "none":
		return job.Run, nil
	case "directory":
		return job.RunParts, nil
	}
	return nil, usageError{fmt.Errorf("--split-by %q is none of none, directory", s.by)}
}

// printParts tells what became of the parts that this run had to do with.
func printParts(w io.Writer, parts []job.Part) {
	count := map[job.PartStatus]int{}
	for _, p := range parts {
		count[p.Status]++
		switch p.Status {
		case job.PartDone:
			fmt.Fprintf(w, "%s: %d records read, %d rows (%d cells) in %d HFiles, %s, in %s\n", p.Input, p.Records, p.Rows, p.Cells, p.HFiles,
				bytesText(p.Written), p.Elapsed.Round(time.Millisecond))
		case job.PartFailed, job.PartBusy, job.PartStopped:
			fmt.Fprintf(w, "%s: %s\n", p.Input, p.Status)
		}
	}
	noun := "directories"
	if len(parts) == 1 {
		noun = "directory"
	}
	fmt.Fprintf(w, "%d %s: %d done", len(parts), noun, count[job.PartDone])
	for _, s := range []job.PartStatus{job.PartAlready, job.PartFailed, job.PartBusy, job.PartStopped, job.PartLeft} {
		if count[s] > 0 {
			fmt.Fprintf(w, ", %d %s", count[s], map[job.PartStatus]string{job.PartAlready: "done before", job.PartFailed: "failed",
				job.PartBusy: "busy", job.PartStopped: "stopped", job.PartLeft: "not begun"}[s])
		}
	}
	fmt.Fprintln(w)
}

// partsSoFar prints what became of the parts of a run that failed; in JSON the result has them.
func partsSoFar(cmd *cobra.Command, g *globals, r *job.Result) error {
	if r == nil || len(r.Parts) == 0 || g.json() || g.quiet {
		return nil
	}
	printParts(cmd.OutOrStdout(), r.Parts)
	return nil
}
