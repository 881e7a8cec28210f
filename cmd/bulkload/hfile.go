package main

import (
	"fmt"
	"io"
	"strings"

	"bulkload/internal/cli/hfiletext"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hfile"

	"github.com/spf13/cobra"
)

func newHFileCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hfile",
		Short: "Look into HFiles, local or on HDFS",
	}
	c := &clusterFlags{}
	c.add(cmd.PersistentFlags())
	cmd.AddCommand(newHFileMetaCmd(g, c), newHFileCellsCmd(g, c), newHFileBlocksCmd(g, c), newHFileWriteCmd(g, c), newHFileCheckCmd(g, c))
	return cmd
}

// withHFile opens an HFile for a command and adds the file's name to errors.
func withHFile(g *globals, c *clusterFlags, do func(cmd *cobra.Command, name string, r *hfile.Reader) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return c.withEnv(g, func(env *cluster.Env) error {
			fsys, p, err := env.Resolve(strings.TrimPrefix(args[0], "hfile://"))
			if err != nil {
				return err
			}
			r, f, err := filecheck.OpenHFile(cmd.Context(), fsys, p)
			if err == nil {
				defer f.Close()
				err = do(cmd, args[0], r)
			}
			if err != nil {
				return fail.With(fail.Input, fmt.Errorf("%s: %w", args[0], err))
			}
			return nil
		})
	}
}

func newHFileMetaCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "meta FILE",
		Short: "Print what an HFile says of itself",
		Args:  usage.ExactArgs("FILE"),
		RunE: withHFile(g, c, func(cmd *cobra.Command, name string, r *hfile.Reader) error {
			v, err := filecheck.DescribeHFile(name, r)
			if err != nil {
				return err
			}
			return g.Print(cmd.OutOrStdout(), v, func(w io.Writer) { hfiletext.PrintMeta(w, v) })
		}),
	}
}

func newHFileCellsCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "cells FILE",
		Short: "Print every cell: row, family, qualifier in base64, timestamp, type, value in base64, tags if any",
		Args:  usage.ExactArgs("FILE"),
		RunE: withHFile(g, c, func(cmd *cobra.Command, _ string, r *hfile.Reader) error {
			return hfiletext.PrintCells(cmd.OutOrStdout(), r)
		}),
	}
}

func newHFileBlocksCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "blocks FILE",
		Short: "Print every block, the trailer, the file info and the root index",
		Args:  usage.ExactArgs("FILE"),
		RunE:  withHFile(g, c, func(cmd *cobra.Command, _ string, r *hfile.Reader) error { return r.Dump(cmd.OutOrStdout()) }),
	}
}
