package source

import (
	"context"
	"fmt"
	"io"

	"bulkload/internal/formats/delimited"
)

// planQuoted is planCSV for dialects whose quotes have escapes: it follows both cases, that a block begins outside and inside
// of quotes, and the blocks before it decide. From a block on where a quote stands where none may, the file is not cut.
func (f *inputFile) planQuoted(ctx context.Context, o *Options) ([]int64, error) {
	size, step := f.size(), o.SplitSize
	starts := []int64{f.dataStart}
	if size-f.dataStart <= step {
		return append(starts, size), nil
	}
	blocks := make([]quotedBlock, (size-f.dataStart+step-1)/step)
	s := delimited.New(f.dialect, 1, f.decoder()) // blocks change nothing in it
	err := f.overBlocks(ctx, len(blocks), func(ctx context.Context, src *textStream, i int) (err error) {
		from := f.dataStart + int64(i)*step
		blocks[i], err = f.quotedBlock(ctx, src, s, from, min(from+step, size))
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

// quotedBlock is a [delimited.Block] of any length, with places in the file: 0 when no record begins in it.
type quotedBlock struct {
	inside [2]int
	start  [2]int64
	faulty [2]bool
}

// quotedBlock looks at the bytes [from, to) of the file.
func (f *inputFile) quotedBlock(ctx context.Context, src *textStream, s *delimited.Scanner, from, to int64) (q quotedBlock, err error) {
	q.inside = [2]int{0, 1}
	buf := make([]byte, delimited.Lead+min(planChunk, to-from)+delimited.Lookahead+delimited.Slack)
	for at := from; at < to; {
		if err := ctx.Err(); err != nil {
			return q, err
		}
		n := min(planChunk, to-at)
		lead := min(delimited.Lead, at-f.dataStart)
		more := min(delimited.Lookahead, f.size()-at-n)
		src.at = at - lead
		text := buf[:lead+n+more+delimited.Slack]
		if _, err := io.ReadFull(src, text[:lead+n+more]); err != nil {
			return q, fmt.Errorf("find the records of %s: %w", f.path, err)
		}
		b := s.Block(text, int(lead+n+more), int(lead), int(lead+n), at-lead == f.dataStart, at+n+more == f.size())
		for h, now := range q.inside {
			if b.Start[now] >= 0 && q.start[h] == 0 {
				q.start[h] = at - lead + int64(b.Start[now])
			}
			q.faulty[h] = q.faulty[h] || b.Faulty[now]
			q.inside[h] = 0
			if b.Inside[now] {
				q.inside[h] = 1
			}
		}
		at += n
	}
	return q, nil
}
