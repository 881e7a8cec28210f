package hfiletext

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// Write writes an HFile from lines of cells. An existing file is replaced once the new one is complete.
func Write(ctx context.Context, fsys hdfsio.FS, name string, in io.Reader, o hfile.Options) error {
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
	if err := writeCells(f, in, o); err != nil {
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

// Settings are the settings of HBase's configuration that [Define] knows and that have no flag of their own.
const Settings = "hbase.hstore.bytes.per.checksum, io.storefile.bloom.error.rate, hbase.mapreduce.hfileoutputformat.compaction.exclude"

// Define applies a setting, which it identifies by its name in HBase's configuration.
func Define(h *hfile.Options, setting string) error {
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
