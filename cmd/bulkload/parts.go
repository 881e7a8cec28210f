package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/ui"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/result"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// splitFlags say whether a run is one job or several.
type splitFlags struct {
	by string
}

func (s *splitFlags) add(f *pflag.FlagSet) {
	settings.Bind(f, settings.To{"split-by": &s.by})
}

// runner is the function that does the run.
func (s *splitFlags) runner() func(context.Context, *cluster.Env, spec.Job, job.RunOptions) (*result.Result, error) {
	if s.by == "directory" {
		return job.RunParts
	}
	return job.Run
}

// printParts says what became of the parts that this run had to do with.
func printParts(w io.Writer, parts result.Parts) {
	for _, p := range parts {
		switch p.Status {
		case result.PartDone:
			fmt.Fprintf(w, "%s: %s read, %s (%s) in %s, %s, in %s\n", p.Input, setting.Count(p.Records, "record"), setting.Count(p.Rows, "row"), setting.Count(p.Cells, "cell"), setting.Count(p.HFiles, "HFile"),
				ui.Bytes(p.Written), p.Elapsed.Round(time.Millisecond))
		case result.PartFailed, result.PartBusy, result.PartStopped:
			fmt.Fprintf(w, "%s: %s\n", p.Input, p.Status)
		}
	}
	fmt.Fprintln(w, parts.Text())
}

// inFiles is the same within a sentence, empty if there is no file.
func inFiles(r *result.Result, first string, of func(result.Part) string) string {
	if first == "" {
		return ""
	}
	return ", in " + r.Parts.Files(first, of)
}

// partsSoFar prints what became of the parts, or the clusters, of a run that failed; in JSON the result has them.
func partsSoFar(cmd *cobra.Command, g *globals, r *result.Result) error {
	if r == nil || g.json() || g.logs.quiet {
		return nil
	}
	if len(r.Parts) > 0 {
		printParts(cmd.OutOrStdout(), r.Parts)
	}
	printClusters(cmd.OutOrStdout(), r.Clusters)
	return nil
}

// printClusters says what became of the load into each cluster.
func printClusters(w io.Writer, clusters []result.Cluster) {
	for _, c := range clusters {
		name := cmp.Or(c.Conf, "the command's own")
		if c.Status != result.PartDone {
			fmt.Fprintf(w, "cluster %s: %s\n", name, c.Status.Text())
			continue
		}
		fmt.Fprintf(w, "cluster %s: done in %s%s\n", name, c.Elapsed.Round(time.Millisecond), replaceText(c.Replace))
	}
}
