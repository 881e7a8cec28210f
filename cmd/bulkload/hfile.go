package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bulkload/internal/cli/hfiletext"
	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

func newHFileCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hfile",
		Short: "Look into HFiles, local or on HDFS",
	}
	c := &clusterFlags{}
	c.add(cmd.PersistentFlags())
	for _, read := range []*cobra.Command{
		{Use: "meta FILE", Short: "Print what an HFile says of itself", RunE: withHFile(g, c, func(cmd *cobra.Command, name string, r *hfile.Reader) error {
			v, err := filecheck.DescribeHFile(name, r)
			if err != nil {
				return err
			}
			return g.Print(cmd.OutOrStdout(), v, func(w io.Writer) { hfiletext.PrintMeta(w, v) })
		})},
		{Use: "cells FILE", Short: "Print every cell: row, family, qualifier in base64, timestamp, type, value in base64, tags if any", RunE: withHFile(g, c, func(cmd *cobra.Command, _ string, r *hfile.Reader) error {
			return hfiletext.PrintCells(cmd.OutOrStdout(), r)
		})},
		{Use: "blocks FILE", Short: "Print every block, the trailer, the file info and the root index", RunE: withHFile(g, c, func(cmd *cobra.Command, _ string, r *hfile.Reader) error {
			return r.Dump(cmd.OutOrStdout())
		})},
	} {
		read.Args = usage.ExactArgs("FILE")
		cmd.AddCommand(read)
	}
	cmd.AddCommand(newHFileWriteCmd(g, c), newHFileCheckCmd(g, c))
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

type hfileWriteOptions struct {
	compression, level, encoding, bloom, checksum string
	hfile                                         hfile.Options // without those that the names above select
	zstdBlocks                                    bool
	now                                           int64
	settings                                      []string
}

func newHFileWriteCmd(g *globals, c *clusterFlags) *cobra.Command {
	o := &hfileWriteOptions{}
	cmd := &cobra.Command{
		Use:   "write OUT",
		Short: "Write an HFile from lines of cells on standard input, in the form that cells prints",
		Args:  usage.ExactArgs("OUT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := o.options()
			if err != nil {
				return fail.Usage(err)
			}
			return c.withEnv(g, func(env *cluster.Env) error {
				fsys, p, err := env.Resolve(strings.TrimPrefix(args[0], "hfile://"))
				if err != nil {
					return err
				}
				return hfiletext.Write(cmd.Context(), fsys, p, stdinOf(cmd), opts)
			})
		},
	}
	f := cmd.Flags()
	settings.Bind(f, settings.To{
		"compression": &o.compression, "compression-level": &o.level, "zstd-blocks": &o.zstdBlocks, "encoding": &o.encoding, "bloom": &o.bloom, "bloom-prefix": &o.hfile.BloomPrefix, "blocksize": &o.hfile.BlockSize,
		"checksum": &o.checksum, "index-block-size": &o.hfile.IndexBlockSize, "index-min-entries": &o.hfile.IndexMinEntries, "bloom-block-size": &o.hfile.BloomBlockSize, "encoded-ratio": &o.hfile.EncodedRatio, "define": &o.settings, "now": &o.now,
		"task": &o.hfile.Task,
	})
	f.Lookup("define").Usage += hfiletext.Settings
	return cmd
}

func (o *hfileWriteOptions) options() (hfile.Options, error) {
	o.now = cmp.Or(o.now, time.Now().UnixMilli())
	h := o.hfile
	h.CreateTime, h.BulkloadTime = o.now, o.now
	var errs [5]error
	h.Compression, errs[0] = hfile.ParseCompression(o.compression)
	h.Encoding, errs[1] = hfile.ParseEncoding(o.encoding)
	h.Bloom, errs[2] = hfile.ParseBloomType(o.bloom)
	h.Checksum, errs[3] = hfile.ParseChecksumType(o.checksum)
	h.Level, errs[4] = hfile.ParseLevel(o.level)
	if err := errors.Join(errs[:]...); err != nil {
		return h, err
	}
	if o.zstdBlocks {
		h.Zstd = hfile.ZstdBlocks
	}
	for _, s := range o.settings {
		if err := hfiletext.Define(&h, s); err != nil {
			return h, err
		}
	}
	return h, h.Validate()
}

func newHFileCheckCmd(g *globals, c *clusterFlags) *cobra.Command {
	probes := 20000
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Read whole HFiles and compare what they say of themselves with what they hold; a JSON line each",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			env, err := c.open(g)
			if err != nil {
				return err
			}
			defer env.Close()
			damaged, unsupported := 0, 0
			for _, name := range args {
				res, err := checkFile(cmd, env, name, probes)
				switch {
				case err != nil:
					return err
				case res.Unsupported:
					unsupported++
				case !res.OK:
					damaged++
				}
			}
			files, are := setting.Count(len(args), "file"), "are"
			if damaged == 1 {
				are = "is"
			}
			switch {
			case damaged > 0 && unsupported > 0:
				return fail.Errorf(fail.Input, "%d of %s %s damaged, and %d cannot be checked: they are encrypted, or of a version that is not supported", damaged, files, are, unsupported)
			case damaged > 0:
				return fail.Errorf(fail.Input, "%d of %s %s damaged", damaged, files, are)
			case unsupported > 0:
				return fail.Errorf(fail.Input, "%d of %s cannot be checked: they are encrypted, or of a version or with settings that are not supported", unsupported, files)
			}
			return nil
		},
	}
	settings.Bind(cmd.Flags(), settings.To{"probes": &probes})
	return cmd
}

func checkFile(cmd *cobra.Command, env *cluster.Env, name string, probes int) (res hfile.CheckResult, err error) {
	fsys, p, err := env.Resolve(strings.TrimPrefix(name, "hfile://"))
	if err != nil {
		return res, err
	}
	f, err := filecheck.Open(cmd.Context(), fsys, p)
	if err != nil {
		return res, fail.With(fail.Input, err)
	}
	defer f.Close()
	if f.Info.IsDir() {
		return res, fail.Usage(fmt.Errorf("%s is a directory: name HFiles", name))
	}
	res = hfile.Check(f, f.Info.Size(), hfile.CheckOptions{Name: name, Probes: probes})
	return res, json.NewEncoder(cmd.OutOrStdout()).Encode(res)
}
