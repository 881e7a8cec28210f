package avro_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"

	"bulkload/internal/formats/avro"
	"bulkload/pkg/source/span"
)

// Read two columns of a whole file.
func Example() {
	data, err := os.ReadFile("testdata/spark/avro-snappy.avro")
	if err != nil {
		log.Fatal(err)
	}
	file, size := bytes.NewReader(data), int64(len(data))
	header, err := avro.ReadHeader(file, size)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := avro.Compile(header, []string{"amount", "name"}, avro.Options{})
	if err != nil {
		log.Fatal(err)
	}
	blocks := avro.NewBlocks(0)
	blocks.Open(header, file, 0, size)
	fields := make([]span.Span, 2)
	var buf []byte
	for {
		var block avro.Block
		if buf, block, err = blocks.Next(buf[:0]); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		for {
			if buf, err = plan.Record(buf, &block, fields); err == io.EOF {
				break
			} else if err != nil {
				log.Fatal(err)
			}
			if block.Next <= 3 {
				fmt.Printf("%s %q %v\n", fields[0].Of(buf), fields[1].Of(buf), fields[1].IsNull())
			}
		}
	}
	// Output:
	// 100.00 "plain" false
	// 12.30 "张三" false
	// 100.00 "" true
}
