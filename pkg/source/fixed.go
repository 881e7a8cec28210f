package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"bulkload/internal/formats/fixedwidth"
	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/splits"
	"bulkload/pkg/setting"
)

// fixedFormat is text of fixed columns: each is at the same bytes of every record, as in table unloads of mainframes.
type fixedFormat struct{}

func (fixedFormat) facts() facts {
	charset := func(o *Options) string { return o.Dialect.Charset }
	return facts{Traits: Traits{Text: true}, hidden: true, charset: charset, looks: func(_ []byte, o *Options) bool { return o.Dialect.Fixed() }}
}

func (fixedFormat) check(o *Options) error {
	if !o.Dialect.Fixed() {
		return errors.New("fixed columns need a dialect with their positions")
	}
	return nil
}

func (k fixedFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	f.dialect = o.Dialect
	if err := f.decodeFixed(); err != nil {
		return nil, err
	}
	for _, p := range f.dialect.Positions {
		f.columns = append(f.columns, p.Name)
	}
	head, err := f.beginning(ctx, detectSize)
	if err != nil {
		return nil, err
	}
	if (f.charset == nil || f.charset.Name() == "utf-8") && bytes.HasPrefix(head, bom) {
		f.dataStart = int64(len(bom))
	}
	for range f.dialect.SkipLines {
		i := bytes.IndexByte(head[f.dataStart:], '\n')
		if i < 0 {
			return nil, fmt.Errorf("%s: it has fewer lines than are to be skipped, or longer ones than %s", f.Path, setting.Count(len(head), "byte"))
		}
		f.dataStart += int64(i) + 1
	}
	return k.text(f), f.leaveLastLines(ctx, f.dialect.SkipEnd, o.MaxRecord)
}

// decodeFixed sets the character set. Positions count bytes of the file, so values are decoded one by one.
func (f *inputFile) decodeFixed() error {
	if err := f.decode(); err != nil {
		return err
	}
	d := f.dialect
	switch {
	case f.charset == nil || f.charset.Safe() > 0:
	case !f.charset.Single():
		return fmt.Errorf("%s: positions in UTF-16 are not supported: convert the file to UTF-8", f.Path)
	case d.RecordSep == "" && !d.Unseparated:
		return setting.Errorf("%s: a record of %s ends with no LF: give %s, none or its bytes in the file", f.Path, f.charset.Name(), setting.RecordSep)
	}
	return nil
}

func (fixedFormat) text(f *inputFile) textForm { return fixedText{textFile{f}} }

// unseparatedMark separates records in a reject file if they had no separator.
const unseparatedMark = "\x00\x01\x02\x03\x02\x01\x00\n"

func (fixedFormat) marks(f *inputFile, _, _ Sep) rejects.Marks {
	return rejects.Marks{End: cmp.Or(f.dialect.RecordSep, "\n"), Lines: f.dialect.RecordSep == ""}
}

// fixedText is a file of fixed columns.
type fixedText struct{ textFile }

func (t fixedText) lines() bool { return t.f.dialect.RecordSep == "" && !t.f.dialect.Unseparated }

func (t fixedText) rejectForm(*Options) *rejects.Form {
	d := t.f.dialect.Records()
	if d.Unseparated {
		d.Unseparated, d.RecordSep = false, unseparatedMark
	}
	return &rejects.Form{Version: 1, Format: string(FormatFixed), Columns: t.f.columns, Dialect: &d}
}

func (t fixedText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	f, d := t.f, t.f.dialect
	if d.EndOverlaps() { // where a record begins depends on the beginning of the file
		text := f.toCut(o)
		return cutAt(add, []int64{text.Begin, text.End}, nil)
	}
	if !d.Unseparated {
		end := fixedwidth.End(d)
		places, err := splits.Lines(ctx, f.toCut(o), o.MaxRecord, func(text []byte, at int, _ bool) int {
			from := max(0, at-len(end))
			if i := bytes.Index(text[from:], end); i >= 0 {
				return from + i + len(end)
			}
			return -1
		})
		return cutAt(add, places, err)
	}
	length, _ := d.Length()
	step := max(o.SplitSize/int64(length), 1) * int64(length)
	for start := f.dataStart; start < f.textEnd(); start += step {
		add(start, min(start+step, f.textEnd()), 0)
	}
	return nil
}

// fixedReader reads records of fixed columns.
type fixedReader struct {
	recordReader
	records *fixedwidth.Records // of the current file
}

func (fixedFormat) reader(r *Reader) splitReader {
	return &fixedReader{recordReader: recordReader{r}}
}

func (t *fixedReader) read(s Split) error {
	t.records = fixedwidth.New(t.r.file.dialect, t.r.file.charset)
	return t.r.readText(s)
}

func (t *fixedReader) trimEnd(record []byte) []byte { return t.records.TrimEnd(record) }

func (t *fixedReader) parse(n, _ int, last bool) (int, error) {
	r, start, k, cols, most := t.r, 0, 0, t.r.file.cols, t.r.mostRows()
	r.extra = n
	for start < n {
		next := t.records.Next(r.buf[:n], start)
		if next > n && !last {
			break
		}
		if next = min(next, n); len(r.offsets) >= most { // columns may overlap, so records can have more values than bytes
			if err := r.flush(k, start); err != nil {
				return start, err
			}
			k, r.extra = 0, n
		}
		r.growRow(k, cols)
		column, reason := 0, ""
		r.buf, r.extra, column, reason = t.records.Values(r.buf, r.extra, start, start+len(t.trimEnd(r.buf[start:next])), r.fields[k:])
		if reason == "" {
			k += cols
			r.offsets = append(r.offsets, r.off+int64(start))
		} else {
			if err := r.flush(k, start); err != nil {
				return start, err
			}
			if err := r.reject(start, next, r.file.columnName(column), reason); err != nil {
				return start, err
			}
			k, r.extra = 0, n
		}
		start = next
	}
	return start, r.flush(k, start)
}
