package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/tsuna/gohbase/pb"

	"bulkload/internal/base/retry"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/internal/hadoop/registry"
	"bulkload/pkg/kerberos"
	"bulkload/pkg/setting"
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

// Config holds the addresses of the cluster, the user and the timeouts.
type Config struct {
	// Quorum lists ZooKeeper's servers, host:port separated by commas. Required without Registry.
	Quorum string
	// Root is HBase's znode. Default /hbase.
	Root string
	// Registry lists servers, host:port, that are asked for HBase's locations in place of ZooKeeper: its RPC registry. Masters answer since
	// HBase 2.3, region servers since 2.5. One that answers is enough, at most 64. Default: ZooKeeper is asked.
	Registry []string
	// RegistryMasters says that the servers of Registry are masters, which matters where masters have a Kerberos principal of their own.
	RegistryMasters bool
	// EffectiveUser is the user of all calls. Without Kerberos the servers trust it; with Kerberos it is the whole principal. Loads need it
	// to be the user that owns the files on HDFS. Required.
	EffectiveUser string
	// Owner is the effective user's name as a file owner on HDFS. Default: the effective user.
	Owner string
	// Dialer makes the connections to the master and the region servers, as net.Dialer.DialContext does. Default: TCP.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Secure authenticates on a connection to the master or to a region server of that host name, and returns one to use like a connection
	// without security. It closes the connection on failure. Nil: the cluster has no security.
	Secure func(ctx context.Context, nc net.Conn, host string, master bool) (net.Conn, error)
	// Token returns the HDFS delegation token with which a region server reads a file as the user. Nil: the cluster has no security; the
	// server then reads files as itself.
	Token func(ctx context.Context, file string) (*kerberos.Token, error)
	// DialTimeout bounds a connect. Default 20 s.
	DialTimeout time.Duration
	// LookupTimeout bounds one look into ZooKeeper, or one round of questions to the RPC registry. Default 15 s.
	LookupTimeout time.Duration
	// CallTimeout bounds the answer to an ordinary call. A region server may take half of hbase.rpc.timeout (60 s) for a
	// step of a scan that finds nothing. A call whose server answers later ones waits three times as long. Default 60 s.
	CallTimeout time.Duration
	// RetryTimeout is how long repeatable calls are repeated while a server, the master or a region is unavailable. Default 2 min.
	RetryTimeout time.Duration
	// ProcedureTimeout bounds the wait for a procedure of the master, such as the creation of a table or a snapshot. Default 5 min.
	ProcedureTimeout time.Duration
	// LoadTimeout bounds the answer to one load. A rename that HDFS refuses is repeated by the server for 55 s, waiting for
	// the region's lock can take another 60 s, and files on another file system are copied during the call. Default and
	// least value 10 min.
	LoadTimeout time.Duration
	// LoadGrace is how long a load continues once its context has ended: the first half for the answers to calls in flight, the rest for
	// resolving the outcome of files without an answer, and for cleaning up. Unresolved outcomes are left for the next attempt. Default 8
	// s.
	LoadGrace time.Duration
	// StageQuiet is how long a file must be still in the staging directory, after a lost answer, before it is taken back
	// from there. The server moves it on within milliseconds unless it was stopped in between. A third of it is between two
	// looks whether a region has left a server that does not answer. Default 30 s.
	StageQuiet time.Duration
	// SettleTimeout bounds the search for files after a lost answer. Default 5 min.
	SettleTimeout time.Duration
	// RootDir is HBase's directory (hbase.rootdir), needed to find a loaded file in its store. Default: not known; a file that is neither
	// at its source nor in the staging directory can then only be found by its cells in the table ([LoadRequest.Timestamp]).
	RootDir string
}

func (c Config) withDefaults() Config {
	c.Root = cmp.Or(c.Root, "/hbase")
	c.Owner = cmp.Or(c.Owner, c.EffectiveUser)
	if c.Dialer == nil {
		c.Dialer = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	c.DialTimeout = cmp.Or(c.DialTimeout, 20*time.Second)
	c.LookupTimeout = cmp.Or(c.LookupTimeout, 15*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, time.Minute)
	c.RetryTimeout = cmp.Or(c.RetryTimeout, 2*time.Minute)
	c.ProcedureTimeout = cmp.Or(c.ProcedureTimeout, 5*time.Minute)
	c.LoadTimeout = max(c.LoadTimeout, 10*time.Minute)
	c.LoadGrace = cmp.Or(c.LoadGrace, 8*time.Second)
	c.StageQuiet = cmp.Or(c.StageQuiet, 30*time.Second)
	c.SettleTimeout = cmp.Or(c.SettleTimeout, 5*time.Minute)
	return c
}

// rpc returns the settings of the connections.
func (c Config) rpc() hbaserpc.Options {
	return hbaserpc.Options{
		User: c.EffectiveUser, Dialer: c.Dialer, Secure: c.Secure, RegistryMasters: c.RegistryMasters, DialTimeout: c.DialTimeout, CallTimeout: c.CallTimeout,
	}
}

// registry returns the settings of the lookups.
func (c Config) registry(log *slog.Logger) registry.Options {
	return registry.Options{Quorum: c.Quorum, Root: c.Root, Servers: c.Registry, DialTimeout: c.DialTimeout, Timeout: c.LookupTimeout, Log: log}
}

// Validate checks the fields without defaults.
func (c Config) Validate() error {
	switch {
	case len(c.Registry) == 0 && strings.Trim(c.Quorum, ", ") == "":
		return errors.New("no ZooKeeper quorum: set HBASE_CONF_DIR or name the servers")
	case c.EffectiveUser == "":
		return errors.New("no effective user for HBase")
	case c.Root != "" && !path.IsAbs(c.Root):
		return errors.New("the HBase znode " + c.Root + " does not begin with a slash")
	}
	return registry.CheckServers(c.Registry)
}
