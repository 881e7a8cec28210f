package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
)

// brokenTable is a table with one part, whose rows end with an error.
type brokenTable struct {
	memFile
	rows int
	err  error
}

func (t *brokenTable) Check(fs.FileInfo, []string) error { return nil }
func (t *brokenTable) Memory(fs.FileInfo) int64          { return 1 }
func (t *brokenTable) Rows(context.Context, fs.FileInfo, []string) (Rows, error) {
	return &brokenRows{t.rows, t.err}, nil
}

type brokenRows struct {
	left int
	err  error
}

func (r *brokenRows) Next(buf []byte, fields []Span) ([]byte, error) {
	if r.left == 0 {
		return buf, r.err
	}
	r.left--
	fields[0] = Span{Off: uint32(len(buf)), Len: 2}
	return append(buf, "ab"...), nil
}
func (r *brokenRows) Position() int64 { return 0 }
func (r *brokenRows) Close() error    { return nil }

// TestTableEnds checks that only io.EOF itself ends a part of a table: a connection that a server closes fails with an error that wraps it.
func TestTableEnds(t *testing.T) {
	read := func(err error) ([]record, error) {
		table := &brokenTable{memFile{"part", make([]byte, 100)}, 5, err}
		in, err := Open(t.Context(), func(string) (FS, string, error) { return table, "/part", nil }, []string{"t"}, Options{Columns: []string{"c"}})
		if err != nil {
			t.Fatal(err)
		}
		return readAll(t.Context(), in)
	}
	if rows, err := read(io.EOF); err != nil || len(rows) != 5 {
		t.Errorf("the end: %d rows, %v", len(rows), err)
	}
	closed := fmt.Errorf("connection to rs1:16020: %w", io.EOF)
	if rows, err := read(closed); !errors.Is(err, closed) {
		t.Errorf("a closed connection ended the part after %d rows: %v", len(rows), err)
	}
}
