// Command cluster starts and stops a test cluster that keeps running after the command: a real HDFS, ZooKeeper and
// HBase on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

type options struct {
	testcluster.Options
	zones   []string
	aes     string
	level   string
	secure  bool
	verbose bool
}

func newCommand() *cobra.Command {
	var o options
	root := &cobra.Command{
		Use:          "cluster",
		Short:        "A real HDFS, ZooKeeper and HBase on this machine, for tests and for trying things out",
		SilenceUsage: true,
		// Otherwise the flags before "adm" would be passed to Adm, those before "hfile" to HFileJudge.
		TraverseChildren: true,
		SilenceErrors:    true,
		PersistentPreRunE: func(*cobra.Command, []string) (err error) {
			o.Dir, err = absoluteDir(o.Dir)
			return err
		},
	}
	root.PersistentFlags().StringVar(&o.Dir, "dir", "", "the cluster's directory (default build/cluster in the checkout)")
	root.PersistentFlags().BoolVarP(&o.verbose, "verbose", "v", false, "say what is done")

	up := &cobra.Command{
		Use: "up", Short: "Start the cluster, or find it running", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUp(cmd.Context(), cmd.OutOrStdout(), o) },
	}
	up.Flags().IntVar(&o.Port, "port", 0, "first of the consecutive ports (default: a free range)")
	up.Flags().IntVar(&o.RegionServers, "region-servers", 1, "number of region servers")
	up.Flags().IntVar(&o.DataNodes, "data-nodes", 1, "number of data nodes")
	up.Flags().BoolVar(&o.HA, "ha", false, "two NameNodes")
	up.Flags().BoolVar(&o.YARN, "yarn", false, "YARN and MapReduce's history server in addition to the others")
	up.Flags().IntVar(&o.NodeManagers, "node-managers", 0, "number of NodeManagers with --yarn (default 2)")
	up.Flags().BoolVar(&o.KMS, "kms", false, "a key management server, with the keys k1 and k2 of encryption zones")
	up.Flags().StringSliceVar(&o.zones, "zone", nil, "an encryption zone: root (/hbase), inputs (/inputs), staging (/staging) or DIR=KEY; starts a KMS")
	up.Flags().BoolVar(&o.Measured, "measured", false, "for measurements: region servers compile as those of sites do, and are fast later")
	up.Flags().StringVar(&o.Hadoop, "hadoop", testcluster.DefaultHadoop, "version of HDFS: "+strings.Join(testcluster.Hadoops(), ", "))
	up.Flags().StringVar(&o.HBase, "hbase", "", "version of HBase: "+strings.Join(testcluster.Versions(), ", ")+" (default: $"+testcluster.EnvHBase+", else "+testcluster.DefaultHBase+")")
	o.addSecure(up.Flags())
	root.AddCommand(up,
		&cobra.Command{
			Use: "down", Short: "Stop the cluster and remove its data", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return testcluster.Down(cmd.Context(), o.Dir) },
		},
		&cobra.Command{
			Use: "down-pool DIR", Short: "Stop the clusters that tests have handed on in a directory, and remove their data", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return testcluster.DownPool(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use: "tend-pool DIR", Short: "Stop the clusters of such a directory that no test has used for five minutes, until interrupted", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return testcluster.TendPool(cmd.Context(), args[0], 5*time.Minute)
			},
		},
		&cobra.Command{
			Use: "status", Short: "Show the daemons; the exit code is 1 when one does not serve", Args: cobra.NoArgs,
			RunE: o.attached(runStatus),
		},
		&cobra.Command{
			Use: "env", Short: "Print the lines for eval in a shell", Args: cobra.NoArgs,
			RunE: o.attached(func(cmd *cobra.Command, c *testcluster.Cluster, _ []string) error {
				printEnvironment(cmd.OutOrStdout(), c)
				return nil
			}),
		},
		&cobra.Command{
			Use: "restart ROLE", Short: "Kill one daemon, if it runs, and start it again", Args: cobra.ExactArgs(1),
			RunE: o.attached(runRestart),
		},
		&cobra.Command{
			Use: "grant TABLE...", Short: "Give the users of a cluster with Kerberos their rights: loader RWC, nocreate RW, nobody none",
			Args: cobra.MinimumNArgs(1),
			RunE: o.attached(func(cmd *cobra.Command, c *testcluster.Cluster, args []string) error {
				return c.Grant(cmd.Context(), args...)
			}),
		},
		&cobra.Command{
			Use: "adm COMMAND [ARG]...", Short: "Ask the cluster by HBase's own client, \"adm --as USER\" as a user of one with Kerberos; \"adm help\" lists the commands",
			DisableFlagParsing: true, // "create" has its own flags.
			RunE:               o.attached(runAdm),
		},
		&cobra.Command{
			Use: "hfile COMMAND [ARG]...", Short: "Write, read or check HFiles by HBase's own classes (testdata/hfile/judge/HFileJudge.java lists the commands)",
			DisableFlagParsing: true, // "write" has its own flags.
			RunE: func(cmd *cobra.Command, args []string) error {
				out, err := testcluster.JudgeInput(cmd.Context(), cmd.InOrStdin(), args...)
				fmt.Fprint(cmd.OutOrStdout(), out)
				return err
			},
		},
		&cobra.Command{
			Use: "jars", Short: "Fetch the jars, if need be, and print their directory", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				lib, err := testcluster.Jars(cmd.Context())
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), lib)
				}
				return err
			},
		})
	return root
}

// absoluteDir returns the given directory, or build/cluster in the checkout.
func absoluteDir(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	root, err := testcheck.Root()
	if err != nil {
		return "", fmt.Errorf("%w: run inside the checkout or give --dir", err)
	}
	return filepath.Join(root, "build", "cluster"), nil
}

// attached returns a command that works with the running cluster.
func (o *options) attached(do func(*cobra.Command, *testcluster.Cluster, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := testcluster.Attach(cmd.Context(), filepath.Join(o.Dir, "conf"))
		if err != nil {
			return err
		}
		defer c.Close()
		return do(cmd, c, args)
	}
}

func runUp(ctx context.Context, out io.Writer, o options) error {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	if err := o.completeSecurity(); err != nil {
		return err
	}
	o.KMS, o.Zones = o.KMS || len(o.zones) > 0, zonesOf(o.zones)
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	c, started, err := testcluster.Up(ctx, o.Options)
	if err != nil {
		return err
	}
	defer c.Close()
	if !started {
		fmt.Fprintln(out, "# It runs already.")
	}
	printEnvironment(out, c)
	fmt.Fprintf(out, "# HBase:       %s\n", c.Version())
	fmt.Fprintf(out, "# NameNode:    http://localhost:%d/jmx\n", c.Ports().NameNodeHTTP)
	fmt.Fprintf(out, "# ZooKeeper:   %s\n", c.ZooKeeper())
	fmt.Fprintf(out, "# HDFS:        %s\n", c.HDFS())
	if c.HadoopHome() != "" {
		fmt.Fprintf(out, "# YARN:        http://%s/cluster\n", c.YARNEnd())
		fmt.Fprintf(out, "# History:     http://%s/jobhistory\n", c.HistoryEnd())
	}
	fmt.Fprintf(out, "# Logs:        %s\n", filepath.Join(c.Dir(), "logs"))
	fmt.Fprintf(out, "# Look:        go run ./internal/test/testcluster/cmd/cluster --dir %s adm help\n", c.Dir())
	fmt.Fprintf(out, "# Stop:        go run ./internal/test/testcluster/cmd/cluster --dir %s down\n", c.Dir())
	return nil
}

func zonesOf(names []string) map[string]string {
	usual := map[string]string{"root": "/hbase", "inputs": "/inputs", "staging": "/staging"}
	zones := map[string]string{}
	for _, name := range names {
		dir, key, ok := strings.Cut(name, "=")
		if !ok {
			dir, key = usual[name], testcluster.ZoneKey
		}
		zones[dir] = key
	}
	return zones
}

func printEnvironment(out io.Writer, c *testcluster.Cluster) {
	for _, kv := range c.Environment() {
		fmt.Fprintln(out, "export", kv)
	}
	for _, name := range c.Unset() {
		fmt.Fprintln(out, "unset", name)
	}
}

func runStatus(cmd *cobra.Command, c *testcluster.Cluster, _ []string) error {
	var missing int
	for _, role := range c.Roles() {
		d := c.Daemon(role)
		state := "serves"
		switch err := d.Probe(cmd.Context()); {
		case errors.Is(err, os.ErrProcessDone):
			state = "does not run"
			missing++
		case err != nil:
			state = err.Error()
			missing++
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%-16s pid %-8d %s\n", role, d.Pid(), state)
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d daemons do not serve; logs in %s", missing, len(c.Roles()), filepath.Join(c.Dir(), "logs"))
	}
	return nil
}

func runRestart(cmd *cobra.Command, c *testcluster.Cluster, args []string) error {
	d := c.Daemon(testcluster.Role(args[0]))
	if d == nil {
		return fmt.Errorf("no daemon %q; there are %v", args[0], c.Roles())
	}
	if err := d.Restart(cmd.Context()); err != nil {
		return err
	}
	return d.WaitReady(cmd.Context())
}

func runAdm(cmd *cobra.Command, c *testcluster.Cluster, args []string) (err error) {
	var text string
	if len(args) > 1 && args[0] == "--as" {
		text, err = c.JavaClassAs(cmd.Context(), args[1], "Adm", args[2:]...)
	} else {
		text, err = c.Java(cmd.Context(), args...)
	}
	fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}
