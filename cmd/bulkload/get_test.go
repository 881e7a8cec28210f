package main

import (
	"bufio"
	"bytes"
	"testing"

	"bulkload/pkg/loader"
)

func TestWriteRow(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	row := loader.Row{Key: []byte("1a"), Cells: []loader.Cell{
		{Qualifier: []byte("a"), Value: []byte("age < 22 \"订单\"\n")}, {Qualifier: []byte("b"), Value: []byte{0xff}}, {Qualifier: []byte("c")}}}
	if err := writeRow(w, row); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = `{"rowkey":"1a","a":"age < 22 \"订单\"\n","b":{"base64":"/w=="},"c":""}` + "\n"
	if b.String() != want {
		t.Fatalf("%s\nwant %s", b.String(), want)
	}
}
