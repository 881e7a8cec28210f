package hfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkCheck checks a file of a hundred megabytes in FAST_DIFF and Snappy.
func BenchmarkCheck(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	s := Schema{Timestamp: goldenNow}
	for i := range 18 {
		s.Qualifiers = append(s.Qualifiers, fmt.Appendf(nil, "column_%02d", i))
	}
	var out bytes.Buffer
	w, err := NewRowWriter(&out, Options{Family: []byte("f"), Compression: CompressionSnappy, Encoding: EncodingFastDiff, Bloom: BloomRow}, s)
	if err != nil {
		b.Fatal(err)
	}
	values := make([][]byte, len(s.Qualifiers))
	for i := 0; out.Len() < 100<<20; i++ {
		for k := range values {
			values[k] = fmt.Appendf(values[k][:0], "%d", rnd.Uint64N(1<<(3*k)))
		}
		if err := w.AppendRow(fmt.Appendf(nil, "user%012d", i), values); err != nil {
			b.Fatal(err)
		}
	}
	stats, err := w.Finish()
	if err != nil {
		b.Fatal(err)
	}
	for _, probes := range []int{0, 20000} {
		b.Run(fmt.Sprintf("probes=%d", probes), func(b *testing.B) {
			b.SetBytes(int64(out.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if res := Check(bytes.NewReader(out.Bytes()), int64(out.Len()), CheckOptions{Probes: probes}); !res.OK {
					b.Fatal(res.Errors)
				}
			}
			b.ReportMetric(float64(b.N)*float64(stats.Cells)/b.Elapsed().Seconds(), "cells/s")
		})
	}
	b.Run("scan", func(b *testing.B) {
		b.SetBytes(int64(out.Len()))
		for b.Loop() {
			s := openBytes(b, out.Bytes()).Scan()
			for s.Next() {
			}
			if s.Err() != nil {
				b.Fatal(s.Err())
			}
		}
	})
}
