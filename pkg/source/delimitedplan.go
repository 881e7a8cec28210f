package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bulkload/pkg/delimited"
)

// planRecords finds where splits of a file of CSV or of a dialect can begin: the beginnings of all and, behind them, the
// end of the last.
func (f *inputFile) planRecords(ctx context.Context, o *Options) ([]int64, error) {
	d := f.dialect
	switch {
	case d == nil:
		return f.planCSV(ctx, o, o.FieldSep.or(','))
	case d.RFC4180():
		return f.planCSV(ctx, o, d.FieldSep[0])
	case d.Cuttable() && d.Quote == "":
		return f.planLines(ctx, o)
	}
	if d.Cuttable() {
		return f.planQuoted(ctx, o)
	}
	return []int64{f.dataStart, f.size()}, nil // one split
}

// lineWindow is how much is read to find where a record begins, at first.
const lineWindow = 64 << 10

// planLines cuts a file whose records end at every separator of records that no escape precedes: each split begins with
// the first record at or behind its place.
func (f *inputFile) planLines(ctx context.Context, o *Options) (starts []int64, err error) {
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
	s := delimited.New(f.dialect, 1, f.decoder())
	for at := f.dataStart + o.SplitSize; at < size; at += o.SplitSize {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next, err := f.recordBehind(src, s, at, starts[len(starts)-1])
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

// recordBehind is where the first record begins at or behind a byte, -1 if none does. A record begins at from.
func (f *inputFile) recordBehind(src *textStream, s *delimited.Scanner, at, from int64) (int64, error) {
	if at <= from {
		return from, nil
	}
	for window := int64(lineWindow); ; window *= 4 {
		begin, end := max(from, at-window), min(at+window, f.size())
		buf := make([]byte, end-begin)
		src.at = begin
		if _, err := io.ReadFull(src, buf); err != nil {
			return 0, fmt.Errorf("find the records of %s: %w", f.path, err)
		}
		if next := s.Start(buf, int(at-begin)); next >= 0 {
			return begin + int64(next), nil
		}
		if end == f.size() {
			return -1, nil
		}
	}
}
