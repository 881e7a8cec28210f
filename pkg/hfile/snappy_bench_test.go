package hfile

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"
)

// encodedBlocks returns FAST_DIFF blocks of check rows, each 64 KiB before encoding.
func encodedBlocks(tb testing.TB, rows int) (blocks [][]byte, size int64) {
	s, keys, values, _ := checkRows(rows)
	var out bytes.Buffer
	w, err := NewRowWriter(&out, Options{Family: []byte("f"), Encoding: EncodingFastDiff, Checksum: ChecksumNone}, s)
	if err != nil {
		tb.Fatal(err)
	}
	for i, k := range keys {
		if err := w.AppendRow(k, values[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		tb.Fatal(err)
	}
	magic := []byte(blockKinds[kindEncodedData].magic)
	for rest := out.Bytes(); bytes.HasPrefix(rest, magic); {
		d := decbuf{b: rest[8:]}
		onDisk, raw := d.i32(), d.i32()
		blocks = append(blocks, rest[headerSize:headerSize+raw])
		size += int64(raw)
		rest = rest[headerSize+onDisk:]
	}
	return blocks, size
}

// processorTime returns the CPU time that this process has used so far.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSnappy compares Snappy encoders on data blocks. The ratio is bytes
// before to bytes after; MB/cpu-s does not depend on other processes.
func BenchmarkSnappy(b *testing.B) {
	blocks, size := encodedBlocks(b, 20000)
	for _, e := range []struct {
		name   string
		encode func(dst, src []byte) []byte
	}{{"golang", snappy.Encode}, {"default", s2.EncodeSnappy}, {"better", s2.EncodeSnappyBetter}} {
		b.Run(e.name, func(b *testing.B) {
			dst := make([]byte, snappy.MaxEncodedLen(1<<20))
			packed := 0
			b.SetBytes(size)
			began := processorTime(b)
			for b.Loop() {
				packed = 0
				for _, src := range blocks {
					packed += len(e.encode(dst, src))
				}
			}
			b.ReportMetric(float64(size)*float64(b.N)/1e6/(processorTime(b)-began).Seconds(), "MB/cpu-s")
			b.ReportMetric(float64(size)/float64(packed), "ratio")
		})
	}
}
