package main

import (
	"errors"
	"fmt"
	"io"

	"bulkload/pkg/job"

	"github.com/spf13/cobra"
)

func newLoadCmd(g *globals) *cobra.Command {
	c := &clusterFlags{}
	var table, verify string
	cmd := &cobra.Command{
		Use:   "load --table TABLE DIR",
		Short: "Load a directory of HFiles on HDFS into a table",
		Long: `Load takes a directory that build wrote to HDFS, or another program in the layout
DIR/FAMILY/FILE, and loads its files into the table. The files are moved, not copied.` + "\n" + exitHelp,
		Example: `  bulkload load --table test:check hdfs:///tmp/check-hfiles`,
		Args:    exactArgs("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if table == "" {
				return usageError{errors.New("no table: name it with --table")}
			}
			if verify != "full" && verify != "off" {
				return usageError{fmt.Errorf("--verify %q is none of full, off", verify)}
			}
			env, err := c.open(g)
			if err != nil {
				return err
			}
			defer env.Close()
			r, err := job.LoadDir(cmd.Context(), env, table, args[0], verify, logEvents(env.Log))
			if err != nil {
				return err
			}
			return g.print(cmd.OutOrStdout(), r.Summary(), func(w io.Writer) { printResult(w, r) })
		},
	}
	c.add(cmd.Flags())
	cmd.Flags().StringVar(&table, "table", "", "table, namespace:name or name")
	cmd.Flags().StringVar(&verify, "verify", "full", "after the load, when the directory has build's manifest: full or off")
	return cmd
}
