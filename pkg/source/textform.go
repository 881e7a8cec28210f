package source

import (
	"context"
	"fmt"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/splits"
	"bulkload/pkg/setting"
)

// textForm is text, which its format cuts into records.
type textForm interface {
	content
	// settings describes how the text is read, if it has no dialect.
	settings(o *Options) string
	// rejectForm returns the form of its bad records in a reject file.
	rejectForm(o *Options) *rejects.Form
	// strays sets the stray records that it can have, if its records are cut at separators.
	strays(s *strays, o *Options)
	// lines reports whether a record begins with a line, and spans whether it can have several.
	lines() bool
	spans() bool
}

// A textual format has records that are text, so that they can be in a reject file.
type textual interface {
	format
	// text returns the text of a file whose columns and dialect are known.
	text(f *inputFile) textForm
	// marks returns the bytes around a record in the text that is made of a reject file.
	marks(f *inputFile, field, record Sep) rejects.Marks
}

// textFile has the methods that all forms of text share.
type textFile struct{ f *inputFile }

func (t textFile) offer([]string, string, *Options) error { return nil }
func (t textFile) plan([]string, *Options) error          { return nil }
func (t textFile) memory(*Options) int64                  { return 0 }
func (t textFile) settings(*Options) string               { return "" }
func (t textFile) strays(*strays, *Options)               {}
func (t textFile) lines() bool                            { return true }
func (t textFile) spans() bool                            { return false }

// toCut returns the text of a file for package splits.
func (f *inputFile) toCut(o *Options) splits.Text {
	return splits.Text{Path: f.Path, Begin: f.dataStart, End: f.size(), Step: o.SplitSize, Scanned: o.Scanned,
		Open: func(ctx context.Context) (splits.Reader, error) { return f.openText(ctx, 0) }}
}

// cutAt adds the splits that begin at the first of places and end at the next.
func cutAt(add func(start, end int64, group int), places []int64, err error) error {
	for i := 0; i+1 < len(places) && err == nil; i++ {
		add(places[i], places[i+1], 0)
	}
	return err
}

// textReader reads the records of one format of text.
type textReader interface {
	splitReader
	// parse reads records of the chunk's first n bytes, those that begin before limit, and returns where it stopped. last says that the
	// text ends there.
	parse(n, limit int, last bool) (int, error)
	// undecided returns how many of the n bytes can only be parsed together with the following ones.
	undecided(n int) int
	// trimEnd removes the end mark of a record.
	trimEnd(record []byte) []byte
	// record returns a record without the bytes after it.
	record(record []byte) []byte
	// tooLong explains a record that is longer than most.
	tooLong(most string) string
}

// recordReader has the methods that all readers of text share.
type recordReader struct{ r *Reader }

func (t recordReader) read(s Split) error { return t.r.readText(s) }

func (recordReader) undecided(int) int           { return 0 }
func (recordReader) record(record []byte) []byte { return record }

func (recordReader) tooLong(most string) string {
	return fmt.Sprintf("the record is longer than %s: a separator is missing", most)
}

// noDialect rejects a dialect for a format, with the reason.
func (o *Options) noDialect(why string) error {
	if o.Dialect == nil {
		return nil
	}
	return fmt.Errorf("format %s %s", o.Format, why)
}

// anotherDialect is the reason for formats that are dialects themselves.
const anotherDialect = "is a dialect of its own: choose one of both"

// recordTooLong returns the error of a record that is longer than the options allow.
func (r *Reader) recordTooLong() error {
	e := r.rowError(r.off, r.records+1, nil)
	e.Reason = r.text.tooLong(setting.Count(r.in.opts.MaxRecord, "byte"))
	return &e
}
