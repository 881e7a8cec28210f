package loader

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase/region"
	"golang.org/x/sync/semaphore"
)

const (
	// quickLoads is how many loads one region server has at a time as long as they are quick, and quick how long such a one
	// takes: a rename and a look into a small file, after which a handler is free at once.
	quickLoads = 8
	quick      = 500 * time.Millisecond
	// slowLoads is how many it has at a time otherwise.
	slowLoads = 2
	// keptLine is how long a connection may have been idle that is used for a further load. One that a server has closed
	// meanwhile would take a request that is never answered.
	keptLine = time.Second
)

// pace is how many loads one region server has at a time: perServer, which may be slow, or more as long as they are quick.
type pace struct {
	most int
	each int64 // what a slow one takes of the room for most
	room *semaphore.Weighted
	slow atomic.Bool // the last one that was answered
}

func newPace(perServer int) *pace {
	if perServer > 0 { // asked for
		return &pace{most: perServer, each: 1, room: semaphore.NewWeighted(int64(perServer))}
	}
	return &pace{most: quickLoads, each: quickLoads / slowLoads, room: semaphore.NewWeighted(quickLoads)}
}

// enter waits for the room of a load. leave gives it back.
func (p *pace) enter(ctx context.Context) (leave func(), err error) {
	n := int64(1)
	if p.slow.Load() {
		n = p.each
	}
	if err := p.room.Acquire(ctx, n); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { p.room.Release(n) }, nil
}

// line is the connection of one goroutine to a region server for its loads, one after the other: it has the long timeout,
// and nothing else can break it.
type line struct {
	pace *pace
	addr string
	link *link // nil: none
	used time.Time
}

// open gives the connection for one load.
func (a *line) open(ctx context.Context, c *Cluster, addr string) (*link, error) {
	if a.link != nil && a.addr == addr && time.Since(a.used) < keptLine && a.link.tap.failure() == nil {
		a.link.hello = a.link.tap.written.Load() // of this load nothing was sent yet
		return a.link, nil
	}
	a.drop()
	conn, err := c.dial(ctx, addr, region.RegionClient, c.cfg.LoadTimeout)
	if err != nil {
		return nil, err
	}
	a.link, a.addr = conn, addr
	return conn, nil
}

// answered takes the outcome of a load. Only a connection that gave its answer is used again.
func (a *line) answered(took time.Duration, err error) {
	a.pace.slow.Store(took > quick)
	if a.used = time.Now(); err != nil {
		a.used = time.Time{}
	}
}

func (a *line) drop() {
	if a.link != nil {
		a.link.close()
		a.link = nil
	}
}
