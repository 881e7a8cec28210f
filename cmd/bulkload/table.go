package main

import (
	"errors"
	"fmt"
	"io"

	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"

	"github.com/spf13/cobra"
)

func newTableCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "table", Short: "Create tables and look at their regions"}
	c := &clusterFlags{}
	c.add(cmd.PersistentFlags())
	cmd.AddCommand(newTableCreateCmd(g, c), newTableRegionsCmd(g, c), newTableSplitsCmd(g), newTableAdviseCmd(g))
	return cmd
}

func newTableSplitsCmd(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "splits PLAN",
		Short: "Print split points, one a line",
		Long: `Splits prints the split points of a plan, one per line. PLAN is ALGORITHM:N (hex,
decimal, uniform, md5, salt, bytesalt, javasalt), a list with commas and bytes as \xNN,
or @FILE with one per line. hex, decimal, uniform, md5 and salt make N regions, bytesalt
and javasalt a region for each value that the byte of N salts can have.`,
		Example: `  bulkload table splits hex:16
  bulkload table splits salt:50 > splits.txt`,
		Args: usage.ExactArgs("PLAN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			points, err := readSplits(cmd.Context(), args[0])
			if err != nil {
				return fail.Usage(err)
			}
			lines := make([]string, len(points))
			for i, p := range points {
				lines[i] = rowkey.String(p)
			}
			return g.Print(cmd.OutOrStdout(), lines, func(w io.Writer) {
				for _, l := range lines {
					fmt.Fprintln(w, l)
				}
			})
		},
	}
}

type regionLine struct {
	Region string `json:"region"`
	Start  string `json:"start"`
	End    string `json:"end"`
	Server string `json:"server"`
}

func newTableRegionsCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "regions TABLE",
		Short: "Print a table's regions with their bounds and servers",
		Args:  usage.ExactArgs("TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := loader.ParseTableName(args[0])
			if err != nil {
				return fail.Usage(err)
			}
			var regions []loader.Region
			err = c.withCluster(cmd.Context(), g, func(cluster *loader.Cluster) error {
				regions, err = cluster.Regions(cmd.Context(), name)
				return err
			})
			if errors.Is(err, loader.ErrTableNotFound) {
				return &fail.Error{Kind: fail.Check, Err: err}
			}
			if err != nil {
				return err
			}
			lines := make([]regionLine, len(regions))
			for i, r := range regions {
				lines[i] = regionLine{r.Encoded, rowkey.String(r.Start), rowkey.String(r.End), r.Server}
			}
			return g.Print(cmd.OutOrStdout(), lines, func(w io.Writer) {
				for _, l := range lines {
					fmt.Fprintf(w, "%s  [%s, %s)  %s\n", l.Region, l.Start, l.End, l.Server)
				}
			})
		},
	}
}
