package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/pkg/setting"

	"github.com/tsuna/gohbase/pb"
)

// Cluster is an HBase cluster as one user sees it. It keeps a connection to each server that it has called, and may be used by any number
// of goroutines. Calls wait for an unreachable cluster for the times in Config.
type Cluster struct {
	cfg Config
	log *slog.Logger
	rpc *hbaserpc.Client

	registry *registry.Registry
	regions  regionMap

	mu     sync.Mutex
	warned map[string]warning // retries that the log has at level warn: by server, or call
}

// Dial checks that the cluster can be found, in ZooKeeper or by its RPC registry, and otherwise calls neither the master nor a region server. It
// returns an error of [Config.Validate], or one that [Unavailable] recognizes. A nil log is silent. Close the Cluster after use.
//
// logrus' standard logger, through which gohbase logs, writes nothing from here on: its lines go to log, at level debug.
func Dial(ctx context.Context, cfg Config, log *slog.Logger) (*Cluster, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("dial HBase: %w", err)
	}
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	hbaserpc.TakeLog(log)
	c := newCluster(cfg.withDefaults(), log)
	log.Debug("finding HBase", "by", c.cfg.registry(nil).String())
	if _, err := c.registry.Meta(ctx); err != nil {
		c.Close()
		if len(c.cfg.Registry) > 0 {
			return nil, fmt.Errorf("dial HBase: %w", err)
		}
		return nil, fmt.Errorf("dial HBase at %s%s: %w", c.cfg.Quorum, c.cfg.Root, err)
	}
	return c, nil
}

// newCluster returns a Cluster without connections.
func newCluster(cfg Config, log *slog.Logger) *Cluster {
	c := &Cluster{cfg: cfg, log: log, rpc: hbaserpc.NewClient(cfg.rpc()), warned: map[string]warning{}}
	c.registry = registry.New(c.rpc, cfg.registry(log))
	c.regions.read, c.regions.enabled = c.Regions, c.inService
	return c
}

// ID returns the cluster's UUID (hbase.id in its directory), which also distinguishes it from a cluster that later gets its addresses. It
// comes from ZooKeeper or the RPC registry, else from the master.
func (c *Cluster) ID(ctx context.Context) (string, error) {
	if id, err := c.registry.ID(ctx); err != nil || id != "" {
		return id, err
	}
	var resp pb.GetClusterStatusResponse
	if err := c.master(ctx, "GetClusterStatus", &pb.GetClusterStatusRequest{}, &resp); err != nil {
		return "", fmt.Errorf("ask for the cluster's id: %w", err)
	}
	id := resp.GetClusterStatus().GetClusterId().GetClusterId()
	if id == "" {
		return "", fmt.Errorf("neither the %s nor the master reports the cluster's id", c.cfg.registry(nil).String())
	}
	return id, nil
}

// Close ends all connections. Calls in progress return with an error, later ones with [ErrClosed]. A second call does
// nothing.
func (c *Cluster) Close() error {
	c.rpc.Close()
	return nil
}

// retry repeats an idempotent act for RetryTimeout after its first failure, while its error may pass: [passing] or [repeatable]. After a
// failure the act must look up again what it depends on.
func (c *Cluster) retry(ctx context.Context, what string, passes func(error) bool, act func(attempt int) error) error {
	var started time.Time
	for attempt := 0; ; attempt++ {
		err := act(attempt)
		if err == nil || !passes(err) {
			return err
		}
		if attempt == 0 {
			started = time.Now() // a frozen server takes CallTimeout to fail
		}
		if err := c.pause(ctx, started, attempt, what, err); err != nil {
			return err
		}
	}
}

// nameTimeout is how long calls to a server with an unresolvable name are repeated: it may have just been started under that name.
const nameTimeout = 20 * time.Second

// pause waits before the next attempt, or returns the error to give up with.
func (c *Cluster) pause(ctx context.Context, started time.Time, attempt int, what string, err error) error {
	if c.rpc.Closed() {
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	if attempt == 0 {
		if secured := c.rpc.WantsLogin(ctx, err); secured != nil {
			return fmt.Errorf("%s: %w", what, secured)
		}
	}
	most := c.cfg.RetryTimeout
	if hbaserpc.UnknownHost(err) != "" {
		most = min(most, nameTimeout)
	}
	wait, again := retry.Policy{First: 100 * time.Millisecond, Most: 5 * time.Second, For: most}.Next(started, attempt+1)
	if !again {
		return fmt.Errorf("%s: given up after %s in %s: %w", what, setting.Count(attempt+1, "attempt"), time.Since(started).Round(time.Millisecond), err)
	}
	level, others := slog.LevelDebug, 0
	if first, n := c.firstToWarn(what, err); first {
		level, others = slog.LevelWarn, n
	}
	c.log.Log(ctx, level, "retrying HBase RPC", "call", what, "try", attempt+1, "wait", wait, "others", others, "error", err)
	if err := retry.Sleep(ctx, wait); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// warnEvery is the interval between log entries at level warn about retries for one server, or for the same call, however many callers and
// attempts there are. The others are at level debug.
const warnEvery = 10 * time.Second

// warning is the last warning of its kind, with the number of retries since then that were not logged as warnings.
type warning struct {
	at     time.Time
	others int
}

// firstToWarn reports whether the log has had no warning for a while about the server of an error, or else about the call, and how many
// retries went unlogged since the last one.
func (c *Cluster) firstToWarn(what string, err error) (first bool, others int) {
	key, now := what, time.Now()
	if e, ok := errors.AsType[*ConnectionError](err); ok {
		key = e.Addr
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.warned[key]
	if ok && now.Sub(last.at) < warnEvery {
		last.others++
		c.warned[key] = last
		return false, 0
	}
	for old, w := range c.warned {
		if now.Sub(w.at) >= warnEvery {
			delete(c.warned, old)
		}
	}
	c.warned[key] = warning{at: now}
	return true, last.others
}
