package source

import (
	"bytes"
	"context"
	"fmt"

	"bulkload/internal/formats/rejects"
	"bulkload/internal/formats/swar"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// dumpFormat is text without quotes and escapes: each byte that is not a separator is data.
type dumpFormat struct{}

func (dumpFormat) facts() facts {
	return facts{Traits: Traits{Dialect: dialect.Dump, Text: true, FieldSep: SepOf(0x01), RecordSep: SepOf(0x10)},
		looks: func(head []byte, o *Options) bool {
			field, record := o.seenSeps(head)
			_, end := o.dumpSeps()
			return field || record && control(end)
		}, raw: true, cut: true, loose: true}
}

func (dumpFormat) check(o *Options) error {
	if o.Dialect == nil && len(o.Columns) == 0 {
		return errNoColumns
	}
	return o.noDialect(anotherDialect)
}

func (k dumpFormat) probe(ctx context.Context, f *inputFile, head []byte, o *Options) (content, error) {
	return k.text(f), f.probeDump(ctx, head, o)
}

func (dumpFormat) text(f *inputFile) textForm { return dumpText{textFile{f}} }

func (dumpFormat) marks(_ *inputFile, _, record Sep) rejects.Marks {
	return rejects.Marks{End: string([]byte{record.or(0x10)})}
}

// dumpText is a file that is a dump.
type dumpText struct{ textFile }

func (dumpText) lines() bool { return false }

func (d dumpText) splits(_ context.Context, o *Options, add func(start, end int64, group int)) error {
	for start := int64(0); start < d.f.Info.Size(); start += o.SplitSize {
		add(start, min(start+o.SplitSize, d.f.Info.Size()), 0)
	}
	return nil
}

func (dumpText) settings(o *Options) string {
	field, record := o.dumpSeps()
	return fmt.Sprintf("field_sep=%s record_sep=%s", SepOf(field), SepOf(record))
}

func (d dumpText) rejectForm(o *Options) *rejects.Form {
	field, record := o.dumpSeps()
	return &rejects.Form{Version: 1, Format: string(FormatDump), FieldSep: SepOf(field).String(), RecordSep: SepOf(record).String(), Columns: d.f.columns}
}

func (dumpText) strays(s *strays, o *Options) { s.noWide, s.noSub = true, o.separates(sub) }

// dumpReader reads records of dumps.
type dumpReader struct{ recordReader }

func (dumpFormat) reader(r *Reader) splitReader { return &dumpReader{recordReader{r}} }

func (d *dumpReader) parse(n, limit int, last bool) (int, error) {
	d.r.extra = n
	return d.r.parseDump(n, limit, last)
}

func (d *dumpReader) trimEnd(record []byte) []byte {
	return bytes.TrimSuffix(record, []byte{d.r.recordSep})
}

// parseDump cuts buf[:n] into records and emits them as one batch, or several if there are bad records between them. It reads the records
// that begin before limit and returns where it stopped: the beginning of the first record that is beyond the limit or incomplete. last says
// that the file ends at n, which also ends the last record.
//
// A block's separators are found by arithmetic on words, not by a search for each: fields are a dozen bytes long, and
// a call, or a branch that depends on their length, costs as much as they do.
func (r *Reader) parseDump(n, limit int, last bool) (int, error) {
	load := r.buf[:n+swar.Block]
	sepA, sepB := swar.Spread(r.fieldSep), swar.Spread(r.recordSep)
	rec, cols := r.recordSep, r.file.cols
	fields := r.fields
	k, row := 0, 0 // fields stored, and how many of them precede the current record
	start, from, dropped := 0, 0, 0
	for base := 0; base < n && start < limit; base += swar.Block {
		if most := row + cols + 1; k > most { // the record is bad: its further fields are only counted
			k, dropped = most, dropped+k-most
		}
		if len(fields) < k+swar.Block {
			fields = r.growFields(k)
		}
		m := swar.Tail(swar.Two((*[swar.Block]byte)(load[base:]), sepA, sepB), n-base)
		for m != 0 {
			pos := base + swar.Lowest(m)
			m &= m - 1
			fields[k] = Span{Off: uint32(from), Len: uint32(pos - from)}
			k++
			from = pos + 1
			if load[pos] != rec {
				continue
			}
			if k-row != cols {
				if err := r.badCount(row, k+dropped, start, pos); err != nil {
					return start, err
				}
				k, dropped = 0, 0
				fields = r.growFields(k)
			} else {
				r.offsets = append(r.offsets, r.off+int64(start))
			}
			row, start = k, from
			if start >= limit {
				break
			}
		}
	}
	if last && start < n && start < limit {
		// The last record has no separator after it.
		fields = r.growFields(k)
		fields[k] = Span{Off: uint32(from), Len: uint32(n - from)}
		k++
		if k-row == cols {
			r.offsets = append(r.offsets, r.off+int64(start))
			row = k
		} else if err := r.badCount(row, k+dropped, start, n); err != nil {
			return start, err
		} else {
			row = 0
		}
		start = n
	}
	return start, r.flush(row, start)
}

// badCount handles a record buf[start:end] that has the wrong number of columns: its fields are the last of k, from field row on. The
// records before it are emitted as a batch: no field is stored then.
func (r *Reader) badCount(row, k, start, end int) error {
	found := k - row
	if err := r.flush(row, start); err != nil {
		return err
	}
	return r.reject(start, end, "", countReason(found, r.file.cols))
}

// countReason returns the reason of a record with the wrong number of columns.
func countReason(found, expected int) string {
	return fmt.Sprintf("%s found, %d expected", setting.Count(found, "column"), expected)
}

// skipDump finds the first record that begins in the split, in buf[:n], which begins one byte before the split: the one after the first
// separator. It returns n if there is none yet.
func (r *Reader) skipDump(n int) int {
	if i := bytes.IndexByte(r.buf[:n], r.recordSep); i >= 0 {
		return i + 1
	}
	return n
}
