package main

import (
	"fmt"
	"io"
	"time"

	"bulkload/pkg/job"
	"bulkload/pkg/partition"

	"github.com/spf13/cobra"
)

type planOptions struct {
	specFlags
	workFlags
	clusterFlags
	splits string
}

func newPlanCmd(g *globals) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan --input PATH…",
		Short: "Foretell what a load takes: rows, HFiles, time, memory, disk",
		Long: `Plan reads a sample of the input, sorts and encodes it as run would, and scales
what that took to the whole input. Nothing is loaded or kept. The regions are
the table's, or those of --splits, for which no cluster is needed. Time is that
of reading, sorting and writing; loading and verifying come on top of it, and a
link to HDFS that is slower than the encoding.` + "\n" + exitHelp,
		Example: `  bulkload plan --job examples/check.yaml --input /exports/check/20171012
  bulkload plan --job examples/check.yaml --input check.csv --splits 1,2,3,4,5,6,7,8,9 --memory 64MiB`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.specFlags.add(cmd.Flags())
	o.workFlags.add(cmd.Flags())
	o.clusterFlags.add(cmd.Flags())
	cmd.Flags().StringVar(&o.splits, "splits", "", `split points separated by commas, bytes as \xNN (default: the table's)`)
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command, g *globals) error {
	spec, err := o.load(cmd)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := needInputs(spec); err != nil {
		return err
	}
	env, err := o.open(g)
	if err != nil {
		return err
	}
	defer env.Close()
	var splits *[][]byte
	if cmd.Flags().Changed("splits") || spec.Table == "" {
		points, err := partition.ParseSplits(o.splits)
		if err != nil {
			return usageError{fmt.Errorf("--splits: %w", err)}
		}
		splits = &points
	}
	e, err := job.Foretell(cmd.Context(), env, spec, splits, o.workOptions(env))
	if err != nil {
		return err
	}
	return g.print(cmd.OutOrStdout(), e, func(w io.Writer) { printEstimate(w, e) })
}

func printEstimate(w io.Writer, e *job.Estimate) {
	if e.SampledRows == 0 {
		fmt.Fprintf(w, "%d files without a record: nothing to do\n", e.Files)
		return
	}
	fmt.Fprintf(w, "about %d rows (%d cells) from %d files with %s, into %d of %d regions\n", e.Rows, e.Cells, e.Files, bytesText(e.InputBytes), e.HFiles, len(e.Regions))
	fmt.Fprintf(w, "  hfiles  %s\n", bytesText(e.HFileBytes))
	fmt.Fprintf(w, "  time    %s: read and sort %s, write %s, with %d workers\n", roundTime(e.Time()), roundTime(e.ReadTime), roundTime(e.WriteTime), e.Workers)
	fmt.Fprintf(w, "  memory  %s at the peak\n", bytesText(e.Memory))
	if e.Spills {
		fmt.Fprintf(w, "  spill   %s in %d runs; with %s more memory there would be none\n", bytesText(e.SpillBytes), e.Runs, bytesText(e.MoreMemory))
	} else {
		fmt.Fprintln(w, "  spill   none: all rows fit in memory")
	}
	fmt.Fprintf(w, "told from %d rows of %d places\n", e.SampledRows, e.Places)
}

// roundTime leaves a duration two or three digits that mean something.
func roundTime(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, 10 * time.Millisecond} {
		if d >= 100*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Millisecond)
}
