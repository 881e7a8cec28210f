package build

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/partition"
)

// growth describes the size of an input and a table.
type growth struct {
	rows, columns, value, regions int
}

// BenchmarkGrowth shows how the cost of a build grows with rows, columns, the
// size of values and the number of regions, one at a time. Bytes are the bytes
// of the input.
func BenchmarkGrowth(b *testing.B) {
	base := growth{rows: 200_000, columns: 18, value: 10, regions: 10}
	vary := func(name string, set func(*growth, int), values ...int) {
		for _, v := range values {
			g := base
			set(&g, v)
			b.Run(name+"_"+strconv.Itoa(v), func(b *testing.B) { benchmarkGrowth(b, g) })
		}
	}
	vary("rows", func(g *growth, v int) { g.rows = v }, 50_000, 200_000, 800_000)
	vary("columns", func(g *growth, v int) { g.columns = v }, 3, 18, 100)
	vary("value", func(g *growth, v int) { g.value = v }, 4, 10, 100, 1000)
	vary("regions", func(g *growth, v int) { g.regions = v }, 1, 10, 100, 1000)
}

func benchmarkGrowth(b *testing.B, g growth) {
	input := filepath.Join(b.TempDir(), "rows.dump")
	s := spec.Spec{Inputs: []string{input}, Format: "dump", Key: fmt.Sprintf("salt(id, %d) + md5hex(id) + id", g.regions), Timestamp: 1}
	size, err := writeGrowth(input, g, &s)
	if err != nil {
		b.Fatal(err)
	}
	env := jobtest.Env(b)
	b.SetBytes(size)
	for b.Loop() {
		out := b.TempDir()
		m, err := Directory(b.Context(), env, jobtest.Resolve(b, s), jobtest.Family, partition.SaltSplits(g.regions), out, WorkOptions{SpillDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		if m.Digest.Rows != int64(g.rows) {
			b.Fatalf("%d rows of %d", m.Digest.Rows, g.rows)
		}
		if err := os.RemoveAll(out); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(b.N) * float64(g.rows)
	b.ReportMetric(n/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(n*float64(g.columns)/b.Elapsed().Seconds(), "cells/s")
}

// writeGrowth writes the input and names its columns: an id, and values made of
// words that repeat as in text.
func writeGrowth(name string, g growth, s *spec.Spec) (int64, error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for c := range g.columns {
		s.Columns = append(s.Columns, "c"+strconv.Itoa(c))
	}
	s.Columns[0] = "id"
	words := []string{"approved ", "manual ", "customer ", "rule hit ", "returned ", "income ", "2017-10-12 ", "unknown "}
	r := rand.New(rand.NewPCG(1, 2))
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for row := range g.rows {
		line = fmt.Appendf(line[:0], "%016x%08d", r.Uint64(), row)
		for range g.columns - 1 {
			line = append(line, 1)
			for end := len(line) + g.value; len(line) < end; {
				word := words[r.IntN(len(words))]
				line = append(line, word[:min(len(word), end-len(line))]...)
			}
		}
		line = append(line, 0x10)
		if _, err := w.Write(line); err != nil {
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
