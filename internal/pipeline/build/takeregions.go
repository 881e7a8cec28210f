package build

import (
	"context"
	"errors"
	"sync/atomic"
)

const (
	// completing is how many regions all workers together complete at a time at most.
	completing = 32
	// completingBytes bounds the files of them, in addition to one of any size, for each worker: what of a file is not written yet is
	// in memory.
	completingBytes = 1 << 20
)

// takeRegions writes regions, one after the other, until all are taken.
//
// Completing a file is waiting for answers, or for a disk, so the next ones are encoded meanwhile: up to most at a time, if
// they are small, and one at a time more with each that went well, so that few are written in vain where nothing can be. A
// file that failed is written again by itself, so that no worker merges two regions at a time.
func takeRegions(ctx context.Context, regions []tableRegion, next *atomic.Int64, most int) error {
	c := &completions{done: make(chan completion, most)}
	for i := int(next.Add(1)) - 1; i < len(regions) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
		now := regions[i]
		p, err := now.w.encode(ctx, now.region, 0)
		if err == nil {
			bytes := p.bytes()
			// Each but the first has its room.
			failed := c.wait(ctx, func() bool {
				return c.count == 0 || c.count < min(most, 1+c.good) && c.bytes+bytes <= completingBytes
			})
			c.begin(ctx, now, p, bytes)
			err = failed
		} else {
			if failed := c.wait(ctx, c.none); failed != nil {
				err = errors.Join(failed, err)
			} else {
				err = now.again(ctx, err)
			}
		}
		if err != nil {
			return errors.Join(err, c.end())
		}
	}
	if err := c.wait(ctx, c.none); err != nil {
		return errors.Join(err, c.end())
	}
	return nil
}

// completions are the regions of one worker that are being completed.
type completions struct {
	done  chan completion
	count int   // under way
	bytes int64 // of them
	good  int   // that went well
}

// completion is one that has ended.
type completion struct {
	region tableRegion
	bytes  int64
	err    error
}

func (c *completions) none() bool { return c.count == 0 }

// begin completes a region.
func (c *completions) begin(ctx context.Context, r tableRegion, p *pendingRegion, bytes int64) {
	c.count, c.bytes = c.count+1, c.bytes+bytes
	go func() { c.done <- completion{r, bytes, r.w.complete(ctx, p)} }()
}

// take waits for one.
func (c *completions) take() completion {
	ended := <-c.done
	c.count, c.bytes = c.count-1, c.bytes-ended.bytes
	return ended
}

// wait waits for completions until there are few enough, and for those that have ended. What failed is written again.
func (c *completions) wait(ctx context.Context, enough func() bool) error {
	for !enough() || len(c.done) > 0 {
		ended := c.take()
		if ended.err == nil {
			c.good++
		}
		if err := ended.region.again(ctx, ended.err); err != nil {
			return err
		}
	}
	return nil
}

// end waits for all of a worker that gives up.
func (c *completions) end() error {
	var errs []error
	for c.count > 0 {
		errs = append(errs, c.take().err)
	}
	return errors.Join(errs...)
}
