package hfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"bulkload/pkg/hfile"
)

// Write a file from cells in order, and read it from any row on.
func Example() {
	dir, err := os.MkdirTemp("", "hfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "family-f")
	if err := write(name); err != nil {
		log.Fatal(err)
	}
	if err := readFrom(name, "order-2"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3 cells, rows order-1 to order-3
	// order-2 f:total = 17.50
	// order-3 f:total = 9.90
}

func write(name string) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w, err := hfile.NewWriter(out, hfile.Options{Compression: hfile.CompressionSnappy, Encoding: hfile.EncodingFastDiff, Bloom: hfile.BloomRow})
	if err != nil {
		return err
	}
	for i, total := range []string{"3.00", "17.50", "9.90"} {
		c := hfile.Cell{
			Row:       fmt.Appendf(nil, "order-%d", i+1),
			Family:    []byte("f"),
			Qualifier: []byte("total"),
			Timestamp: 1700000000000,
			Type:      hfile.Put,
			Value:     []byte(total),
		}
		if err := w.Append(&c); err != nil {
			return err
		}
	}
	stats, err := w.Finish() // without it there is no file
	if err != nil {
		return err
	}
	fmt.Printf("%d cells, rows %s to %s\n", stats.Cells, stats.FirstRow, stats.LastRow)
	return out.Close()
}

func readFrom(name, row string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	r, err := hfile.Open(in, info.Size(), hfile.ReaderOptions{})
	if err != nil {
		return err
	}
	s := r.SeekRow([]byte(row))
	for s.Next() {
		c := s.Cell() // valid until the next call of Next
		fmt.Printf("%s %s:%s = %s\n", c.Row, c.Family, c.Qualifier, c.Value)
	}
	return s.Err()
}

// A RowWriter writes rows with the same columns faster. The resulting file is the same.
func ExampleRowWriter() {
	var file bytes.Buffer
	w, err := hfile.NewRowWriter(&file, hfile.Options{Family: []byte("f"), Encoding: hfile.EncodingFastDiff},
		hfile.Schema{Qualifiers: [][]byte{[]byte("name"), []byte("note")}, Timestamp: 1700000000000})
	if err != nil {
		log.Fatal(err)
	}
	rows := []struct {
		key    string
		values [][]byte
	}{
		{"1", [][]byte{[]byte("Ada"), nil}}, // no note: no cell
		{"2", [][]byte{[]byte("Bo"), []byte{}}},
	}
	for _, row := range rows {
		if err := w.AppendRow([]byte(row.key), row.values); err != nil {
			log.Fatal(err)
		}
	}
	stats, err := w.Finish()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Cells, "cells")

	r, err := hfile.Open(bytes.NewReader(file.Bytes()), stats.Bytes, hfile.ReaderOptions{})
	if err != nil {
		log.Fatal(err)
	}
	note, ok, err := r.Get([]byte("2"), []byte("note"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("row 2 has a note: %t, of %d bytes\n", ok, len(note.Value))
	// Output:
	// 3 cells
	// row 2 has a note: true, of 0 bytes
}

// Keys must be in order. A key out of order is an error at once, and the error
// is sticky.
func ExampleOrderError() {
	w, err := hfile.NewWriter(&bytes.Buffer{}, hfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range []string{"b", "a", "c"} {
		err = w.Append(&hfile.Cell{Row: []byte(row), Family: []byte("f"), Type: hfile.Put})
	}
	fmt.Println(err)
	if order, ok := errors.AsType[*hfile.OrderError](err); ok {
		fmt.Printf("%s\n", order.Data()) // rows are data: not in the message
	}
	// Output:
	// hfile: cells out of order: one does not sort after the one before it
	// "a"/f:""/0/Put after "b"/f:""/0/Put
}

// Check verifies that HBase reads exactly the cells of a file.
func ExampleCheck() {
	var file bytes.Buffer
	w, err := hfile.NewWriter(&file, hfile.Options{Bloom: hfile.BloomRow})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Append(&hfile.Cell{Row: []byte("a"), Family: []byte("f"), Value: []byte("value"), Type: hfile.Put}); err != nil {
		log.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		log.Fatal(err)
	}
	b := file.Bytes()
	res := hfile.Check(bytes.NewReader(b), int64(len(b)), hfile.CheckOptions{})
	fmt.Println(res.OK, res.Entries)

	b[bytes.Index(b, []byte("value"))] ^= 1
	res = hfile.Check(bytes.NewReader(b), int64(len(b)), hfile.CheckOptions{})
	fmt.Println(res.OK, len(res.Errors))
	// Output:
	// true 1
	// false 1
}
