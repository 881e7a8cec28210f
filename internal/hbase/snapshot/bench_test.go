package snapshot

import (
	"context"
	"fmt"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
)

// benchLab creates a region of rows with 18 cells, as after a bulk load, with additional files that have some of the cells again.
func benchLab(b *testing.B, more int) *Snapshot {
	b.Helper()
	l := newLab(b, "f")
	var files []testsnapshot.File
	add := func(n, every int) {
		var cells []*aged
		for i := 0; i < 20_000; i += every {
			row := fmt.Appendf(nil, "%d%032x%016d", i%10, uint64(i)*0x9e3779b97f4a7c15, i)
			for q := range 18 {
				if n > 0 && q%9 > 0 {
					continue
				}
				c := &aged{}
				c.Row, c.Family, c.Qualifier = row, []byte("f"), fmt.Appendf(nil, "column_%02d", q)
				c.Timestamp, c.Type, c.Value = 900_000+int64(n), hfile.Put, fmt.Appendf(nil, "value %d %d", i%(q*q+1), n)
				cells = append(cells, c)
			}
		}
		name := fmt.Sprintf("%032x_SeqId_%d_", n+1, n+2)
		size := l.file("data/n/t.x/"+l.Encoded("")+"/f/"+name,
			hfile.Options{Encoding: hfile.EncodingFastDiff, Compression: hfile.CompressionSnappy}, cells)
		files = append(files, wholeFile("f", name, size))
	}
	add(0, 1)
	for n := range more {
		add(n+1, 20)
	}
	l.region("", "", false, files...)
	s, err := l.save()
	testcheck.Must(b, err)
	return s
}

func BenchmarkScan(b *testing.B) {
	for _, more := range []int{0, 6} {
		b.Run(fmt.Sprintf("%d files", more+1), func(b *testing.B) {
			s := benchLab(b, more)
			b.ReportAllocs()
			cells := int64(0)
			for b.Loop() {
				testcheck.Must(b, s.Each(b.Context(), 1, View{Versions: 1}, func(_ context.Context, _ int, sc *Scan) error {
					for sc.Next() {
					}
					cells += sc.Stats().Read
					return nil
				}))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(cells), "ns/cell")
		})
	}
}
