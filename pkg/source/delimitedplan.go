package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/internal/formats/delimited"
)

// planRecords finds where splits of a file of CSV or of a dialect can begin: the beginnings of all and, after them, the
// end of the last.
func (f *inputFile) planRecords(ctx context.Context, o *Options) ([]int64, error) {
	d := f.dialect
	switch {
	case f.format == FormatJSON:
		return f.planLines(ctx, o, lineStart)
	case d == nil:
		return f.planCSV(ctx, o, o.FieldSep.or(','))
	case d.RFC4180():
		return f.planCSV(ctx, o, d.FieldSep[0])
	case d.Cuttable() && d.Quote == "":
		return f.planLines(ctx, o, delimited.New(d, 1, f.decoder()).Start)
	}
	if d.Cuttable() {
		return f.planQuoted(ctx, o)
	}
	return []int64{f.dataStart, f.size()}, nil // one split
}

// lineWindow is how much is read to find where a record begins, at first.
const lineWindow = 64 << 10

// planLines cuts a file where the bytes next to a place show that a record begins there: each split begins with the first
// record at or after its place. begin is where that is in text, at or after a byte that is not its first; -1 if none does.
func (f *inputFile) planLines(ctx context.Context, o *Options, begin func(text []byte, at int) int) (starts []int64, err error) {
	size := f.size()
	starts = append(starts, f.dataStart)
	if size-f.dataStart <= o.SplitSize {
		return append(starts, size), nil
	}
	src, err := f.openText(ctx, 0, lineWindow)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	for at := f.dataStart + o.SplitSize; at < size; at += o.SplitSize {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := f.recordBehind(src, begin, at, starts[len(starts)-1])
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

// recordBehind is where the first record begins at or after a byte, -1 if none does. A record begins at from.
func (f *inputFile) recordBehind(src *textStream, begin func(text []byte, at int) int, at, from int64) (int64, error) {
	if at <= from {
		return from, nil
	}
	for window := int64(lineWindow); ; window *= 4 {
		first, end := max(from, at-window), min(at+window, f.size())
		buf := make([]byte, end-first)
		src.at = first
		if _, err := io.ReadFull(src, buf); err != nil {
			return 0, fmt.Errorf("find the records of %s: %w", f.path, err)
		}
		if next := begin(buf, int(at-first)); next >= 0 {
			return first + int64(next), nil
		}
		if end == f.size() {
			return -1, nil
		}
	}
}
