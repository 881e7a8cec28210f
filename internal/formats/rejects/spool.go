package rejects

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"

	"bulkload/internal/base/durable"
)

// spoolMemory is the size in bytes of the lines that are buffered before they are written to disk.
const spoolMemory = 4 << 20

// spool sorts lines by the order of the input, because workers write them in another order. The lines of one split
// arrive in order, so the spool collects them for each split, and writes them to disk as a segment. There is one segment
// for each split and each time that the buffer was full, so the cost of a line does not depend on their number.
type spool struct {
	split int   // the split of the lines that Write adds next
	form  *Form // the form of these lines

	file     *os.File
	at       int64
	open     map[int]*splitLines
	held     int
	most     int // the most bytes held in memory, default spoolMemory
	segments []segment
	flushes  int
}

type splitLines struct {
	form *Form
	data []byte
}

// segment is a range of the spool with lines of one split.
type segment struct {
	split    int
	form     *Form
	at, size int64
}

func newSpool(path string) (*spool, error) {
	f, err := durable.Nameless(filepath.Dir(path), durable.TempPattern(path))
	if err != nil {
		return nil, err
	}
	return &spool{file: f, open: make(map[int]*splitLines), most: spoolMemory}, nil
}

// Write adds lines of the current split.
func (s *spool) Write(p []byte) (int, error) {
	lines := s.open[s.split]
	if lines != nil && lines.form != s.form { // a reject file as input is one split with several forms
		if err := s.flush(); err != nil {
			return 0, err
		}
		lines = nil
	}
	if lines == nil {
		lines = &splitLines{form: s.form}
		s.open[s.split] = lines
	}
	lines.data = append(lines.data, p...)
	if s.held += len(p); s.held < s.most {
		return len(p), nil
	}
	return len(p), s.flush()
}

// flush writes all buffered lines to disk, and releases the memory of all splits, including finished ones.
func (s *spool) flush() error {
	for split, lines := range s.open {
		n, err := s.file.Write(lines.data)
		if err != nil {
			return err
		}
		s.segments = append(s.segments, segment{split, lines.form, s.at, int64(n)})
		s.at += int64(n)
	}
	clear(s.open)
	s.held = 0
	s.flushes++
	return nil
}

// copyTo writes all lines in the order of the input, with the line of a form before the first record and wherever the form changes.
func (s *spool) copyTo(out io.Writer) error {
	if err := s.flush(); err != nil {
		return err
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return cmp.Or(cmp.Compare(a.split, b.split), cmp.Compare(a.at, b.at)) })
	for i, seg := range s.segments {
		if i == 0 || !seg.form.same(s.segments[i-1].form) {
			if _, err := out.Write(seg.form.line()); err != nil {
				return err
			}
		}
		if _, err := io.CopyN(out, io.NewSectionReader(s.file, seg.at, seg.size), seg.size); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the temporary file, which frees its disk space.
func (s *spool) Close() error { return s.file.Close() }
