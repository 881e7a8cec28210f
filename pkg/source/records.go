package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// countWithin is the distance from the beginning of a file up to which records are counted to give a bad record its number. It takes about
// a second.
const countWithin = 1 << 30

// recordsBefore returns the number of records of the file before a split, or the byte of the file at which counting began. The choice does
// not depend on what has been read before.
func (in *Input) recordsBefore(ctx context.Context, split int) (records, since int64) {
	s := in.splits[split]
	f := in.files[s.File]
	switch {
	case f.facts.Rows:
		return s.Start, 0
	case split == f.firstSplit:
		return 0, 0
	case s.Start > countWithin:
		return 0, s.Start
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lookups++
	var r *Reader
	for i := f.firstSplit; i < split; i++ {
		n := in.counts[i].Load()
		if n < 0 {
			if r == nil {
				r = in.NewReader()
				r.quiet = true
			}
			if err := r.Read(ctx, i, nil); err != nil {
				return 0, s.Start // it cannot be read; that error will come from its own reader
			}
			n = in.counts[i].Load()
		}
		records += n
	}
	return records, 0
}

// Records returns the number of records, good and bad, in the splits that were read to their end. It is the whole input's number once all
// were.
func (in *Input) Records() int64 { return in.RecordsOf(0, len(in.counts)) }

func (in *Input) has(split int) bool { return split >= 0 && split < len(in.splits) }

// Place describes the place of a record, by its value of [Batch.Offsets], for a message.
func (in *Input) Place(split int, offset int64) string {
	if !in.has(split) {
		return fmt.Sprintf("split %d, which does not exist", split)
	}
	s := in.splits[split]
	f, line := in.files[s.File], in.line(split, offset)
	if f.rejects != nil && line > 0 {
		return fmt.Sprintf("%s, line %d", s.Path, line)
	}
	place := f.facts.Place(s.Path, s.Start, offset)
	if line > 0 {
		place += fmt.Sprintf(" (line %d)", line)
	}
	return place
}

// PlaceOf returns the place of a record, by its value of [Batch.Offsets], as far as that is known without reading the file. It is zero for a split that
// does not exist.
func (in *Input) PlaceOf(split int, offset int64) Place {
	if !in.has(split) {
		return Place{}
	}
	s := in.splits[split]
	switch t := in.files[s.File].facts; {
	case t.Rows || t.Table:
		return Place{Path: s.Path, Offset: offset, Record: offset + 1}
	case t.Blocks:
		return Place{Path: s.Path, Offset: s.Start, Record: offset + 1, Since: s.Start}
	}
	return Place{Path: s.Path, Offset: offset}
}

// Place describes the place of a record in a file of the format, by the beginning of its split and its value of [Batch.Offsets].
func (t Traits) Place(path string, start, offset int64) string {
	switch {
	case t.Table:
		return fmt.Sprintf("%s, row %d", path, offset+1)
	case t.Blocks:
		return fmt.Sprintf("%s, record %d of the blocks from byte %d on", path, offset+1, start)
	}
	return fmt.Sprintf("%s at offset %d", path, offset)
}

// lineWithin bounds the time for counting the lines before a record.
const lineWithin = 10 * time.Second

// AddLine adds to the bad record of an error, if there is one, the number of its first line.
func (in *Input) AddLine(err error) {
	if e, ok := errors.AsType[*RowError](err); ok && !e.rows && !e.block {
		e.line = in.line(e.split, e.Offset)
	}
}

// line returns the number of the line, from 1, that begins at a byte of text; 0 if records are not lines, or counting them would take long. In a reject
// file it is the line that has the record.
func (in *Input) line(split int, offset int64) int64 {
	f := in.files[in.splits[split].File]
	t, ok := f.content.(textForm)
	if !ok || f.rejects == nil && !t.lines() || f.transcoded || offset < 0 || offset > countWithin {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), lineWithin)
	defer cancel()
	if f.rejects != nil {
		return f.rejectLine(ctx, offset)
	}
	src, err := f.openText(ctx, 0)
	if err != nil {
		return 0
	}
	defer src.Close()
	line, buf := int64(1), make([]byte, min(offset, 1<<20))
	for left := offset; left > 0; {
		n, err := src.Read(buf[:min(int64(len(buf)), left)])
		line += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if left -= int64(n); left > 0 && (err != nil || ctx.Err() != nil) {
			return 0
		}
	}
	return line
}

// rejectLine returns the line of a reject file that has the record at a byte of the text of all its records; 0 if reading so far fails or takes long.
func (f *inputFile) rejectLine(ctx context.Context, offset int64) int64 {
	file, raw, err := f.Open(ctx)
	if err != nil {
		return 0
	}
	defer file.Close()
	r := f.rejectReader(io.NewSectionReader(raw, 0, f.Info.Size()), f.opts)
	for left := offset + 1; left > 0; {
		n, err := io.CopyN(io.Discard, r, min(left, 1<<20))
		if left -= n; err != nil || ctx.Err() != nil {
			return 0
		}
	}
	return r.Line()
}
