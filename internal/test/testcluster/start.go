package testcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Start starts a cluster and returns when it serves: HDFS out of safe mode with its DataNodes, HBase's master
// initialised, the region servers reported, hbase:meta open, /tmp and the user's home directory created. On an error
// nothing is left running, and the error ends with the daemon's last log lines. The first start on a machine
// downloads the jars, about 120 MB. Clusters of one user start in sequence: concurrent starts would exceed their time
// limits.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	lib, err := JarsOf(ctx, o.HBase)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, lib)
	if err != nil {
		return nil, err
	}
	if c.hadoopLib, err = Jars(ctx); err != nil {
		return nil, err
	}
	if c.hdfsLib, err = hdfsJars(ctx, o.Hadoop); err != nil {
		return nil, err
	}
	if o.YARN {
		if c.yarnLib, err = cachedJars(ctx, "yarn.xml", "yarn-", ""); err != nil {
			return nil, err
		}
	}
	if o.KMS {
		if c.kmsLib, err = cachedJars(ctx, "kms.xml", "kms-", ""); err != nil {
			return nil, err
		}
	}
	c.log, c.timeout = o.Log, o.StartTimeout
	unlock, err := startLock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := c.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if err := c.startAll(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if err := c.archiveClasses(ctx); err != nil {
		c.log.Warn("no class-data archive: clusters start slower", "error", err)
	}
	return c, nil
}

// startLock waits until no other cluster of this user is starting.
func startLock(ctx context.Context) (unlock func(), err error) {
	dir, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	return lockFile(ctx, filepath.Join(dir, "start.lock"))
}

// newCluster returns a cluster with everything that does not need its directory.
func newCluster(ctx context.Context, lib string) (*Cluster, error) {
	java, err := tool("java")
	if err != nil {
		return nil, err
	}
	classes, err := classes(ctx, lib)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		lib: lib, classes: classes, java: java,
		log: slog.New(slog.DiscardHandler), timeout: defaultStartTimeout, spawner: newSpawner(),
		admins: map[string]*Admin{},
	}, nil
}

// prepare creates the directory with all files that the daemons read.
func (c *Cluster) prepare(ctx context.Context, o Options) error {
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, c.unlock, err = temporaryDir(ctx, c.log); err != nil {
			return err
		}
		c.temporary = dir
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c.layout = layout{dir}
	if old, err := readState(dir); err == nil {
		if running := old.running(); len(running) > 0 {
			return fmt.Errorf("%s holds a running test cluster (%v): stop it first", dir, running)
		}
	} else if !errors.Is(err, ErrNoCluster) {
		return err
	}
	// Containers of a cluster that was killed.
	if err := endContainers(ctx, c.layout.nodes()); err != nil {
		return err
	}
	if err := c.layout.clear(); err != nil {
		return err
	}
	ports, err := pickPorts(o.Port, o.DataNodes, o.RegionServers, o.NodeManagers)
	if err != nil {
		return err
	}
	if err := c.layout.write(o, ports, c.yarnLib); err != nil {
		return err
	}
	if o.YARN {
		if err := c.layout.writeYARN(ctx, o, c.yarnLib, c.java); err != nil {
			return err
		}
	}
	if o.KMS {
		if err := c.layout.writeKMS(o, ports); err != nil {
			return err
		}
	}
	if o.Security.TLS != "" {
		if err := c.makeStores(ctx); err != nil {
			return err
		}
	}
	roles := startOrder(o.Security.Kerberos, o.KMS, o.nameNodes(), o.DataNodes, o.RegionServers, o.NodeManagers)
	if o.WithoutHBase {
		roles = slices.DeleteFunc(roles, func(r Role) bool { return r == ZooKeeper || r.part() == ofHBase })
	}
	c.state = &state{
		Version: stateVersion, Dir: dir, Lib: c.lib, YARNLib: c.yarnLib, Detached: o.Detached, HA: o.HA, HBase: o.HBase, Security: o.Security, Ports: ports,
		Roles: roles, Daemons: map[Role]*daemonState{},
	}
	for _, role := range c.state.Roles {
		lib := cmp.Or(map[part]string{ofHDFS: c.hdfsLib, ofHBase: c.lib, ofYARN: c.yarnLib}[role.part()], c.hadoopLib)
		argv := daemonCommand(c.java, lib, c.classes, c.layout, ports, role, o)
		switch role {
		case KDC:
			if argv, err = kdcCommand(c.layout); err != nil {
				return err
			}
		case KMS:
			argv = kmsCommand(c.java, lib, c.kmsLib, c.layout, o)
		}
		c.state.Daemons[role] = &daemonState{Command: argv}
	}
	return c.state.write()
}

// startAll starts each daemon as early as possible: most of a start is the loading of classes in the JVMs, which both
// cores can do for several at once. DataNode and region server wait for their dependencies themselves. The master
// does not: it aborts if the NameNode refuses its first call, or has no DataNode for its first file.
func (c *Cluster) startAll(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.StartTimeout, fmt.Errorf("not up within %s", o.StartTimeout))
	defer cancel()
	if o.Security.Kerberos {
		if err := c.startKDC(ctx, o.Security); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	const formatted Role = "" // stands for the first format of the NameNode
	done := map[Role]chan struct{}{formatted: make(chan struct{})}
	for _, role := range c.state.Roles {
		done[role] = make(chan struct{})
	}
	await := func(roles ...Role) error {
		for _, role := range roles {
			if done[role] == nil {
				continue // not in this cluster
			}
			select {
			case <-done[role]:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}
	after := map[Role][]Role{
		NameNode: {JournalNode}, NameNode.Nth(2): {formatted}, DataNode: {formatted}, RegionServer: {formatted},
		Master: {NameNode, DataNode}, NodeManager: {NameNode}, HistoryServer: {NameNode},
	}
	for _, role := range c.state.Roles {
		if role == KDC {
			continue
		}
		g.Go(func() error {
			gates := after[role]
			if gates == nil {
				gates = after[role.base()]
			}
			if err := await(gates...); err != nil {
				return err
			}
			if role == NameNode {
				if err := c.format(ctx); err != nil {
					return err
				}
				close(done[formatted])
			}
			if err := c.spawn(ctx, role, c.command(role)); err != nil {
				return err
			}
			if err := c.Daemon(role).WaitReady(ctx); err != nil {
				return err
			}
			if role == NameNode {
				if c.state.HA {
					if err := await(NameNode.Nth(2)); err != nil {
						return err
					}
					if err := c.activate(ctx, NameNode); err != nil {
						return err
					}
				}
				// Before the master, which may not create its own directory if it is not a superuser.
				if err := c.makeHomes(ctx); err != nil {
					return err
				}
				if err := await(KMS); err != nil {
					return err
				}
				if err := c.MakeZones(ctx, o.Zones); err != nil {
					return err
				}
			}
			close(done[role])
			return nil
		})
	}
	return g.Wait()
}
