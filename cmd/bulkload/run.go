package main

import (
	"fmt"
	"io"
	"time"

	"bulkload/pkg/job"

	"github.com/spf13/cobra"
)

type runOptions struct {
	specFlags
	workFlags
	clusterFlags
	staging string
	keep    bool
}

func newRunCmd(g *globals) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run --job FILE --input PATH…",
		Short: "The whole job: exports in, rows visible in the table",
		Long: `Run asks the table for its split points and the family's settings, reads the
exports, builds one HFile for each region in a staging directory on HDFS, loads
them and verifies what became visible. Nothing is loaded from a run that failed
while it read or built.` + "\n" + exitHelp,
		Example: `  bulkload run --job examples/check.yaml --input /exports/check/20171012
  bulkload run --job examples/check.yaml --table test:check --input hdfs:///user/tina/check/20171012 --verify full`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, g) },
	}
	o.specFlags.add(cmd.Flags())
	o.workFlags.add(cmd.Flags())
	o.clusterFlags.add(cmd.Flags())
	cmd.Flags().StringVar(&o.staging, "staging", "", "directory on HDFS for the files until they are loaded (default /tmp/bulkload-USER)")
	cmd.Flags().BoolVar(&o.keep, "keep-staging", false, "leave the staging directory behind a successful run")
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, g *globals) error {
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
	r, err := job.Run(cmd.Context(), env, spec, job.RunOptions{WorkOptions: o.workOptions(env), Staging: o.staging, Keep: o.keep})
	if err != nil {
		return err
	}
	return g.print(cmd.OutOrStdout(), r.Summary(), func(w io.Writer) { printResult(w, r) })
}

func printResult(w io.Writer, r *job.Result) {
	if m := r.Manifest; m != nil {
		fmt.Fprintf(w, "table %s: %d records read, %d rows (%d cells) in %d HFiles, %s\n", r.Table, m.Records, m.Digest.Rows, m.Digest.Cells,
			len(m.Files), bytesText(m.Bytes))
		if m.Duplicates > 0 {
			fmt.Fprintf(w, "%d rows left out because another row has their key\n", m.Duplicates)
		}
		if m.Rejected > 0 {
			fmt.Fprintf(w, "%d bad records set aside in %s\n", m.Rejected, m.RejectFile)
		}
		fmt.Fprintf(w, "read %s, write %s, ", m.ReadTime.Round(time.Millisecond), m.WriteTime.Round(time.Millisecond))
	}
	fmt.Fprintf(w, "load %s into %d regions, all in %s\n", r.LoadTime.Round(time.Millisecond), r.Regions, r.Elapsed.Round(time.Millisecond))
	if v := r.Verify; v != nil {
		switch v.Mode {
		case "full":
			fmt.Fprintf(w, "verified: the table has %s with this job's timestamp, as written\n", v.Got)
		case "sample":
			fmt.Fprintf(w, "verified: %d sampled rows are as written\n", v.Sampled)
		default:
			fmt.Fprintln(w, "not verified (--verify off)")
		}
	}
}
