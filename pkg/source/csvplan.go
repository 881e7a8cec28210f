package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"

	"bulkload/internal/formats/rfc4180"
	"bulkload/internal/formats/swar"
)

// planCSV finds where splits of a CSV file can begin, without parsing it. It returns the beginnings of all splits, followed by the end of
// the last.
//
// The file is cut into blocks of the length of a split, which are examined independently, several at a time. Whether a block begins within
// a quoted field is not known then, so both cases are followed: for each, where the first record begins, and whether every quote of the
// block is at a position where a quote may be. Afterwards the number of quotes in all preceding blocks decides the case.
//
// Why this agrees with a parser that reads the file from its beginning: let every quote that has an even number of quotes before it be at
// the beginning of a field (after a comma, a line feed, the beginning of the data) or directly after another quote, and every other quote
// at the end of a field (before a comma, a line end, the end of the file) or directly before another quote. By induction over the quotes,
// the parser then is outside of quotes exactly where their number is even: it opens at the first kind, and at the second it either closes
// or, if a quote follows, has a doubled quote and stays inside, just as two more quotes leave the parity unchanged. So it ends records at
// the line feeds with an even number of quotes before them, and meets no fault of quoting. From the first block on where this does not
// hold, the file is not cut: the rest is one split and is read as by one reader, including its faults. Thus the records never depend on the
// size of a split.
func (f *inputFile) planCSV(ctx context.Context, o *Options, comma byte) ([]int64, error) {
	return f.planBlocks(ctx, o, func(ctx context.Context, src *textStream, from, to int64) (quotedBlock, error) {
		b, err := f.planBlock(ctx, src, from, to, comma)
		return quotedBlock{[2]int{b.Quotes & 1, 1 - b.Quotes&1}, b.Start, b.Faulty}, err
	})
}

// quotedBlock describes a part of a file for both cases: beginning outside [0] or inside [1] of quotes.
type quotedBlock struct {
	inside [2]int   // it ends inside: 1
	start  [2]int64 // where the first record begins, 0 if none does
	faulty [2]bool  // a quote is at a position where none may be
}

// planBlocks examines blocks of the length of a split independently. The preceding blocks decide the case of each. From a block with a
// misplaced quote on, the file is not cut.
func (f *inputFile) planBlocks(ctx context.Context, o *Options, look func(ctx context.Context, src *textStream, from, to int64) (quotedBlock, error)) ([]int64, error) {
	size, step := f.size(), o.SplitSize
	starts := []int64{f.dataStart}
	if size-f.dataStart <= step {
		return append(starts, size), nil
	}
	blocks := make([]quotedBlock, (size-f.dataStart+step-1)/step)
	err := f.overBlocks(ctx, len(blocks), step, func(ctx context.Context, src *textStream, i int) (err error) {
		from := f.dataStart + int64(i)*step
		blocks[i], err = look(ctx, src, from, min(from+step, size))
		return err
	})
	if err != nil {
		return nil, err
	}
	inside := 0
	for i, b := range blocks {
		if b.faulty[inside] {
			break
		}
		if start := b.start[inside]; i > 0 && start > starts[len(starts)-1] && start < size {
			starts = append(starts, start)
		}
		inside = b.inside[inside]
	}
	return append(starts, size), nil
}

// overBlocks calls look for n blocks of the file, each of a length, with all cores.
func (f *inputFile) overBlocks(ctx context.Context, n int, length int64, look func(ctx context.Context, src *textStream, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	workers := min(runtime.GOMAXPROCS(0), n)
	for w := range workers {
		g.Go(func() (err error) {
			src, err := f.openText(ctx, 0)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, src.Close()) }()
			// One worker gets neighbouring blocks: few places of the file are read at a time.
			first, end := n*w/workers, n*(w+1)/workers
			src.within(f.dataStart+int64(first)*length, min(f.dataStart+int64(end)*length, f.size()))
			for i := first; i < end; i++ {
				if err := look(ctx, src, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// planChunk is the number of bytes of a block that are read at a time.
const planChunk = 256 << 10

// planBlock examines the bytes [from, to) of the file.
func (f *inputFile) planBlock(ctx context.Context, src *textStream, from, to int64, comma byte) (b rfc4180.Block, err error) {
	// Every chunk has one byte before it and two after it, as far as the file has them.
	buf := make([]byte, min(planChunk, int(to-from))+3+swar.Block)
	if from == f.dataStart {
		b.Start[0] = from
	}
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return b, err
		}
		n := int(min(planChunk, to-at))
		lead := int(min(1, at-f.dataStart))
		more := int(min(2, f.size()-at-int64(n)))
		src.at = at - int64(lead)
		if _, err := io.ReadFull(src, buf[1-lead:1+n+more]); err != nil {
			return b, fmt.Errorf("find the records of %s: %w", f.Path, err)
		}
		if lead == 0 {
			buf[0] = '\n' // a field may begin
		}
		if more < 2 {
			buf[1+n+more], buf[2+n+more] = '\n', '\n' // a field may end
		}
		if at == from && buf[0] == '\n' && b.Start[0] == 0 {
			b.Start[0] = at
		}
		b.Scan(buf, n, at, comma)
		at += int64(n)
	}
	return b, nil
}
