package source

import (
	"context"
	"fmt"
	"io"

	"bulkload/internal/formats/delimited"
)

// planQuoted is planCSV for dialects whose quotes have escapes.
func (f *inputFile) planQuoted(ctx context.Context, o *Options) ([]int64, error) {
	s := delimited.New(f.dialect, 1, f.decoder()) // blocks change nothing in it
	return f.planBlocks(ctx, o, func(ctx context.Context, src *textStream, from, to int64) (quotedBlock, error) {
		return f.quotedBlock(ctx, src, s, from, to)
	})
}

// quotedBlock examines the bytes [from, to) of the file.
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
			return q, fmt.Errorf("find the records of %s: %w", f.Path, err)
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
