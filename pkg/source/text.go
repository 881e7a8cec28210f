package source

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"bulkload/internal/formats/swar"
)

// overlap is the number of bytes read beyond a split at first, to complete its last record.
const overlap = 16 << 10

// readText reads a split of a CSV file or a dump.
//
// A record belongs to the split in which it begins. In a dump, a record begins at byte 0 and after each separator, so
// a split's first record begins after the first separator at or after the byte before the split: the reader of one
// split continues to exactly the place where the reader of the next begins, whatever is there. For CSV the same is true
// of the ends of records that package splits has found.
func (r *Reader) readText(s Split) (err error) {
	src, err := r.file.openText(r.ctx, s.Start)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, src.Close()) }()

	r.off = s.Start
	dump, exact := r.file.facts.loose, s.End < r.file.textEnd()
	skip := dump && s.Start > 0
	if skip {
		r.off--
		src.at--
	}
	if !r.file.sequential() {
		src.Within(src.at, s.End-(s.Start-src.at))
	}
	chunk := r.in.opts.ChunkSize
	want, n, eof := chunk, 0, false
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		// A CSV split ends at the end of a record; in a dump, the last record's end must still be found.
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
		undecided := 0
		if !atEnd {
			undecided = max(r.text.undecided(n), r.undecidedSub(n))
		}
		held := slices.Clone(r.buf[n-undecided : n]) // a batch may store values of the file's path after the text that it is given
		if skip {
			next = r.skipDump(n)
			skip = next == n && r.buf[max(n-1, 0)] != r.recordSep
			if skip && eof {
				return nil
			}
		} else if next, err = r.text.parse(n-undecided, int(min(s.End-r.off, math.MaxInt)), last); err != nil {
			return err
		} else {
			r.sum = addSum(r.sum, r.buf[:next])
		}
		copy(r.buf[n-undecided:n], held)
		r.off += int64(next)
		n = copy(r.buf, r.buf[next:n])
		switch {
		case r.off >= s.End || eof && n == 0:
			if !dump && exact && r.off != s.End {
				return r.unbalanced(s)
			}
			return nil
		case next > 0:
			if want = chunk; n <= chunk {
				r.endLong(n)
			}
		case atEnd:
			return r.unbalanced(s)
		case n >= r.in.opts.MaxRecord:
			return r.recordTooLong()
		default:
			// No record is complete: read more of it.
			want = max(chunk, min(2*n, r.in.opts.MaxRecord))
			if err := r.beginLong(want); err != nil {
				return err
			}
		}
	}
}

// fill reads until the buffer holds want bytes. It holds n now.
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

// unbalanced returns the error of a split whose last record does not end where the next split begins. It means that the records differ from
// those that the plan has found.
func (r *Reader) unbalanced(s Split) error {
	return &ChangedError{Path: r.file.Path, What: fmt.Sprintf("the record at byte %d does not end at byte %d, where quotes and line ends had another begin", r.off, s.End)}
}
