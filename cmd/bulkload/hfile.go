package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"

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
		Args:  exactArgs("FILE"),
		RunE: withHFile(g, c, func(cmd *cobra.Command, name string, r *hfile.Reader) error {
			v, err := filecheck.DescribeHFile(name, r)
			if err != nil {
				return err
			}
			return g.Print(cmd.OutOrStdout(), v, func(w io.Writer) { printMeta(w, v) })
		}),
	}
}

func printMeta(w io.Writer, v filecheck.HFileMeta) {
	fmt.Fprintf(w, "%s\n  HFile %s, %s, %s, %s\n", v.File, v.Version, setting.Bytes(v.Bytes), setting.Count(v.Cells, "cell"), setting.Count(v.IndexLevels, "index level"))
	fmt.Fprintf(w, "  compression %s, encoding %s, bloom %s (%s)\n", v.Compression, v.Encoding, v.Bloom, setting.Count(v.BloomKeys, "key"))
	fmt.Fprintf(w, "  rows %s … %s\n", v.FirstRow, v.LastRow)
	for _, e := range v.Info {
		fmt.Fprintf(w, "  %-30s %s\n", e.Key, e.Text)
	}
}

func newHFileCellsCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "cells FILE",
		Short: "Print every cell: row, family, qualifier in base64, timestamp, type, value in base64, tags if any",
		Args:  exactArgs("FILE"),
		RunE: withHFile(g, c, func(cmd *cobra.Command, _ string, r *hfile.Reader) error {
			w := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			s := r.Scan()
			var line []byte
			for s.Next() {
				line = append(hfile.AppendCellText(line[:0], s.Cell()), '\n')
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
			if err := s.Err(); err != nil {
				return err
			}
			return w.Flush()
		}),
	}
}

func newHFileBlocksCmd(g *globals, c *clusterFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "blocks FILE",
		Short: "Print every block, the trailer, the file info and the root index",
		Args:  exactArgs("FILE"),
		RunE:  withHFile(g, c, func(cmd *cobra.Command, _ string, r *hfile.Reader) error { return r.Dump(cmd.OutOrStdout()) }),
	}
}
