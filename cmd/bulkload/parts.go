package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"bulkload/pkg/cluster"
	"bulkload/pkg/job"
	"bulkload/pkg/spec"

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
func (s *splitFlags) runner() (func(context.Context, *cluster.Env, spec.Spec, job.RunOptions) (*job.Result, error), error) {
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
	for _, p := range parts {
		switch p.Status {
		case job.PartDone:
			fmt.Fprintf(w, "%s: %d records read, %d rows (%d cells) in %d HFiles, %s, in %s\n", p.Input, p.Records, p.Rows, p.Cells, p.HFiles,
				bytesText(p.Written), p.Elapsed.Round(time.Millisecond))
		case job.PartFailed, job.PartBusy, job.PartStopped:
			fmt.Fprintf(w, "%s: %s\n", p.Input, p.Status)
		}
	}
	fmt.Fprintln(w, partsText(parts))
}

// partsText counts parts by what became of them.
func partsText(parts []job.Part) string {
	count := map[job.PartStatus]int{}
	for _, p := range parts {
		count[p.Status]++
	}
	noun := "directories"
	if len(parts) == 1 {
		noun = "directory"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s: %d done", len(parts), noun, count[job.PartDone])
	for _, s := range []job.PartStatus{job.PartAlready, job.PartFailed, job.PartBusy, job.PartStopped, job.PartLeft} {
		if count[s] > 0 {
			fmt.Fprintf(&b, ", %d %s", count[s], partText(s))
		}
	}
	return b.String()
}

// partText is a status for people.
func partText(s job.PartStatus) string {
	switch s {
	case job.PartAlready:
		return "done before"
	case job.PartLeft:
		return "not begun"
	}
	return string(s)
}

// doneNow sums up what this run did.
func doneNow(parts []job.Part) (rows, input, written int64) {
	for _, p := range parts {
		if p.Status == job.PartDone {
			rows, input, written = rows+p.Rows, input+p.Bytes, written+p.Written
		}
	}
	return rows, input, written
}

// rejectsText says where the bad records of a result are.
func rejectsText(r *job.Result) string {
	files := 0
	for _, p := range r.Parts {
		if p.RejectFile != "" {
			files++
		}
	}
	switch {
	case files < 2:
		return r.Manifest.RejectFile
	case files == 2:
		return r.Manifest.RejectFile + " and 1 more file"
	}
	return fmt.Sprintf("%s and %d more files", r.Manifest.RejectFile, files-1)
}

// partsSoFar prints what became of the parts of a run that failed; in JSON the result has them.
func partsSoFar(cmd *cobra.Command, g *globals, r *job.Result) error {
	if r == nil || len(r.Parts) == 0 || g.json() || g.logs.quiet {
		return nil
	}
	printParts(cmd.OutOrStdout(), r.Parts)
	return nil
}
