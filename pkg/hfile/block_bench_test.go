package hfile

import (
	"io"
	"testing"
)

// BenchmarkBlock measures the work on a data block besides its encoding: compression,
// header, checksums, and the copy to the output. Bytes are counted before compression.
func BenchmarkBlock(b *testing.B) {
	_, _, rows, _ := checkRows(2000)
	var payload []byte
	for _, row := range rows {
		for _, v := range row {
			payload = append(payload, byte(len(v)))
			payload = append(payload, v...)
		}
	}
	payload = payload[:min(len(payload), 64<<10)]
	for _, c := range []Compression{CompressionNone, CompressionSnappy, CompressionLZ4, CompressionZSTD, CompressionGZ} {
		b.Run(c.String(), func(b *testing.B) {
			o := Options{Compression: c}.withDefaults()
			w := newBlockWriter(io.Discard, &o)
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				w.write(kindEncodedData, payload)
			}
			if w.err != nil {
				b.Fatal(w.err)
			}
		})
	}
}
