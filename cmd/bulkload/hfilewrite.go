package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"

	"github.com/spf13/cobra"
)

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
		Args:  exactArgs("OUT"),
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
				return o.write(cmd.Context(), fsys, p, stdinOf(cmd), opts)
			})
		},
	}
	f := cmd.Flags()
	settings.Bind(f, settings.To{
		"compression": &o.compression, "compression-level": &o.level, "zstd-blocks": &o.zstdBlocks, "encoding": &o.encoding, "bloom": &o.bloom, "bloom-prefix": &o.hfile.BloomPrefix, "blocksize": &o.hfile.BlockSize,
		"checksum": &o.checksum, "index-block-size": &o.hfile.IndexBlockSize, "index-min-entries": &o.hfile.IndexMinEntries, "bloom-block-size": &o.hfile.BloomBlockSize, "encoded-ratio": &o.hfile.EncodedRatio, "define": &o.settings, "now": &o.now,
		"task": &o.hfile.Task,
	})
	f.Lookup("define").Usage += strings.Join(otherSettings, ", ")
	return cmd
}

// write writes the file. An existing file is replaced once the new one is complete.
func (o *hfileWriteOptions) write(ctx context.Context, fsys hdfsio.FS, name string, in io.Reader, opts hfile.Options) error {
	target := name
	info, err := fsys.Stat(ctx, name)
	replace := err == nil && info.Mode().IsRegular()
	if replace {
		target += ".new"
		if err := fsys.Remove(ctx, target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail.With(fail.HDFS, err)
		}
	}
	f, err := fsys.Create(ctx, target, hdfsio.CreateOptions{})
	if err != nil {
		return fail.With(fail.HDFS, err)
	}
	if err := writeCells(f, in, opts); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Finish(); err != nil || !replace {
		return fail.With(fail.HDFS, err)
	}
	if err := fsys.Remove(ctx, name); err != nil {
		return fail.With(fail.HDFS, err)
	}
	return fail.With(fail.HDFS, fsys.Rename(ctx, target, name))
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
		if err := define(&h, s); err != nil {
			return h, err
		}
	}
	return h, h.Validate()
}

// otherSettings are the settings that have no flag of their own.
var otherSettings = []string{"hbase.hstore.bytes.per.checksum", "io.storefile.bloom.error.rate", "hbase.mapreduce.hfileoutputformat.compaction.exclude"}

// define applies a setting, which it identifies by its name in HBase's configuration.
func define(h *hfile.Options, setting string) error {
	key, v, ok := strings.Cut(setting, "=")
	if !ok {
		return fmt.Errorf("-D %s: want KEY=VALUE", setting)
	}
	var err error
	switch key {
	case "hfile.index.block.max.size":
		h.IndexBlockSize, err = strconv.Atoi(v)
	case "hfile.index.block.min.entries":
		h.IndexMinEntries, err = strconv.Atoi(v)
	case "io.storefile.bloom.block.size":
		h.BloomBlockSize, err = strconv.Atoi(v)
	case "io.storefile.bloom.error.rate":
		var rate float64
		rate, err = strconv.ParseFloat(v, 32)
		h.BloomErrorRate = float32(rate)
	case "RowPrefixBloomFilter.prefix_length":
		h.BloomPrefix, err = strconv.Atoi(v)
	case "hbase.hstore.checksum.algorithm":
		h.Checksum, err = hfile.ParseChecksumType(v)
	case "hbase.hstore.bytes.per.checksum":
		h.BytesPerChecksum, err = strconv.Atoi(v)
	case "hbase.writer.unified.encoded.blocksize.ratio":
		h.EncodedRatio, err = strconv.ParseFloat(v, 64)
	case "hbase.mapreduce.hfileoutputformat.compaction.exclude":
		h.ExcludeFromMinorCompaction, err = strconv.ParseBool(v)
	default:
		return fmt.Errorf("-D %s: unknown setting of an HFile", key)
	}
	if err != nil {
		return fmt.Errorf("-D %s: %w", setting, err)
	}
	return nil
}

func writeCells(out io.Writer, in io.Reader, o hfile.Options) error {
	w, err := hfile.NewWriter(out, o)
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) > 0 {
			c, err := hfile.ParseCellText([]byte(strings.TrimSuffix(string(line), "\n")), o.BulkloadTime)
			if err == nil {
				err = w.Append(&c)
			}
			if err != nil {
				return fail.Usage(fmt.Errorf("standard input, line %d: %w", n, err))
			}
		}
		if err == io.EOF {
			break
		}
	}
	stats, err := w.Finish()
	if err == nil && stats.Cells == 0 {
		err = fail.Usage(errors.New("no cells on standard input"))
	}
	return err
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
	info, err := f.Stat()
	if err != nil {
		return res, fail.With(fail.Input, err)
	}
	if info.IsDir() {
		return res, fail.Usage(fmt.Errorf("%s is a directory: name HFiles", name))
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return res, fmt.Errorf("%s cannot be read at an offset", name)
	}
	res = hfile.Check(at, info.Size(), hfile.CheckOptions{Name: name, Probes: probes})
	return res, json.NewEncoder(cmd.OutOrStdout()).Encode(res)
}
