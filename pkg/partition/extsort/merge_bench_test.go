package extsort

import (
	"strconv"
	"testing"
)

// BenchmarkMerge measures the second pass alone, with rows in memory and with
// rows of many runs on disk. Bytes are bytes of rows.
func BenchmarkMerge(b *testing.B) {
	const regions = 10
	rows := manyRows(300_000, regions, 0)
	for _, runs := range []int{0, 4, 24} {
		b.Run("runs="+strconv.Itoa(runs), func(b *testing.B) {
			s, err := New(Options{Regions: regions, Memory: 256 << 20, Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			}()
			w, err := s.Writer()
			if err != nil {
				b.Fatal(err)
			}
			size := int64(0)
			for i, r := range rows {
				dst, err := w.Add(r.region, uint64(i+1), r.key, len(r.payload))
				if err != nil {
					b.Fatal(err)
				}
				copy(dst, r.payload)
				size += int64(len(r.key) + len(r.payload))
				if runs > 0 && (i+1)%(len(rows)/runs) == 0 {
					if err := w.Spill(); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := s.Finish(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				for region := range regions {
					m, err := s.Region(region)
					if err != nil {
						b.Fatal(err)
					}
					for m.Next() {
					}
					m.Close()
					if m.Err() != nil {
						b.Fatal(m.Err())
					}
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(rows))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
