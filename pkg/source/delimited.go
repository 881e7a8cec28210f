package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/formats/charset"
	"bulkload/internal/formats/delimited"
	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/sniff"
	"bulkload/internal/formats/splits"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// textFormat is text in a dialect.
type textFormat struct{}

func (textFormat) facts() facts {
	charset := func(o *Options) string { return o.Dialect.Charset }
	return facts{Traits: Traits{Text: true}, hidden: true, charset: charset, cut: true,
		looks: func(head []byte, o *Options) bool {
			return o.Dialect != nil && (o.Charset == "" || !sniff.BeginsObject(head))
		}}
}

func (textFormat) check(o *Options) error {
	switch d := o.Dialect; {
	case d == nil:
		return errors.New("text needs a dialect")
	case d.Header == dialect.HeaderNo && len(o.Columns) == 0 && !d.Fixed():
		return ErrNoHeader
	}
	return nil
}

func (k textFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	return k.text(f), f.probeDelimited(ctx, o)
}

func (textFormat) text(f *inputFile) textForm { return delimitedText{textFile{f}} }

func (textFormat) marks(f *inputFile, _, _ Sep) rejects.Marks {
	d, set := f.dialect, f.decoder()
	return rejects.Marks{End: cmp.Or(d.RecordSep, "\n"), Lines: d.RecordSep == "", Whole: func(text []byte) bool { return delimited.Whole(d, set, text) }}
}

// delimitedText is a file of text in a dialect.
type delimitedText struct{ textFile }

func (t delimitedText) lines() bool {
	return t.f.dialect.RecordSep == "" || strings.HasSuffix(t.f.dialect.RecordSep, "\n")
}

func (t delimitedText) spans() bool { return t.f.dialect.Quote != "" }

func (t delimitedText) rejectForm(*Options) *rejects.Form {
	d := t.f.dialect.Records()
	if t.f.transcoded {
		d.Charset = "utf-8" // a record is kept as it was decoded
	}
	return &rejects.Form{Version: 1, Format: string(FormatText), Columns: t.f.columns, Dialect: &d}
}

func (t delimitedText) strays(s *strays, _ *Options) {
	d := t.f.dialect
	switch {
	case d.RecordSep == "":
		s.cr = reasonCRCR
	case d.RecordSep == "\n" && d.Escape != "" && (d.Map == dialect.Postgres || d.Map == dialect.JQ || d.Map == dialect.HiveCRLF):
		s.cr, s.noCR = reasonCR, true
	}
	if s.comments = d.Comment != ""; d.Escape != "" && !d.QuotedOnly {
		s.escaped = delimited.New(d, 1, t.f.decoder()).Escaped
	}
	s.noSub = strings.IndexByte(d.FieldSep+d.RecordSep, sub) >= 0
	s.noWide = d.FieldSep[0] >= 0xfe
}

func (t delimitedText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	f, d, text := t.f, t.f.dialect, t.f.toCut(o)
	places, err := []int64{text.Begin, text.End}, error(nil) // one split
	if scanner := delimited.New(d, 1, f.decoder()); d.RFC4180() && (f.decoder() == nil || d.FieldSep[0] < f.charset.Safe()) {
		places, err = splits.CSV(ctx, text, d.FieldSep[0])
	} else if d.Cuttable() && d.Quote == "" {
		places, err = splits.Lines(ctx, text, o.MaxRecord, scanner.Start)
	} else if d.Cuttable() {
		places, err = splits.Quoted(ctx, text, scanner)
	}
	return cutAt(add, places, err)
}

// delimitedReader reads records of text in a dialect.
type delimitedReader struct {
	recordReader
	scanner *delimited.Scanner
}

func (textFormat) reader(r *Reader) splitReader {
	return &delimitedReader{recordReader: recordReader{r}}
}

func (t *delimitedReader) read(s Split) error {
	f := t.r.file
	if t.scanner == nil || !t.scanner.Is(f.dialect, f.cols) {
		t.scanner = delimited.New(f.dialect, f.cols, f.decoder())
	}
	err := t.r.readText(s)
	if cap(t.scanner.Fields) > 2*t.r.in.opts.ChunkSize {
		t.scanner.Fields = nil // as those of the reader
	}
	return err
}

func (t *delimitedReader) parse(n, _ int, last bool) (int, error) {
	return t.r.parseDelimited(t.scanner, n, last)
}

func (t *delimitedReader) trimEnd(record []byte) []byte { return t.scanner.TrimEnd(record) }

func (t *delimitedReader) record(record []byte) []byte { return t.scanner.One(record) }

// undecided returns the scanner's undecided length at PostgreSQL's end-of-data mark, unless more text follows the mark: then it is a
// record.
func (t *delimitedReader) undecided(n int) int {
	d := t.r.file.dialect
	if d.Map != dialect.Postgres {
		return 0
	}
	text := t.r.buf[:n]
	if d.RecordSep != "" {
		text = bytes.TrimSuffix(text, []byte(d.RecordSep))
	} else {
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\r'})
	}
	if !bytes.HasSuffix(text, []byte(`\.`)) {
		return 0
	}
	return n - len(text) + len(`\.`)
}

// parseDelimited is parseCSV for text in any dialect.
func (r *Reader) parseDelimited(s *delimited.Scanner, n int, last bool) (int, error) {
	start := 0
	for {
		if need := n + delimited.Slack; need > len(r.buf) {
			r.growBuf(need)
		}
		next, bad := s.Scan(r.buf[:n+delimited.Slack], start, n, last)
		if len(s.Data) > n+delimited.Slack {
			r.buf = s.Data[:cap(s.Data)]
		}
		r.extra, r.fields = len(s.Data), s.Fields
		end := next
		if bad != nil {
			end = bad.Start
		}
		for _, at := range s.Starts {
			r.offsets = append(r.offsets, r.off+int64(at))
		}
		if err := r.flush(len(s.Fields), end); err != nil || bad == nil {
			return next, err
		}
		if bad.Unclosed {
			return next, r.unclosed(bad.Start, bad.At-bad.Start, bad.Column, bad.Reason)
		}
		column, reason := "", bad.Reason
		if bad.Found > 0 {
			reason = countReason(bad.Found, r.file.cols)
		} else if bad.Column >= 0 {
			column = r.file.columnName(bad.Column)
		}
		if err := r.reject(bad.Start, bad.End, column, reason); err != nil {
			return next, err
		}
		start = next
	}
}

// probeDelimited finds where the records begin, and reads the header if there is one.
func (f *inputFile) probeDelimited(ctx context.Context, o *Options) error {
	f.dialect = o.Dialect
	if err := f.decode(); err != nil {
		return err
	}
	if err := f.leaveLastLines(ctx, f.dialect.SkipEnd, o.MaxRecord); err != nil {
		return err
	}
	for size := int64(detectSize); ; size *= 4 {
		data, err := f.beginning(ctx, size)
		if err != nil {
			return err
		}
		last := int64(len(data)) < size
		ok, err := f.firstRecord(data, last, o)
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		case last:
			f.dataStart, f.blank = int64(len(data)), true // nothing but lines that are not records
			return nil
		case size >= int64(o.MaxRecord):
			return fmt.Errorf("%s: header: it is longer than %s: most likely a separator or a closing quote is missing", f.Path, setting.Count(size, "byte"))
		}
	}
}

// afterMark returns where the text begins in data, the beginning of a file: after the byte order mark of UTF-8, if there is one. The mark
// is not skipped if the text is to be read in another character set: its characters would be others.
func (f *inputFile) afterMark(data []byte) (int, error) {
	switch {
	case !bytes.HasPrefix(data, bom):
		return 0, nil
	case f.decoder() != nil && f.charset.Name() != "utf-8":
		return 0, fmt.Errorf("%s: the byte order mark says utf-8, not %s", f.Path, f.charset.Name())
	}
	return len(bom), nil
}

// firstRecord finds the first record in data, the beginning of the text. It returns false if data is too short for that. last says that
// data is the whole text.
func (f *inputFile) firstRecord(data []byte, last bool, o *Options) (bool, error) {
	at, err := f.afterMark(data)
	if err != nil {
		return false, err
	}
	at += f.excelSep(data[at:])
	whole := last || len(data) >= o.MaxRecord
	skipped, err := f.skipLines(data[at:], whole)
	if skipped < 0 {
		return false, err
	}
	at += skipped
	f.dataStart, f.blank = int64(at), last && sniff.Blank(data[at:])
	h := f.dialect.Header
	headless := h == dialect.HeaderNo || h == dialect.HeaderFirst && !f.first
	if f.blank {
		return headless || h == dialect.HeaderMatch, nil
	}
	if wait, err := f.endings(data[at:], last, whole); wait || err != nil {
		return false, err
	}
	if headless {
		return true, f.noHeader(data[at:], last, o)
	}
	names, next, bad := delimited.New(f.dialect, 1, f.decoder()).First(data[at:], last)
	if bad != nil {
		return false, fmt.Errorf("%s: header: column %d, byte %d: %s", f.Path, bad.Column+1, at+bad.At, bad.Reason)
	}
	if names == nil {
		return false, nil
	}
	if h == dialect.HeaderMatch && (!f.matches(names, o) || len(names) == 1 && f.blankFirst(data[at:])) {
		f.values = len(names)
		return true, nil
	}
	if err := f.named(names, data, at, at+next, f.dialect.RecordSep); err != nil {
		return false, fmt.Errorf("%s: header: %w", f.Path, err)
	}
	if f.dialect.RecordSep == "\n" {
		return true, nil // CR is data
	}
	wait, err := f.endings(data[at+next:], last, whole)
	return !wait, err
}

// decode sets the character set of a file's dialect. UTF-16 and EBCDIC text is decoded as a whole, from the beginning; for other sets, and
// for fixed columns, values are decoded.
func (f *inputFile) decode() error {
	err := f.decodeAs(f.dialect.Charset)
	f.transcoded = f.transcoded && !f.dialect.Fixed()
	return err
}

// decodeAs is decode for a character set by its name, which may be empty.
func (f *inputFile) decodeAs(name string) error {
	if name == "" {
		return nil
	}
	set, err := charset.Lookup(name)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.charset, f.transcoded = set, set.Safe() == 0
	return nil
}

// decoder returns the decoder of values, nil if they are UTF-8 or used unchanged.
func (f *inputFile) decoder() delimited.Charset {
	if f.charset == nil || f.transcoded {
		return nil
	}
	return f.charset
}

// sequential reports whether a file can be read only from its beginning.
func (f *inputFile) sequential() bool { return f.compression != "" || f.transcoded }

// excelSep reads the separator from a line such as sep=; at the beginning of text for Excel, and returns the line's length.
func (f *inputFile) excelSep(data []byte) int {
	rest, ok := bytes.CutPrefix(data, []byte("sep="))
	if f.dialect.Name != dialect.Excel || !ok || len(rest) < 2 {
		return 0
	}
	line, _, ok := bytes.Cut(rest, []byte("\n"))
	sep := bytes.TrimSuffix(line, []byte("\r"))
	if !ok || len(sep) != 1 {
		return 0
	}
	d := *f.dialect
	d.FieldSep = string(sep)
	if d.Check() != nil {
		return 0
	}
	f.dialect = &d
	return len("sep=") + len(line) + 1
}
