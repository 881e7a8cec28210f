package hfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestIndexMemory writes keys of 32 KiB that share their beginning, so that an entry for each leaf of the index takes as much: a writer of cells
// and one of rows end with an error when these pass the limit, and write the same bytes with a limit that suffices as without one.
func TestIndexMemory(t *testing.T) {
	s := Schema{Qualifiers: [][]byte{[]byte("q")}, Timestamp: 1}
	const rows = 400
	row := func(i int) []byte { return []byte(strings.Repeat("x", 32_000) + fmt.Sprintf("%06d", i)) }
	byCells := func(out io.Writer, o Options) error {
		w, err := NewWriter(out, o)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := w.Append(&Cell{Row: row(i), Family: o.Family, Qualifier: s.Qualifiers[0], Timestamp: 1, Type: Put, Value: []byte("v")}); err != nil {
				return err
			}
		}
		_, err = w.Finish()
		return err
	}
	byRows := func(out io.Writer, o Options) error {
		w, err := NewRowWriter(out, o, s)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := w.AppendRow(row(i), [][]byte{[]byte("v")}); err != nil {
				return err
			}
		}
		_, err = w.Finish()
		return err
	}
	for name, write := range map[string]func(io.Writer, Options) error{"cells": byCells, "rows": byRows} {
		var without, within, beyond bytes.Buffer
		o := Options{Family: []byte("f"), Encoding: EncodingFastDiff, Compression: CompressionSnappy}
		if err := write(&without, o); err != nil {
			t.Fatal(err)
		}
		o.IndexMemory = 4 << 20
		if err := write(&within, o); err != nil || !bytes.Equal(within.Bytes(), without.Bytes()) {
			t.Errorf("%s: within the limit: %v, %d bytes, want those without a limit: %d", name, err, within.Len(), without.Len())
		}
		o.IndexMemory = 512 << 10
		if err := write(&beyond, o); !errors.Is(err, ErrIndexMemory) {
			t.Errorf("%s: beyond the limit: %v", name, err)
		}
	}
	if err := (Options{IndexMemory: -1}).Validate(); err == nil {
		t.Error("a limit below 0 is accepted")
	}
}
