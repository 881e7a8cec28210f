package source

import (
	"bytes"
	"fmt"

	"bulkload/internal/formats/rfc4180"
	"bulkload/internal/formats/swar"
	"bulkload/pkg/setting"
)

// csvReader reads records of CSV.
type csvReader struct{ recordReader }

func (csvFormat) reader(r *Reader) splitReader { return &csvReader{recordReader{r}} }

func (c *csvReader) parse(n, _ int, last bool) (int, error) { return c.r.parseCSV(n, last) }

func (c *csvReader) trimEnd(record []byte) []byte {
	if !bytes.HasSuffix(record, []byte{'\n'}) {
		return bytes.TrimSuffix(record, []byte{'\r'}) // the end of the file
	}
	for {
		line, ok := bytes.CutSuffix(record, []byte{'\n'})
		if !ok {
			return record
		}
		record = bytes.TrimSuffix(line, []byte{'\r'})
		if c.r.file.cols == 1 {
			return record // of one column, blank lines are records
		}
	}
}

func (*csvReader) tooLong(most string) string {
	return fmt.Sprintf("the record is longer than %s: most likely a quote is not closed", most)
}

// parseCSV cuts buf[:n] into records and emits them as one batch, or several if there are bad records between them. It returns the
// beginning of the first incomplete record. last says that the file ends at n, which also ends the last record.
//
// As in [Reader.parseDump], separators are found for a block of bytes at a time; the parity of the quotes before them masks out those in
// quotes. As long as the text follows the grammar, that parity is the state of a byte-by-byte parser. If a field does not follow it,
// [rfc4180.Find] decides, which is such a parser.
func (r *Reader) parseCSV(n int, last bool) (int, error) {
	if r.extra = n + swar.Block; r.extra > len(r.buf) {
		r.growBuf(r.extra)
	}
	start, err := r.scanCSV(0, n)
	for err == nil && start < n {
		// The rest is not a complete record, or a fault hides its end.
		fault := rfc4180.Find(r.buf[start:n], r.comma, last)
		end := -1
		if fault != nil {
			end = fault.End(r.buf[start:n], last)
			if end >= 0 {
				end += start
			}
		}
		switch {
		case end >= 0:
			if err = r.flush(r.kept, start); err == nil && fault.Reason == rfc4180.Unclosed {
				return start, r.unclosed(start, fault.At, fault.Column, fault.Reason)
			}
			if err == nil {
				err = r.reject(start, end, r.file.columnName(fault.Column), fault.Reason)
			}
			if err == nil {
				start, err = r.scanCSV(end, n)
			}
		case last:
			// The last record ends with the file. A line feed fits into the slack.
			r.buf[n] = '\n'
			if start, err = r.scanCSV(start, n+1); err == nil && start < n {
				err = fmt.Errorf("%s: at byte %d: the end of the last record is not found", r.file.Path, r.off+int64(start))
			}
		default:
			return start, r.flush(r.kept, start)
		}
	}
	if err != nil {
		return start, err
	}
	return min(start, n), r.flush(r.kept, min(start, n))
}

// unclosed returns the error of a record whose quote is not closed before the end of the file. No budget of bad records allows it: all
// records after the quote would be lost too, however many there are.
func (r *Reader) unclosed(start, at, column int, reason string) error {
	e := r.rowError(r.off+int64(start), r.records+1, nil)
	e.Column, e.Err = r.file.columnName(column), setting.Errorf("%s: the quote is at byte %d (%s cannot allow it)",
		reason, r.off+int64(start+at), setting.BadRecords)
	e.Reason = e.Err.Error()
	return &e
}

// scanCSV counts, and does not keep, the fields of a record beyond its columns, as parseDump does. It reads records from buf[start:n] as long as they are complete and correctly quoted, and returns where it stopped. r.kept is the
// number of fields stored.
func (r *Reader) scanCSV(start, n int) (int, error) {
	load := r.buf[:n+swar.Block]
	comma, cols := swar.Spread(r.comma), r.file.cols
	k, row := r.kept, r.kept
	from, dropped := start, 0
	var inside, held uint64 // all ones within quotes; not 0 when the field has quotes in earlier blocks
	fields := r.fields
	for base := start; base < n; base += swar.Block {
		if most := row + cols + 1; k > most {
			k, dropped = most, dropped+k-most
		}
		if len(fields) < k+swar.Block {
			fields = r.growFields(k)
		}
		q, s := swar.QuotesAndEnds((*[swar.Block]byte)(load[base:]), comma)
		if n-base < swar.Block {
			q, s = swar.Tail(q, n-base), swar.Tail(s, n-base)
		}
		if q != 0 {
			in := swar.PrefixXor(q) ^ inside
			inside = uint64(int64(in) >> 63)
			s &^= in
		} else {
			s &^= inside
		}
		for s != 0 {
			below := s&-s - 1
			pos := base + swar.Lowest(s)
			s &= s - 1
			end, lf := pos, load[pos] == '\n'
			if lf && pos > from && load[pos-1] == '\r' {
				end--
			}
			if held|q&below == 0 {
				fields[k] = Span{Off: uint32(from), Len: uint32(end - from)}
			} else {
				f := load[from:end]
				if len(f) < 2 || f[0] != '"' || f[len(f)-1] != '"' {
					return start, nil
				}
				inner := f[1 : len(f)-1]
				if i := bytes.IndexByte(inner, '"'); i < 0 {
					fields[k] = Span{Off: uint32(from + 1), Len: uint32(len(inner))}
				} else {
					span, ok := r.unquote(inner, i)
					if !ok {
						return start, nil
					}
					load = r.buf[:n+swar.Block]
					fields[k] = span
				}
				q &^= below
				held = 0
			}
			k++
			from = pos + 1
			if !lf {
				continue
			}
			switch {
			case k-row == cols:
				r.offsets = append(r.offsets, r.off+int64(start))
			case k-row == 1 && end == start:
				k = row // a blank line
			default:
				if err := r.badCount(row, k+dropped, start, pos); err != nil {
					return start, err
				}
				k, dropped = 0, 0
				load = r.buf[:n+swar.Block]
				fields = r.growFields(k)
			}
			row, start = k, from
			r.kept = k
		}
		held |= q
	}
	return start, nil
}

// unquote appends the content of a quoted field, with doubled quotes made single, after the chunk, so that the record itself is not
// changed. quote is the position of the first quote in it. It reports whether all quotes are doubled.
func (r *Reader) unquote(inner []byte, quote int) (Span, bool) {
	if len(r.buf) < r.extra+len(inner) {
		r.growBuf(r.extra + len(inner)) // inner stays valid: it refers to the former buffer
	}
	at := r.extra
	for quote >= 0 {
		if quote+1 >= len(inner) || inner[quote+1] != '"' {
			return Span{}, false
		}
		at += copy(r.buf[at:], inner[:quote+1])
		inner = inner[quote+2:]
		quote = bytes.IndexByte(inner, '"')
	}
	at += copy(r.buf[at:], inner)
	span := Span{Off: uint32(r.extra), Len: uint32(at - r.extra)}
	r.extra = at
	return span, true
}
