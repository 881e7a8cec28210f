package source

import (
	"bytes"
	"context"
	"fmt"

	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/rfc4180"
	"bulkload/internal/formats/sniff"
	"bulkload/internal/formats/splits"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// csvFormat is CSV of RFC 4180, with or without a header.
type csvFormat struct{}

func (csvFormat) facts() facts {
	return facts{Traits: Traits{Dialect: dialect.CSV, Text: true, Header: true, FieldSep: SepOf(',')}, endings: []string{".csv"},
		looks: func([]byte, *Options) bool { return true }, cut: true}
}

func (csvFormat) check(o *Options) error {
	if o.Dialect == nil && o.Header == HeaderNone && len(o.Columns) == 0 {
		return ErrNoHeader
	}
	if c := o.FieldSep.or(','); noComma(c) {
		return fmt.Errorf("%s cannot separate CSV fields", SepOf(c))
	}
	return o.noDialect(anotherDialect)
}

// noComma reports whether a byte cannot separate the fields of CSV.
func noComma(c byte) bool { return c == '"' || c == '\n' || c == '\r' }

func (k csvFormat) probe(ctx context.Context, f *inputFile, head []byte, o *Options) (content, error) {
	if o.Format == FormatAuto && o.Dialect == nil && o.FieldSep == (Sep{}) { // else a setting decides
		if err := sniff.Ambiguous(head, o.Header != HeaderNone, len(head) < detectSize); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if c := o.RecordSep.or(0x0a); c != '\r' && hasOutside(head, c) { // CR before LF is read, and CR alone refused
		return nil, setting.Errorf("%s: it has the byte %s of %s, and CSV has lines: give %s csv, with which it ends records, or leave it out",
			f.Path, o.RecordSep, setting.RecordSep, setting.Name("dialect"))
	}
	return k.text(f), f.probeCSV(ctx, o)
}

// hasOutside reports whether a byte other than a line feed is in CSV outside of quotes.
func hasOutside(text []byte, c byte) bool {
	quoted := false
	for _, b := range text {
		switch {
		case b == '"':
			quoted = !quoted
		case b == c && !quoted:
			return c != '\n'
		}
	}
	return false
}

func (csvFormat) text(f *inputFile) textForm { return csvText{textFile{f}} }

func (csvFormat) marks(_ *inputFile, field, _ Sep) rejects.Marks {
	return rejects.Marks{End: "\n", Lines: true, Whole: func(text []byte) bool { return rfc4180.Closed(text, field.or(',')) }}
}

// csvText is a file of CSV.
type csvText struct{ textFile }

func (csvText) spans() bool { return true }

func (c csvText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	places, err := splits.CSV(ctx, c.f.toCut(o), o.FieldSep.or(','))
	return cutAt(add, places, err)
}

func (c csvText) settings(o *Options) string {
	header := "yes"
	if o.Header == HeaderNone || c.f.rejects != nil {
		header = "no"
	}
	return fmt.Sprintf("field_sep=%s quote=\" doubled=yes header=%s", SepOf(o.FieldSep.or(',')), header)
}

func (c csvText) rejectForm(o *Options) *rejects.Form {
	return &rejects.Form{Version: 1, Format: string(FormatCSV), FieldSep: SepOf(o.FieldSep.or(',')).String(), Columns: c.f.columns}
}

func (csvText) strays(s *strays, o *Options) {
	s.cr, s.noWide = reasonCRCR, o.FieldSep.or(',') >= 0xfe
	s.noSub = o.separates(sub)
}

// probeCSV finds where the records begin, and reads the header if there is one.
func (f *inputFile) probeCSV(ctx context.Context, o *Options) error {
	if c := o.FieldSep.or(','); noComma(c) {
		return fmt.Errorf("%s: %s cannot separate CSV fields", f.Path, SepOf(c))
	}
	for size := int64(detectSize); ; size *= 4 {
		data, err := f.beginning(ctx, size)
		if err != nil {
			return err
		}
		f.dataStart = 0
		if bytes.HasPrefix(data, bom) {
			f.dataStart = int64(len(bom))
		}
		last := int64(len(data)) < size
		f.blank = last && sniff.Blank(data[f.dataStart:])
		comma := o.FieldSep.or(',')
		only, more := rfc4180.CROnly(data[f.dataStart:], comma, last)
		ok := o.Header == HeaderNone
		if !ok && !only {
			if ok, err = f.header(data, last, o); err != nil {
				return fmt.Errorf("%s: header: %w", f.Path, err)
			}
			if ok {
				only, more = rfc4180.CROnly(data[f.dataStart:], comma, last)
			}
		}
		switch {
		case only && (!more || size >= int64(o.MaxRecord)):
			return fmt.Errorf("%s: %w", f.Path, sniff.ErrCROnly)
		case only:
		case ok && o.Header == HeaderNone:
			return f.noHeaderCSV(data, last, o)
		case ok:
			return nil
		case last:
			f.dataStart = int64(len(data)) // nothing but blank lines
			return nil
		case size >= int64(o.MaxRecord):
			return fmt.Errorf("%s: header: it is longer than %s: most likely a quote is not closed", f.Path, setting.Count(size, "byte"))
		}
	}
}

// header reads the header in data, after the byte order mark, and reports whether it is complete. last says that data is the whole file.
// Blank lines before the header are skipped.
func (f *inputFile) header(data []byte, last bool, o *Options) (bool, error) {
	rest := delimited.AfterBlankLines(data[f.dataStart:])
	start := len(data) - len(rest)
	if fault := rfc4180.Find(rest, o.FieldSep.or(','), last); fault != nil {
		return false, fmt.Errorf("column %d, byte %d: %s", fault.Column+1, start+fault.At, fault.Reason)
	}
	names, end := rfc4180.FirstRecord(rest, o.FieldSep.or(','), last)
	if names == nil {
		return false, nil
	}
	return true, f.named(names, data, start, start+end, "")
}

// noHeaderCSV counts the values of the first record of CSV without a header, if it is valid.
func (f *inputFile) noHeaderCSV(data []byte, last bool, o *Options) error {
	rest := delimited.AfterBlankLines(data[f.dataStart:])
	if rfc4180.Find(rest, o.FieldSep.or(','), last) != nil {
		return nil // reading reports it
	}
	values, _ := rfc4180.FirstRecord(rest, o.FieldSep.or(','), last)
	return f.firstValues(values, o)
}

// named takes the names of the columns from the file's first record, data[start:end].
func (f *inputFile) named(names []string, data []byte, start, end int, recordSep string) error {
	if err := sniff.CheckHeaderLine(names, data[start:end], recordSep); err != nil {
		return err
	}
	f.columns, f.dataStart, f.headed = names, int64(end), true
	f.headSum = addSum(0, data[:end])
	return sniff.CheckTextHeader(names)
}
