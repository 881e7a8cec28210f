package testcluster

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Cluster is a running cluster that this process has started or attached to. The caller ends with Stop or Close.
type Cluster struct {
	layout layout
	lib    string // jars of HBase and its clients
	// hadoopLib has the jars of ZooKeeper and of HDFS of the default version, hdfsLib those of the cluster's HDFS,
	// during the start.
	hadoopLib, hdfsLib string
	yarnLib            string // jars of YARN and of Streaming, empty without
	kmsLib             string // jars of the KMS, empty without
	classes            string
	java               string
	log                *slog.Logger
	timeout            time.Duration
	spawner            *spawner
	// temporary is the directory to remove at the end, with the lock that marks it as in use; empty and nil if the
	// caller gave the directory.
	temporary string
	unlock    func()

	proberStart sync.Mutex // held while the prober's JVM starts

	mu      sync.Mutex // guards the following fields, and each write of the state file
	state   *state
	admins  map[string]*Admin // by user
	prober  *Admin            // the JVM that asks a secured HBase for its state
	stopped bool
}

func (c *Cluster) command(role Role) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Daemons[role].Command
}

// Attach returns the cluster whose configuration is in confDir, started by another process.
func Attach(ctx context.Context, confDir string) (*Cluster, error) {
	abs, err := filepath.Abs(confDir)
	if err != nil {
		return nil, err
	}
	s, err := readState(filepath.Dir(abs))
	if err != nil {
		return nil, fmt.Errorf("attach to the test cluster of %s: %w", confDir, err)
	}
	c, err := newCluster(ctx, s.Lib)
	if err != nil {
		return nil, err
	}
	c.layout, c.state, c.yarnLib, c.timeout = layout{s.Dir}, s, s.YARNLib, startTimeout(s.Security, s.Ports.YARN != nil)
	return c, nil
}

// Daemon returns the handle of one daemon, or nil if the cluster has no such role.
func (c *Cluster) Daemon(role Role) *Daemon {
	if !slices.Contains(c.state.Roles, role) {
		return nil
	}
	return &Daemon{cluster: c, role: role}
}

// Roles returns the cluster's roles in the order of their dependencies.
func (c *Cluster) Roles() []Role { return slices.Clone(c.state.Roles) }

// Dir returns the directory of all the cluster's files.
func (c *Cluster) Dir() string { return c.layout.dir }

// ConfDir returns the directory of core-site.xml, hdfs-site.xml, hbase-site.xml and zoo.cfg; it serves as
// HADOOP_CONF_DIR and as HBASE_CONF_DIR. For a secured cluster it has the clients' settings; the daemons have more.
func (c *Cluster) ConfDir() string { return c.layout.conf() }

// DaemonConfDir returns the directory of the same files for the daemons.
func (c *Cluster) DaemonConfDir() string { return c.layout.daemonConf() }

// LibDir returns the directory of the jars.
func (c *Cluster) LibDir() string { return c.lib }

// ZooKeeper returns HBase's quorum as host:port.
func (c *Cluster) ZooKeeper() string { return local(c.state.Ports.ZooKeeper) }

// HDFS returns the file system's URI, without a slash at the end.
func (c *Cluster) HDFS() string { return hdfsURI(c.state.Ports, c.state.HA) }

// Ports returns all ports of the cluster.
func (c *Cluster) Ports() Ports { return c.state.Ports }

// WaitReady waits until every daemon with a running process serves; see [Daemon.WaitReady]. It does not wait for a
// daemon that was killed and not restarted.
func (c *Cluster) WaitReady(ctx context.Context) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for _, role := range c.state.Roles {
		d := c.Daemon(role)
		if d.Pid() == 0 {
			continue
		}
		if err := d.WaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("not ready within %s", c.timeout))
}

func (c *Cluster) runningOf(kind Role) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, role := range c.state.running() {
		if role.base() == kind {
			n++
		}
	}
	return n
}
