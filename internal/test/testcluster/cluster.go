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

// Cluster is a running cluster, started by this process or attached to. Use Stop or Close when done.
type Cluster struct {
	layout layout
	lib    string // HBase's jars and its clients'
	// hadoopLib has the jars of ZooKeeper and of HDFS of the default version, hdfsLib those of the cluster's HDFS, while the cluster is started.
	hadoopLib, hdfsLib string
	yarnLib            string // those of YARN and of Streaming, empty without
	kmsLib             string // those of the KMS, empty without
	classes            string
	java               string
	log                *slog.Logger
	timeout            time.Duration
	spawner            *spawner
	// temporary is the directory to remove at the end, with the lock that shows others that it is in
	// use; empty and nil when the caller gave the directory.
	temporary string
	unlock    func()

	proberStart sync.Mutex // held while the prober's JVM is started

	mu      sync.Mutex // guards what follows, and each write of the state file
	state   *state
	admins  map[string]*Admin // by user
	prober  *Admin            // the JVM that asks a secured HBase how it is
	stopped bool
}

func (c *Cluster) command(role Role) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Daemons[role].Command
}

// Attach gives the cluster whose configuration is in confDir, started by another process.
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

// Daemon returns the handle of one daemon, nil when the cluster has no such role.
func (c *Cluster) Daemon(role Role) *Daemon {
	if !slices.Contains(c.state.Roles, role) {
		return nil
	}
	return &Daemon{cluster: c, role: role}
}

// Roles returns the cluster's roles in the order in which they need each other.
func (c *Cluster) Roles() []Role { return slices.Clone(c.state.Roles) }

// Dir holds all the cluster's files.
func (c *Cluster) Dir() string { return c.layout.dir }

// ConfDir holds core-site.xml, hdfs-site.xml, hbase-site.xml and zoo.cfg; it serves as HADOOP_CONF_DIR
// and as HBASE_CONF_DIR. Of a secured cluster it holds what clients know; the daemons have more.
func (c *Cluster) ConfDir() string { return c.layout.conf() }

// DaemonConfDir holds the same files as the daemons read them when they start.
func (c *Cluster) DaemonConfDir() string { return c.layout.daemonConf() }

// LibDir holds the jars.
func (c *Cluster) LibDir() string { return c.lib }

// ZooKeeper is HBase's quorum as host:port.
func (c *Cluster) ZooKeeper() string { return local(c.state.Ports.ZooKeeper) }

// HDFS returns the file system's URI, without a slash at the end.
func (c *Cluster) HDFS() string { return hdfsURI(c.state.Ports, c.state.HA) }

// Ports returns all ports of the cluster.
func (c *Cluster) Ports() Ports { return c.state.Ports }

// WaitReady waits until every daemon that has a running process serves; see [Daemon.WaitReady]. A daemon
// that was killed and not restarted is not waited for.
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
