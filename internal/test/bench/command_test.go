package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/bench/data"
	"bulkload/internal/test/testcheck"
)

var (
	cases  = flag.String("cases", "", "cases of TestBench, separated by commas; all and guard stand for several")
	peers  = flag.String("peers", PeerImportTsv, "peers in the case run: importtsv, spark, put")
	config = configFlags()
)

// configFlags registers the flags of a configuration.
func configFlags() *Config {
	config := &Config{}
	flag.Int64Var(&config.Rows, "rows", 1_000_000, "rows of the plain cases; the large ones have multiples of it")
	flag.IntVar(&config.Rounds, "rounds", 5, "rounds to measure, after one that warms up, of nightly 15")
	flag.IntVar(&config.LongRounds, "long-rounds", 1, "the same for scale50m and opinion20m")
	flag.StringVar(&config.Memory, "memory", "512MiB", "bulkload's --memory where the case does not say")
	flag.Uint64Var(&config.Seed, "seed", 1, "seed of the data")
	flag.IntVar(&config.PeerTasks, "peer-tasks", 1, "map tasks, and reduce tasks, that Hadoop's local runner may run at a time")
	flag.StringVar(&config.Baseline, "baseline", "", "tag or commit that the guard's cases compare with (default the newest tag v… before this commit)")
	flag.BoolVar(&config.KeepCluster, "keep-cluster", false, "leave the test cluster running, for the next time")
	flag.StringVar(&config.Dir, "dir", "", "directory for data, programs, cluster and result (default build/bench in the checkout)")
	return config
}

// TestMain runs the tests, or writes the file of rows that the environment describes.
func TestMain(m *testing.M) {
	asked := os.Getenv(dataEnv)
	if asked == "" {
		os.Exit(m.Run())
	}
	var f dataFile
	err := json.Unmarshal([]byte(asked), &f)
	if err == nil {
		_, err = data.WriteFile(context.Background(), f.Dir, f.Spec, f.Form)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make data:", err)
		os.Exit(1)
	}
}

// TestBench generates data, runs the tools of each case in turn, and prints tables of minimum, median and maximum with ratios. It
// asserts nothing: it passes when it measured. The same goes to result.md and result.json in -dir. Its cases are:
//
//   - build: bulkload build from dump, CSV and Parquet, against ../shared/bench/floor
//   - run: bulkload run to visible rows on the test cluster, against the peers
//   - memory64: 5 times the rows with --memory 64MiB, against unspilled
//   - skew: half of the rows in one region, and in one key, against even
//   - scale50m: 50 times the rows into 50 regions, time a row against the plain rows
//   - opinion20m: 20 times the rows of opinion, a tenth of them in one region
//   - upload-delay: bulkload build onto HDFS through a link of 2 ms round trip
//   - nightly: bulkload run of 3,000 rows into a table that was loaded before, a sample verified, warm: 15 rounds come before those
//     that are measured
//   - regions1000: bulkload build of 200,000 rows into 1,000 regions and into ten, local and onto HDFS
//   - guard: today's program against the release before and the floor, half of the rows, five minutes: guard-dump, guard-csv,
//     guard-parquet, guard-region1, guard-regions1000, guard-spill64. A line a case says faster, slower or same. all leaves it out
func TestBench(t *testing.T) {
	if *cases == "" {
		t.Skip("has its own target: make bench")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	names := Expand(strings.Split(*cases, ","))
	testcheck.Must(t, CheckCases(names))
	c := *config
	var err error
	if c.Dir != "" {
		c.Dir, err = filepath.Abs(c.Dir)
		testcheck.Must(t, err)
	}
	// Another process generates the data: see package bench on peaks of memory.
	c.Generator, err = os.Executable()
	testcheck.Must(t, err)
	c.Root, c.Peers, c.Log = testcheck.Path(t), strings.Split(*peers, ","), slog.New(slog.NewTextHandler(os.Stderr, nil))
	lab, err := NewLab(c)
	testcheck.Must(t, err)
	defer func() { testcheck.Must(t, lab.Close(context.WithoutCancel(ctx))) }()
	report := &Report{Schema: 1, Started: time.Now(), Machine: LookAtMachine(ctx, c.Root)}
	fmt.Printf("%s\n\n", report.Machine)
	for _, name := range names {
		c, err := lab.Run(ctx, name)
		testcheck.Must(t, err)
		report.Add(c)
		fmt.Printf("%s\n", strings.TrimRight(c.Markdown(), "\n")+"\n")
		// After each case: a failure of the last case must not lose hours of measurements.
		testcheck.Must(t, report.Write(lab.Dir))
	}
	for i := range report.Cases {
		if line := report.Cases[i].Line(); line != "" {
			fmt.Println(line)
		}
	}
	if row := ReleaseRow(report.Machine.Commit, report.Cases); row != "" {
		fmt.Printf("\nThe row of docs/performance.md, to be named by its release:\n%s\n\n", row)
	}
	fmt.Printf("Peaks of memory at or below %d MiB are unknown. All of this is in result.md and result.json in %s.\n", report.Hidden>>20, lab.Dir)
}
