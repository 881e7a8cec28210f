package rejects

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/formats/charset"
	"bulkload/internal/formats/valuetext"
	"bulkload/pkg/source/dialect"
)

// Form describes how the records of a reject file were read. It is the first line of the file.
type Form struct {
	Version   int      `json:"bulkload_rejects"` // 1
	Format    string   `json:"format,omitempty"`
	FieldSep  string   `json:"field_sep,omitempty"`
	RecordSep string   `json:"record_sep,omitempty"`
	Columns   []string `json:"columns,omitempty"` // in the order of the records
	Headed    bool     `json:"headed,omitempty"`  // of one column: a header has named it, so that a record of its name is a repeated header

	Values  bool             `json:"values,omitempty"`  // the records have no text of their own: they are their values, in ValuesDialect
	Dialect *dialect.Dialect `json:"dialect,omitempty"` // of format text
	Escaped bool             `json:"escaped,omitempty"` // in the file only: the dialect's separators and texts for NULL are as dialect.Parse reads them
	Charset string           `json:"charset,omitempty"` // of format json

	Partitions []string `json:"partitions,omitempty"` // the partition columns in the records' path, as name=value, escaped as in the path
}

// Magic is the beginning of every reject file.
const Magic = `{"bulkload_rejects":`

func (f *Form) same(o *Form) bool {
	return f == o || f != nil && o != nil && f.sameColumns(o) && slices.Equal(f.Partitions, o.Partitions)
}

// sameColumns reports whether the records of both forms have the same columns. The values of partition columns may differ.
func (f *Form) sameColumns(o *Form) bool {
	return f.SameText(o) && slices.Equal(f.Columns, o.Columns) && slices.EqualFunc(f.Partitions, o.Partitions, samePartition)
}

// Null is the text of NULL in a line that represents a record of Parquet or Avro. A value that consists of these two characters is in quotes.
const Null = `\N`

// ValuesDialect returns the dialect of the lines that represent records of Parquet or Avro.
func ValuesDialect() *dialect.Dialect {
	return &dialect.Dialect{Name: dialect.CSV, FieldSep: ",", Quote: `"`, Doubled: true, Null: []string{Null}, Map: dialect.Literal, Header: dialect.HeaderNo, Trim: dialect.TrimNone}
}

// SameText reports whether both forms split text into fields in the same way.
func (f *Form) SameText(o *Form) bool {
	return f.Format == o.Format && f.FieldSep == o.FieldSep && f.RecordSep == o.RecordSep && f.Charset == o.Charset && sameDialect(f.Dialect, o.Dialect)
}

// escaped returns the form as it is written if texts of its dialect are not UTF-8.
func (f *Form) escaped() *Form {
	d, form := *f.Dialect, *f
	d.FieldSep, d.RecordSep, d.Null = dialect.Text(d.FieldSep), dialect.Text(d.RecordSep), slices.Clone(d.Null)
	for i, null := range d.Null {
		d.Null[i] = dialect.Text(null)
	}
	form.Dialect, form.Escaped = &d, true
	return &form
}

// unescape is the inverse of escaped.
func (f *Form) unescape() error {
	d := f.Dialect
	if !f.Escaped || d == nil {
		return nil
	}
	f.Escaped = false
	texts := []*string{&d.FieldSep, &d.RecordSep}
	for i := range d.Null {
		texts = append(texts, &d.Null[i])
	}
	for _, text := range texts {
		var err error
		if *text, err = dialect.Parse(*text); err != nil {
			return fmt.Errorf("dialect: %w", err)
		}
	}
	return nil
}

// samePartition reports whether two texts of the form name=value have the same name.
func samePartition(a, b string) bool {
	a, _, _ = strings.Cut(a, "=")
	b, _, _ = strings.Cut(b, "=")
	return a == b
}

func sameDialect(a, b *dialect.Dialect) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

func (f *Form) line() []byte {
	if f == nil {
		f = &Form{Version: 1}
	}
	if d := f.Dialect; d != nil && !utf8.ValidString(strings.Join(slices.Concat(d.Null, []string{d.FieldSep, d.RecordSep}), " ")) {
		f = f.escaped() // encoding/json would replace the bytes
	}
	line, _ := json.Marshal(f) // strings and a number: no error
	return append(line, '\n')
}

// lineJSON is the line of a record in a reject file, without the fields raw and raw_base64, the record's text, which may be long.
type lineJSON struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Record int64  `json:"record"`
	Since  int64  `json:"since,omitempty"`
	Lines  int64  `json:"lines,omitempty"`
	Column string `json:"column,omitempty"`
	Value  string `json:"value,omitempty"` // the beginning of the faulty value, if it is UTF-8
	Reason string `json:"reason"`
	Kept   *Place `json:"kept,omitempty"`
}

// A Place is the position of a record.
type Place struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Record int64  `json:"record,omitempty"` // 0: only the offset is known
	Since  int64  `json:"since,omitempty"`
}

// Meanings of the Offset of a Place.
const (
	ByByte  Unit = iota // the record's first byte in the file
	ByBlock             // the first byte of the block in which Record counts
	ByNone              // no byte of the file: Record alone is the place
)

// Unit is the meaning of the Offset of a Place.
type Unit int

// Text returns the place as messages name it.
func (p Place) Text(by Unit) string {
	text := fmt.Sprintf("%s: record %d", p.Path, p.Record)
	switch {
	case by == ByNone:
		return text
	case by == ByBlock:
		return fmt.Sprintf("%s of the block at byte %d", text, p.Offset)
	case p.Since > 0:
		return fmt.Sprintf("%s after byte %d, at byte %d", text, p.Since, p.Offset)
	}
	return fmt.Sprintf("%s at byte %d", text, p.Offset)
}

// Unit returns the meaning of the Offset of a record with the form. Records without a text of their own have at most that of their block, in Avro.
func (f *Form) Unit(p Place) Unit {
	switch {
	case f == nil || !f.Values:
		return ByByte
	case p.Since > 0 && p.Since == p.Offset:
		return ByBlock
	}
	return ByNone
}

// A Record is a record for the file, with its position and the reason.
type Record struct {
	Path                         string
	Offset, Number, Since, Lines int64
	Column, Reason               string
	Err                          error
	Raw                          []byte
	Kept                         *Place // for a duplicate: the record with the same key that is loaded
}

// write writes the line of a record. set is the character set of Raw, nil for UTF-8.
func (e *Record) write(w io.Writer, set *charset.Charset) error {
	j := lineJSON{e.Path, e.Offset, e.Number, e.Since, e.Lines, e.Column, "", e.Reason, e.Kept}
	if j.Lines == 1 {
		j.Lines = 0
	}
	if about, ok := errors.AsType[interface {
		error
		Data() []byte
	}](e.Err); ok && utf8.Valid(about.Data()) {
		j.Value = string(about.Data())
	}
	if j.Reason == "" && e.Err != nil {
		j.Reason = e.Err.Error()
	}
	line, err := json.Marshal(j)
	if err != nil {
		return err
	}
	line = line[:len(line)-1]
	if !readsAlike(e.Raw, set) {
		if _, err := w.Write(append(line, `,"raw_base64":"`...)); err != nil {
			return err
		}
		enc := base64.NewEncoder(base64.StdEncoding, w)
		if _, err := enc.Write(e.Raw); err != nil {
			return err
		}
		if err := enc.Close(); err != nil {
			return err
		}
		_, err = io.WriteString(w, "\"}\n")
		return err
	}
	line = append(line, `,"raw":"`...)
	for raw := e.Raw; len(raw) > 0; { // piece by piece, because a record may be large
		n := min(len(raw), 32<<10)
		line = valuetext.AppendWithin(line, raw[:n])
		raw = raw[n:]
		if len(raw) > 0 {
			if _, err := w.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
	}
	_, err = w.Write(append(line, "\"}\n"...))
	return err
}

// set returns the character set of the records' bytes, nil if they are UTF-8 or not decoded.
func (f *Form) set() (*charset.Charset, error) {
	if f == nil {
		return nil, nil
	}
	name := f.Charset
	if f.Dialect != nil {
		name = cmp.Or(name, f.Dialect.Charset)
	}
	if name == "" {
		return nil, nil
	}
	set, err := charset.Lookup(name)
	if err != nil || set.Name() == "utf-8" {
		return nil, err
	}
	return set, nil
}

// readsAlike reports whether bytes are the same characters in a set as in UTF-8, like ASCII in most sets. Only then can a record be written as
// text and read back from it. A character that is split between two pieces of 32 KiB counts as different.
func readsAlike(raw []byte, set *charset.Charset) bool {
	if set == nil || !utf8.Valid(raw) {
		return utf8.Valid(raw)
	}
	var text []byte
	for piece := range slices.Chunk(raw, 32<<10) { // piece by piece, because a record may be large
		var bad int
		if text, bad = set.Append(text[:0], piece); bad >= 0 || !bytes.Equal(text, piece) {
			return false
		}
	}
	return true
}
