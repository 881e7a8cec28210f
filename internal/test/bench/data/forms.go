package data

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bulkload/pkg/keygen"
)

// Form is the format of the rows; it is also the file name's ending.
type Form string

// The forms.
const (
	Dump    Form = "dump"    // 0x01 between columns, 0x10 after each record, no header
	CSV     Form = "csv"     // RFC 4180 with a header; quotes where they are needed
	Parquet Form = "parquet" // string columns, dictionaries, snappy pages, row groups of 100,000
	TSV     Form = "tsv"     // the row key first, separated by tabs, for ImportTsv. Always flat
)

// Forms returns all forms.
func Forms() []Form { return []Form{Dump, CSV, Parquet, TSV} }

// sink writes rows in one form.
type sink interface {
	add(fields [][]byte) error
	close() error
}

// ctxEvery is the number of rows after which Write checks the context.
const ctxEvery = 8192

// Write writes the rows of a spec to w.
func Write(ctx context.Context, w io.Writer, s Spec, f Form) error {
	s = s.withDefaults()
	if f == TSV {
		s.Flat = true
	}
	g, err := NewGenerator(s)
	if err != nil {
		return err
	}
	to, err := newSink(w, s, f)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fields, ok := g.Next()
		if !ok {
			break
		}
		if err := to.add(fields); err != nil {
			return err
		}
	}
	return to.close()
}

// WriteRecords writes records to w, each with the fields of the table's columns in order. It refuses the form TSV, which also
// needs a spec.
func WriteRecords(w io.Writer, t Table, f Form, records [][][]byte) error {
	if f == TSV {
		return fmt.Errorf("records are not written as %s", f)
	}
	to, err := newSink(w, Spec{Table: t}.withDefaults(), f)
	if err != nil {
		return err
	}
	for _, fields := range records {
		if err := to.add(fields); err != nil {
			return err
		}
	}
	return to.close()
}

// WriteFile writes the rows of a spec into a file of dir, named by [Spec.FileName], and returns its path. It leaves an
// existing file unchanged. A file of that name is always complete.
func WriteFile(ctx context.Context, dir string, s Spec, f Form) (string, error) {
	name := filepath.Join(dir, s.FileName(f))
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, ".part-*")
	if err != nil {
		return "", err
	}
	err = Write(ctx, file, s, f)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("make %s: %w", name, err), os.Remove(file.Name()))
	}
	return name, nil
}

func newSink(w io.Writer, s Spec, f Form) (sink, error) {
	columns := s.Table.Columns()
	text := func() textSink { return textSink{bufio.NewWriterSize(w, 1<<20)} }
	switch f {
	case Dump:
		return &dumpSink{text()}, nil
	case CSV:
		c := &csvSink{text()}
		header := make([][]byte, len(columns))
		for i, name := range columns {
			header[i] = []byte(name)
		}
		return c, c.add(header)
	case Parquet:
		return newParquetSink(w, columns)
	case TSV:
		return newTSVSink(text(), s, columns)
	}
	return nil, fmt.Errorf("unknown form %q: want one of %v", f, Forms())
}

// textSink buffers a text. It keeps the first error, and returns it from its last call.
type textSink struct{ *bufio.Writer }

func (t textSink) close() error { return t.Flush() }

type dumpSink struct{ textSink }

func (d *dumpSink) add(fields [][]byte) error {
	for i, v := range fields {
		if i > 0 {
			d.WriteByte(0x01)
		}
		d.Write(v)
	}
	return d.WriteByte(0x10)
}

type csvSink struct{ textSink }

func (c *csvSink) add(fields [][]byte) error {
	for i, v := range fields {
		if i > 0 {
			c.WriteByte(',')
		}
		if !bytes.ContainsAny(v, ",\"\r\n") {
			c.Write(v)
			continue
		}
		c.WriteByte('"')
		c.Write(bytes.ReplaceAll(v, []byte{'"'}, []byte(`""`)))
		c.WriteByte('"')
	}
	return c.WriteByte('\n')
}

type tsvSink struct {
	textSink
	key *keygen.Program
	at  []int // field of each of the key's columns
	in  [][]byte
	buf []byte
}

func newTSVSink(w textSink, s Spec, columns []string) (*tsvSink, error) {
	expr, err := keygen.Parse(s.Table.Key())
	if err != nil {
		return nil, err
	}
	p, err := keygen.Compile(expr, keygen.Options{Regions: s.Regions})
	if err != nil {
		return nil, err
	}
	t := &tsvSink{textSink: w, key: p, in: make([][]byte, len(p.Columns()))}
	for _, name := range p.Columns() {
		t.at = append(t.at, slices.Index(columns, name))
	}
	return t, nil
}

func (t *tsvSink) add(fields [][]byte) (err error) {
	for i, at := range t.at {
		t.in[i] = fields[at]
	}
	if t.buf, err = t.key.Append(t.buf[:0], t.in); err != nil {
		return err
	}
	t.Write(t.buf)
	for _, v := range fields {
		t.WriteByte('\t')
		t.Write(v)
	}
	return t.WriteByte('\n')
}
