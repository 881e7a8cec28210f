package loader

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"bulkload/internal/hadoop/hbaserpc"
)

const (
	// quickLoads is the number of concurrent loads per region server as long as they are quick; quick is the longest time of a quick load:
	// a rename and a look into a small file, after which a handler is free at once.
	quickLoads = 8
	quick      = 500 * time.Millisecond
	// slowLoads is the number of concurrent loads otherwise.
	slowLoads = 2
	// keptLine is how long a connection may have been idle and still be used for another load. A connection that a server has closed
	// meanwhile would take a request that is never answered.
	keptLine = time.Second
)

// pace limits the concurrent loads of one region server: to perServer, which may be slow, or to more as long as they are quick.
type pace struct {
	most int
	each int64 // weight of a slow load in room
	room *semaphore.Weighted
	slow atomic.Bool // whether the last answered load was slow
}

func newPace(perServer int) *pace {
	if perServer > 0 { // configured
		return &pace{most: perServer, each: 1, room: semaphore.NewWeighted(int64(perServer))}
	}
	return &pace{most: quickLoads, each: quickLoads / slowLoads, room: semaphore.NewWeighted(quickLoads)}
}

// enter waits for room for a load. leave releases it.
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

// line is the connection of one goroutine to a region server for its loads, one after the other: it has the long timeout, and no other call
// can break it.
type line struct {
	pace *pace
	addr string
	link *hbaserpc.Connection // nil: none
	used time.Time
}

// open returns the connection for one load.
func (a *line) open(ctx context.Context, c *Cluster, addr string) (*hbaserpc.Connection, error) {
	if a.link != nil && a.addr == addr && time.Since(a.used) < keptLine && a.link.Renew() {
		return a.link, nil
	}
	a.drop()
	conn, err := c.rpc.Dial(ctx, addr, hbaserpc.ClientService, c.cfg.LoadTimeout)
	if err != nil {
		return nil, err
	}
	a.link, a.addr = conn, addr
	return conn, nil
}

// answered records the outcome of a load. A connection is used again only after an answer without an error.
func (a *line) answered(took time.Duration, err error) {
	a.pace.slow.Store(took > quick)
	if a.used = time.Now(); err != nil {
		a.used = time.Time{}
	}
}

func (a *line) drop() {
	if a.link != nil {
		a.link.Close()
		a.link = nil
	}
}
