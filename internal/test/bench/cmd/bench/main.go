// Command bench compares bulkload with other programs that do its work; see package bench.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bulkload/internal/test/bench"
	"bulkload/internal/test/bench/data"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	bench.Config
	cases []string
}

func newCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure bulkload against the least possible work, HBase's ImportTsv and Spark",
		Long: `Bench generates data, runs the tools of each case in turn, and prints tables of
minimum, median and maximum with ratios. It asserts nothing: the exit code is 0
when it measured. The same goes to result.md and result.json in --dir.

Cases:
  build         bulkload build from dump, CSV and Parquet, against ../shared/bench/floor
  run           bulkload run to visible rows on the test cluster, against the peers
  memory64      5 times the rows with --memory 64MiB, against unspilled
  skew          half of the rows in one region, and in one key, against even
  scale50m      50 times the rows into 50 regions, time a row against the plain rows
  opinion20m    20 times the rows of opinion, a tenth of them in one region
  upload-delay  bulkload build onto HDFS through a link of 2 ms round trip
  nightly       bulkload run of 3,000 rows into a table that was loaded before, a sample verified, warm:
                15 rounds come before those that are measured
  regions1000   bulkload build of 200,000 rows into 1,000 regions and into ten, local and onto HDFS
  guard         today's program against the release before and the floor, half of the rows, five minutes:
                guard-dump, guard-csv, guard-parquet, guard-region1, guard-regions1000,
                guard-spill64. A line a case says faster, slower or same. all leaves it out`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.cases, "cases", []string{bench.CaseBuild, bench.CaseRun}, "cases to run; all and guard stand for several")
	f.StringSliceVar(&o.Peers, "peers", []string{bench.PeerImportTsv}, "peers in the case run: importtsv, spark, put")
	f.Int64Var(&o.Rows, "rows", 1_000_000, "rows of the plain cases; the large ones have multiples of it")
	f.IntVar(&o.Rounds, "rounds", 5, "rounds to measure, after one that warms up, of nightly 15")
	f.IntVar(&o.LongRounds, "long-rounds", 1, "the same for scale50m and opinion20m")
	f.StringVar(&o.Memory, "memory", "512MiB", "bulkload's --memory where the case does not say")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the data")
	f.IntVar(&o.PeerTasks, "peer-tasks", 1, "map tasks, and reduce tasks, that Hadoop's local runner may run at a time")
	f.StringVar(&o.Baseline, "baseline", "", "tag or commit that the guard's cases compare with (default the newest tag v… before this commit)")
	f.BoolVar(&o.KeepCluster, "keep-cluster", false, "leave the test cluster running, for the next time")
	f.StringVar(&o.Dir, "dir", "", "directory for data, programs, cluster and result (default build/bench in the checkout)")
	cmd.AddCommand(newDataCommand())
	return cmd
}

func (o *options) run(cmd *cobra.Command) (err error) {
	ctx := cmd.Context()
	o.cases = bench.Expand(o.cases)
	if err := bench.CheckCases(o.cases); err != nil {
		return err
	}
	if o.Root, err = checkout(); err != nil {
		return err
	}
	if o.Dir != "" {
		if o.Dir, err = filepath.Abs(o.Dir); err != nil {
			return err
		}
	}
	// Another process generates the data: see package bench on peaks of memory.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.DataCommand = []string{self, "data"}
	o.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	lab, err := bench.NewLab(o.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close(context.WithoutCancel(ctx))) }()
	report := &bench.Report{Schema: 1, Started: time.Now(), Machine: bench.LookAtMachine(ctx, o.Root)}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", report.Machine)
	for _, name := range o.cases {
		c, err := lab.Run(ctx, name)
		if err != nil {
			return err
		}
		report.Add(c)
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n", strings.TrimRight(c.Markdown(), "\n")+"\n")
		// After each case: a failure of the last case must not lose hours of measurements.
		if err := report.Write(lab.Dir); err != nil {
			return err
		}
	}
	for i := range report.Cases {
		if line := report.Cases[i].Line(); line != "" {
			fmt.Fprintln(cmd.OutOrStdout(), line)
		}
	}
	if row := bench.ReleaseRow(report.Machine.Commit, report.Cases); row != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "\nThe row of docs/performance.md, to be named by its release:\n%s\n\n", row)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Peaks of memory at or below %d MiB are unknown. All of this is in result.md and result.json in %s.\n",
		report.Hidden>>20, lab.Dir)
	return nil
}

// checkout returns the directory of the nearest go.mod.
func checkout() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above it: run inside the checkout", start)
		}
	}
}

func newDataCommand() *cobra.Command {
	var (
		spec             data.Spec
		dir, form, table string
	)
	cmd := &cobra.Command{
		Use: "data", Short: "Make one file of rows and print its path", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec.Table = data.Table(table)
			name, err := data.WriteFile(cmd.Context(), dir, spec, data.Form(form))
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", ".", "directory of the file")
	f.StringVar(&form, "form", string(data.Dump), fmt.Sprintf("one of %v", data.Forms()))
	f.StringVar(&table, "table", string(data.Check), "check or opinion")
	f.Int64Var(&spec.Rows, "rows", 1000, "rows")
	f.Uint64Var(&spec.Seed, "seed", 1, "seed")
	f.IntVar(&spec.Regions, "regions", 10, "modulus of the salt")
	f.Float64Var(&spec.RegionShare, "region-share", 0, "share of rows in region 0")
	f.Float64Var(&spec.KeyShare, "key-share", 0, "share of rows of one query key")
	f.BoolVar(&spec.Flat, "flat", false, "spaces in place of tabs and newlines in values")
	return cmd
}
