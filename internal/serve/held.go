package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/model/fail"
	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"
)

// Cluster is the cluster that the service reads: a *[loader.Cluster].
type Cluster interface {
	query.Cluster
	Close() error
}

// errNotDialed is the error while the cluster has not been found.
var errNotDialed = errors.New("HBase was not found yet")

// held is one open cluster for all requests. It is dialed until that succeeds; from then on it locates moved regions
// itself. Before that, all calls return an error at once.
type held struct {
	dial   func(ctx context.Context) (Cluster, error)
	dialed func() // called after success
	log    *slog.Logger

	mu      sync.Mutex
	cluster Cluster
	err     error
}

// run dials the cluster, and closes it when the context ends. It returns an error of the configuration at once, since no further attempt helps.
func (h *held) run(ctx context.Context) error {
	for tries := 1; ; tries++ {
		c, err := h.dial(ctx)
		h.mu.Lock()
		h.cluster, h.err = c, err
		h.mu.Unlock()
		if err == nil {
			h.dialed()
			break
		}
		if fail.KindOf(err) == fail.Config {
			return err
		}
		wait, _ := retry.Policy{First: 500 * time.Millisecond, Most: 10 * time.Second, For: time.Hour}.Next(time.Now(), tries)
		if ctx.Err() == nil {
			h.log.Warn("HBase is not found, trying again", "try", tries, "wait", wait, "error", err)
		}
		if retry.Sleep(ctx, wait) != nil {
			return nil
		}
	}
	<-ctx.Done()
	h.mu.Lock()
	c := h.cluster
	h.cluster, h.err = nil, loader.ErrClosed
	h.mu.Unlock()
	if err := c.Close(); err != nil {
		h.log.Debug("connection to HBase not closed", "error", err)
	}
	return nil
}

// get returns the cluster; the error wraps errNotDialed.
func (h *held) get() (Cluster, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cluster == nil {
		return nil, errors.Join(errNotDialed, h.err)
	}
	return h.cluster, nil
}

func (h *held) Scan(ctx context.Context, req loader.ScanRequest, fn func(loader.Row) error) error {
	c, err := h.get()
	if err != nil {
		return err
	}
	return c.Scan(ctx, req, fn)
}

func (h *held) KnownRegions(ctx context.Context, table loader.TableName) ([]loader.Region, error) {
	c, err := h.get()
	if err != nil {
		return nil, err
	}
	return c.KnownRegions(ctx, table)
}

func (h *held) Regions(ctx context.Context, table loader.TableName) ([]loader.Region, error) {
	c, err := h.get()
	if err != nil {
		return nil, err
	}
	return c.Regions(ctx, table)
}

func (h *held) Describe(ctx context.Context, table loader.TableName) (*loader.Table, error) {
	c, err := h.get()
	if err != nil {
		return nil, err
	}
	return c.Describe(ctx, table)
}
