package loader

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// wideTable loads rows of 18 columns, like those of the check table, into regions of equal size.
func wideTable(b *testing.B, c *bench, regions, each int) TableName {
	b.Helper()
	var splits []string
	for i := 1; i < regions; i++ {
		splits = append(splits, fmt.Sprintf("%02d", i))
	}
	table := c.table(b, splits...)
	schema := hfile.Schema{Timestamp: testTime}
	values := make([][]byte, 18)
	for i := range values {
		schema.Qualifiers = append(schema.Qualifiers, fmt.Appendf(nil, "column_%02d", i))
		values[i] = fmt.Appendf(nil, "value %d", i*i)
	}
	testcheck.Must(b, c.fs.MkdirAll(b.Context(), c.dir+"/f", 0o755))
	req := LoadRequest{Table: table, FS: c.fs}
	for r := range regions {
		name := fmt.Sprintf("%s/f/%032x", c.dir, r)
		out, err := c.fs.Create(b.Context(), name, hdfsio.CreateOptions{})
		testcheck.Must(b, err)
		w, err := hfile.NewRowWriter(out, hfile.Options{
			Family: []byte("f"), Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow,
		}, schema)
		testcheck.Must(b, err)
		for i := range each {
			testcheck.Must(b, w.AppendRow(fmt.Appendf(nil, "%02d%062d", r, i), values))
		}
		stats, err := w.Finish()
		testcheck.Must(b, err)
		testcheck.Must(b, out.Finish())
		req.Files = append(req.Files, HFile{Family: "f", Path: "hdfs://" + c.root.Authority + name, First: stats.FirstRow, Last: stats.LastRow, Size: stats.Bytes})
	}
	_, err := c.Load(b.Context(), req)
	testcheck.Must(b, err)
	return table
}

// BenchmarkScan reads 200,000 rows of 18 cells.
func BenchmarkScan(b *testing.B) {
	if os.Getenv(testcluster.EnvConf) == "" {
		b.Skip("set " + testcluster.EnvConf + " to a running cluster's configuration")
	}
	c := newBench(b, nil)
	const regions, each = 10, 20_000
	table := wideTable(b, c, regions, each)
	for _, workers := range []int{1, 2, 4} {
		for _, chunk := range []int64{1 << 20, 4 << 20, 8 << 20} {
			b.Run(fmt.Sprintf("workers=%d/chunk=%dMiB", workers, chunk>>20), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var rows, cells, size atomic.Int64
					testcheck.Must(b, c.ScanParallel(b.Context(), ScanRequest{Table: table, ChunkBytes: chunk}, workers, func(_ int, row Row) error {
						n := 0
						for _, cell := range row.Cells {
							n += len(cell.Value)
						}
						rows.Add(1)
						cells.Add(int64(len(row.Cells)))
						size.Add(int64(n))
						return nil
					}))
					if rows.Load() != regions*each || cells.Load() != regions*each*18 {
						b.Fatalf("%d rows, %d cells", rows.Load(), cells.Load())
					}
				}
				b.ReportMetric(float64(b.N*regions*each)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkPrefix reads the rows of one query key on a warm connection.
func BenchmarkPrefix(b *testing.B) {
	if os.Getenv(testcluster.EnvConf) == "" {
		b.Skip("set " + testcluster.EnvConf + " to a running cluster's configuration")
	}
	c := newBench(b, nil)
	table, _ := c.loaded(b, 2000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		testcheck.Must(b, c.Scan(b.Context(), ScanRequest{Table: table, Start: []byte("m00010"), Stop: PrefixEnd([]byte("m00010"))}, func(Row) error {
			n++
			return nil
		}))
		if n != 10 {
			b.Fatalf("%d rows", n)
		}
	}
}

// BenchmarkParseBlock parses cell blocks as a scan does, without a cluster.
func BenchmarkParseBlock(b *testing.B) {
	var block []byte
	const rows, columns = 1000, 18
	for r := range rows {
		for q := range columns {
			block = appendCell(block, fmt.Sprintf("%064d", r), Cell{
				Family: []byte("f"), Qualifier: fmt.Appendf(nil, "column_%02d", q), Value: []byte("a value of it"), Timestamp: testTime,
			})
		}
	}
	a := assembler{emit: func(Row) error { return nil }}
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		rest := block
		for range rows {
			var err error
			if rest, err = a.add(rest, columns, false); err != nil {
				b.Fatal(err)
			}
		}
	}
}
