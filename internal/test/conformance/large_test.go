package conformance

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bulkload/pkg/hfile"
)

// TestLarge writes a file of BULKLOAD_CONFORMANCE_CELLS cells for each of a few settings, with block sizes from 256
// bytes to a megabyte, and runs the checks of the random cases on it.
func TestLarge(t *testing.T) {
	cells := int(envInt(t, "BULKLOAD_CONFORMANCE_CELLS", 0))
	if cells == 0 {
		t.Skip("BULKLOAD_CONFORMANCE_CELLS is not set")
	}
	java := startHBase(t, zstdModule)
	dir := t.TempDir()
	text := filepath.Join(dir, "cells")
	writeLargeText(t, text, cells)
	for _, o := range []hfile.Options{
		{BlockSize: 256, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow},
		{BlockSize: 65536, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow},
		{BlockSize: 65536, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow, Compression: hfile.CompressionSnappy},
		{BlockSize: 4096, Encoding: hfile.EncodingDiff, Bloom: hfile.BloomRowCol},
		{BlockSize: 1 << 20, Encoding: hfile.EncodingPrefix, Bloom: hfile.BloomRowCol, Compression: hfile.CompressionLZ4},
		{BlockSize: 1 << 20, Encoding: hfile.EncodingRowIndexV1, Bloom: hfile.BloomRow},
		{BlockSize: 16384, Encoding: hfile.EncodingNone, Bloom: hfile.BloomNone, Compression: hfile.CompressionZSTD},
		{BlockSize: 65536, Encoding: hfile.EncodingNone, Bloom: hfile.BloomRow, Compression: hfile.CompressionGZ},
	} {
		o.Zstd, o.CreateTime, o.BulkloadTime = hfile.ZstdBlocks, clock, clock
		o.IndexBlockSize, o.IndexMinEntries, o.BloomBlockSize, o.BytesPerChecksum = 128<<10, 16, 128<<10, 16<<10
		o.BloomErrorRate, o.Task = 0.01, "attempt_200001010000_0001_r_000000_0"
		c := &testCase{name: fmt.Sprintf("%s-%s-%s-%d", o.Compression, o.Encoding, o.Bloom, o.BlockSize), o: o}
		t.Run(c.name, func(t *testing.T) { c.large(t, dir, text, java) })
	}
}

func (c *testCase) large(t *testing.T, dir, text string, java *jvm) {
	ours, theirs, out := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs"), filepath.Join(dir, "out")
	start := time.Now()
	writeLarge(t, ours, text, c.o)
	took := time.Since(start)
	if _, _, err := java.run(text, out, append([]string{"write", theirs}, c.words()...)...); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if c.o.Compression == hfile.CompressionNone {
		if out, err := exec.Command("cmp", ours, theirs).CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	} else if d := c.firstDifference(a, b); d != "" {
		t.Fatal(d)
	}
	if _, _, err := java.run("", out, "cells", ours); err != nil {
		t.Fatal(err)
	}
	if o, err := exec.Command("cmp", out, text).CombinedOutput(); err != nil {
		t.Fatalf("HBase reads other cells from ours: %s", o)
	}
	got, _, err := java.run("", out, "check", "--probes", "2000", ours)
	if err != nil {
		t.Fatal(err)
	}
	res := hfile.Check(bytes.NewReader(a), int64(len(a)), hfile.CheckOptions{Name: ours, Probes: 2000})
	if err := c.sameCheck(got, res); err != nil {
		t.Fatal(err)
	}
	rate := -1.0
	if res.BloomFalsePositives != nil {
		rate = *res.BloomFalsePositives
	}
	t.Logf("%d cells, %d blocks, %d levels, %d bytes, HBase's %d; false positives %g; written from text in %v: equal", res.Entries, res.Blocks, res.IndexLevels, len(a), len(b), rate, took)
}

// writeLargeText writes cells in order: rows of 1 to 30 columns.
func writeLargeText(t *testing.T, name string, cells int) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	c := hfile.Cell{Family: []byte("cf"), Type: hfile.Put}
	state := envOr(t)
	next := func(n uint64) uint64 {
		state = state*6364136223846793005 + 1442695040888963407
		return (state >> 33) % n
	}
	words := []string{"", "客户本人已核实", "0", "同意放款", "income_ratio >= 0.55", "2017-10-10 10:10:10"}
	for n, row := 0, uint64(0); n < cells; {
		row += 1 + next(1000)
		c.Row = fmt.Appendf(c.Row[:0], "用户%012d", row)
		for column := next(4); column < 60 && n < cells; column += 1 + next(4) {
			c.Qualifier = fmt.Appendf(c.Qualifier[:0], "column_%02d", column)
			c.Timestamp = clock - int64(next(3)/2)
			c.Value = append(c.Value[:0], words[next(uint64(len(words)))]...)
			if next(3) == 0 {
				c.Value = binary.BigEndian.AppendUint64(c.Value, next(1<<31)<<32|next(1<<31))
			}
			line = append(hfile.AppendCellText(line[:0], &c), '\n')
			w.Write(line)
			n++
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func envOr(t *testing.T) uint64 { return envInt(t, "BULKLOAD_CONFORMANCE_SEED", 1) }

func writeLarge(t *testing.T, name, text string, o hfile.Options) {
	in, err := os.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := hfile.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := hfile.ParseCellText(line[:len(line)-1], clock)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(&c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
}
