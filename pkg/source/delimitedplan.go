package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/formats/delimited"
)

func (t delimitedText) splits(ctx context.Context, o *Options, add func(start, end int64, group int)) error {
	f, d := t.f, t.f.dialect
	places, err := []int64{f.dataStart, f.size()}, error(nil) // one split
	switch {
	case d.RFC4180():
		places, err = f.planCSV(ctx, o, d.FieldSep[0])
	case d.Cuttable() && d.Quote == "":
		places, err = f.planLines(ctx, o, delimited.New(d, 1, f.decoder()).Start)
	case d.Cuttable():
		places, err = f.planQuoted(ctx, o)
	}
	return cutAt(add, places, err)
}

// lineWindow is the initial size of the window in which the beginning of a record is searched.
const lineWindow = 64 << 10

// planLines cuts a file where the neighbouring bytes show that a record begins: each split begins with the first record at or after its
// nominal start. begin returns the first beginning of a record in text, at or after a byte that is not its first; -1 if there is none. From a record
// that may be longer than [Options.MaxRecord] on, the file is not cut: its reader decides.
func (f *inputFile) planLines(ctx context.Context, o *Options, begin func(text []byte, at int) int) (starts []int64, err error) {
	size := f.size()
	starts = append(starts, f.dataStart)
	if size-f.dataStart <= o.SplitSize {
		return append(starts, size), nil
	}
	src, err := f.openText(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for at := f.dataStart + o.SplitSize; at < size; at += o.SplitSize {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := f.recordBehind(src, begin, at, starts[len(starts)-1], int64(o.MaxRecord)+lineWindow)
		if err != nil {
			return nil, err
		}
		if next < 0 {
			break
		}
		if next < size && next > starts[len(starts)-1] {
			starts = append(starts, next)
		}
	}
	return append(starts, size), nil
}

// recordBehind returns where the first record begins at or after a byte, -1 if none does within most bytes. A record begins at from.
func (f *inputFile) recordBehind(src *textStream, begin func(text []byte, at int) int, at, from, most int64) (int64, error) {
	if at <= from {
		return from, nil
	}
	for window := int64(lineWindow); ; window = min(4*window, most) {
		first, end := max(from, at-window), min(at+window, f.size())
		buf := make([]byte, end-first)
		src.at = first
		if _, err := io.ReadFull(src, buf); err != nil {
			return 0, fmt.Errorf("find the records of %s: %w", f.Path, err)
		}
		if next := begin(buf, int(at-first)); next >= 0 {
			return first + int64(next), nil
		}
		if end == f.size() || window == most {
			return -1, nil
		}
	}
}
