package build

import (
	"context"
	"errors"
	"sync/atomic"

	"bulkload/internal/model/fail"
)

const (
	// completing is the maximum number of regions that all workers together complete at a time.
	completing = 32
	// completingBytes limits the size of these files for each worker, in addition to one file of any size: the unwritten part of a
	// file is in memory.
	completingBytes = 1 << 20
)

// takeRegions writes regions, one after the other, until none are left.
//
// Completing a file means waiting for responses, or for a disk. Meanwhile the next regions are encoded: up to most at a
// time if they are small. The number rises by one with each success, so that little is written in vain where writing is
// impossible. A failed file is rewritten alone, so that no worker merges two regions at a time, and only when the encoded region is
// being completed: it holds a slot for uploads until then, and there may be no second one.
func takeRegions(ctx context.Context, regions []tableRegion, next *atomic.Int64, most int) error {
	c := &completions{done: make(chan completion, most)}
	for i := int(next.Add(1)) - 1; i < len(regions) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
		now := regions[i]
		p, err := now.writers.encode(ctx, now.region, 0)
		if err == nil {
			bytes := p.bytes()
			// Each but the first is limited by size.
			failed := c.wait(func() bool {
				return c.count == 0 || c.count < min(most, 1+c.good) && c.bytes+bytes <= completingBytes
			})
			c.begin(ctx, now, p, bytes)
			err = rewriteAll(ctx, failed)
		} else {
			err = rewriteAll(ctx, append(c.wait(c.isEmpty), completion{region: now, err: err}))
		}
		if err != nil {
			return c.end(err)
		}
	}
	return rewriteAll(ctx, c.wait(c.isEmpty))
}

// completions tracks the regions that one worker is completing.
type completions struct {
	done  chan completion
	count int   // being completed
	bytes int64 // their size
	good  int   // completed without an error
}

// completion is a finished completion.
type completion struct {
	region tableRegion
	bytes  int64
	err    error
}

func (c *completions) isEmpty() bool { return c.count == 0 }

// begin starts to complete a region.
func (c *completions) begin(ctx context.Context, r tableRegion, p *pendingRegion, bytes int64) {
	c.count, c.bytes = c.count+1, c.bytes+bytes
	go func() { c.done <- completion{r, bytes, r.writers.complete(ctx, p)} }()
}

// take waits for one completion.
func (c *completions) take() completion {
	ended := <-c.done
	c.count, c.bytes = c.count-1, c.bytes-ended.bytes
	return ended
}

// wait waits until enough returns true, takes completions that have ended, and returns the failed ones.
func (c *completions) wait(enough func() bool) (failed []completion) {
	for !enough() || len(c.done) > 0 {
		ended := c.take()
		if ended.err == nil {
			c.good++
		} else {
			failed = append(failed, ended)
		}
	}
	return failed
}

// rewriteAll writes failed regions again, one after the other.
func rewriteAll(ctx context.Context, failed []completion) error {
	for i, f := range failed {
		if err := f.region.rewrite(ctx, f.err); err != nil {
			for _, f := range failed[i+1:] {
				err = joined(err, f.err)
			}
			return err
		}
	}
	return nil
}

// end waits for all completions of a worker that gives up because of err.
func (c *completions) end(err error) error {
	for c.count > 0 {
		err = joined(err, c.take().err)
	}
	return err
}

// joined joins the errors of two files, unless both are about the login: then the first one says all.
func joined(err, other error) error {
	if fail.OtherSecurity(err) && fail.OtherSecurity(other) {
		return err
	}
	return errors.Join(err, other)
}
