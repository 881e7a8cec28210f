package avro

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"bulkload/pkg/source/span"

	hamba "github.com/hamba/avro/v2"
	"github.com/hamba/avro/v2/ocf"
)

// checks returns a file of rows of 18 texts each, like the rows of a table of bank checks, and its unpacked number of bytes.
func checks(b *testing.B, codec ocf.CodecName) ([]byte, []string, int64) {
	b.Helper()
	var types, columns []string
	for i := range 18 {
		types = append(types, `"string"`)
		columns = append(columns, fmt.Sprintf("v%d", i))
	}
	text := record(types...)
	schema := hamba.MustParse(text)
	r := rand.New(rand.NewPCG(18, 18))
	const digits = "0123456789"
	var records [][]byte
	var size int64
	for i := range 40000 {
		row := map[string]any{}
		for j, c := range columns {
			v := make([]byte, 4+(j*7)%20)
			for k := range v {
				v[k] = digits[r.IntN(10)]
			}
			switch j {
			case 3:
				v = []byte("华东分行营业部")
			case 7:
				v = []byte("2026-03-05 08:09:10")
			case 11:
				v = nil
			case 12:
				v = fmt.Appendf(nil, "CK%010d", i)
			}
			row[c] = string(v)
		}
		data, err := hamba.Marshal(schema, row)
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, data)
		size += int64(len(data))
	}
	return container(b, text, records, ocf.WithCodec(codec), ocf.WithBlockLength(400)), columns, size
}

// BenchmarkChecks reads a file from memory; its speed is in unpacked bytes.
func BenchmarkChecks(b *testing.B) {
	for _, codec := range []ocf.CodecName{ocf.Null, ocf.Deflate, ocf.Snappy, ocf.ZStandard} {
		data, all, size := checks(b, codec)
		for _, columns := range [][]string{all, {"v12", "v3", "v0", "v7", "v9"}} {
			b.Run(fmt.Sprintf("%s/%d", codec, len(columns)), func(b *testing.B) {
				r := bytes.NewReader(data)
				h, err := ReadHeader(r, int64(len(data)))
				if err != nil {
					b.Fatal(err)
				}
				p, err := Compile(h, columns, Options{})
				if err != nil {
					b.Fatal(err)
				}
				blocks, fields := NewBlocks(0), make([]span.Span, len(columns))
				var buf []byte
				b.SetBytes(size)
				b.ReportAllocs()
				for b.Loop() {
					rows := drain(b, blocks, h, r, p, &buf, fields)
					if rows != 40000 {
						b.Fatal(rows)
					}
				}
			})
		}
	}
}

// BenchmarkTyped reads Spark's file of numbers, decimals, dates and instants.
func BenchmarkTyped(b *testing.B) {
	data := sample(b, "spark/avro-uncompressed.avro")
	r := bytes.NewReader(data)
	h, err := ReadHeader(r, int64(len(data)))
	if err != nil {
		b.Fatal(err)
	}
	p, err := Compile(h, h.Columns, Options{})
	if err != nil {
		b.Fatal(err)
	}
	blocks, fields := NewBlocks(0), make([]span.Span, len(h.Columns))
	var buf []byte
	b.SetBytes(h.Size - h.Data)
	b.ReportAllocs()
	for b.Loop() {
		drain(b, blocks, h, r, p, &buf, fields)
	}
}

// drain reads all records of a file.
func drain(b *testing.B, blocks *Blocks, h *Header, r io.ReaderAt, p *Plan, buf *[]byte, fields []span.Span) (rows int) {
	b.Helper()
	blocks.Open(h, r, 0, h.Size)
	for {
		data, block, err := blocks.Next((*buf)[:0])
		*buf = data
		if err == io.EOF {
			return rows
		}
		if err != nil {
			b.Fatal(err)
		}
		for {
			data, err = p.Record(data, &block, fields)
			if err != nil {
				break
			}
			rows++
		}
		if *buf = data; err != io.EOF {
			b.Fatal(err)
		}
	}
}
