package source

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"bulkload/internal/formats/swar"
	"bulkload/pkg/setting"
	"bulkload/pkg/source/dialect"
)

// overlap is how much is read beyond a split at first, to have its last record whole.
const overlap = 16 << 10

// readText reads a split of a CSV file or a dump.
//
// A record belongs to the split in which it begins. In a dump, a record begins at byte 0 and after each separator, so
// a split's first record begins after the first separator at or after the byte before the split: the reader of one
// split continues to exactly the place where the reader of the next begins, whatever is there. For CSV the same is true
// of the ends of records that planCSV has found.
func (r *Reader) readText(s Split) (err error) {
	src, err := r.file.openText(r.ctx, s.Start, r.in.opts.ChunkSize)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, src.Close()) }()

	r.off = s.Start
	dump, exact := r.file.format == FormatDump, s.End < r.file.textEnd()
	skip := dump && s.Start > 0
	if skip {
		r.off--
		src.at--
	}
	chunk := r.in.opts.ChunkSize
	want, n, eof := chunk, 0, false
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		// A CSV split ends where a record ends; of a dump, the last record's end is still to be found.
		end := s.End
		if dump && end < math.MaxInt64-overlap {
			end = max(end+overlap, r.off+2*int64(n)+overlap)
		}
		if n, eof, err = r.fill(src, n, int(min(int64(want), end-r.off))); err != nil {
			return err
		}
		atEnd := eof || !dump && r.off+int64(n) >= s.End
		next := 0
		last := atEnd && !(exact && !dump)
		if r.textEnd = -1; last {
			r.textEnd = n
		}
		if skip {
			next = r.skipDump(n)
			skip = next == n && r.buf[max(n-1, 0)] != r.recordSep
			if skip && eof {
				return nil
			}
		} else if next, err = r.parse(n-r.undecided(n, atEnd), int(min(s.End-r.off, math.MaxInt)), last); err != nil {
			return err
		} else {
			r.sum = addSum(r.sum, r.buf[:next])
		}
		r.off += int64(next)
		n = copy(r.buf, r.buf[next:n])
		switch {
		case r.off >= s.End || eof && n == 0:
			if !dump && exact && r.off != s.End {
				return r.unbalanced(s)
			}
			return nil
		case next > 0:
			want = chunk
		case atEnd:
			return r.unbalanced(s)
		case n >= r.in.opts.MaxRecord:
			return r.tooLong(n)
		default:
			// No record is whole: read more of it.
			want = max(chunk, min(2*n, r.in.opts.MaxRecord))
		}
	}
}

// undecided is how many of the n bytes that were read are PostgreSQL's mark of the end of data, unless more follows it: then it is a record.
func (r *Reader) undecided(n int, atEnd bool) int {
	d := r.file.dialect
	if atEnd || r.file.format != FormatText || d.Map != dialect.Postgres {
		return 0
	}
	text := r.buf[:n]
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

func (r *Reader) parse(n, limit int, last bool) (int, error) {
	if r.file.format == FormatDump {
		r.extra = n
		return r.parseDump(n, limit, last)
	}
	switch r.file.format {
	case FormatText:
		return r.parseDelimited(n, last)
	case FormatJSON:
		return r.parseJSON(n, last)
	}
	return r.parseCSV(n, last)
}

// fill reads until the buffer holds want bytes. It has n now.
func (r *Reader) fill(src *textStream, n, want int) (int, bool, error) {
	if len(r.buf) < want+2*swar.Block {
		r.growBuf(want + want/8)
	}
	for n < want {
		m, err := src.Read(r.buf[n:want])
		n += m
		switch {
		case err == io.EOF:
			return n, true, nil
		case err != nil:
			return n, false, err
		}
	}
	return n, false, nil
}

// unbalanced is the error of a split whose last record does not end where the next split begins. It means that records
// were not found where the plan has seen them.
func (r *Reader) unbalanced(s Split) error {
	return &ChangedError{r.file.path, fmt.Sprintf("the record at byte %d does not end at byte %d, where quotes and line ends had another begin", r.off, s.End)}
}

func (r *Reader) tooLong(n int) error {
	e := r.rowError(r.off, r.records+1, nil)
	e.Reason = fmt.Sprintf("the record is longer than %s: a separator is missing", setting.Count(r.in.opts.MaxRecord, "byte"))
	switch r.file.format {
	case FormatJSON:
		e.Reason = fmt.Sprintf("the line is longer than %s: a line feed is missing, or the file is not JSON lines", setting.Count(r.in.opts.MaxRecord, "byte"))
	case FormatCSV:
		e.Reason = fmt.Sprintf("the record is longer than %s: most likely a quote is not closed", setting.Count(r.in.opts.MaxRecord, "byte"))
	}
	return &e
}

// firstError is the first of two errors that is one, as it is: what a callback returned must come out the same.
func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
