package testcluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/internal/test/testcheck"
)

// EnvPool names a directory of clusters that test processes pass on to each other: one of each kind, started by the first test that
// needs it. scripts/test sets it and stops the clusters. Without it, [Own] starts a cluster for the test and stops it.
const EnvPool = "BULKLOAD_CLUSTER_POOL"

// Own returns a cluster with the given options that no other test uses until this one ends: the test may end and pause its daemons.
// With EnvPool it waits for the test that uses it, and the cluster has the tables and files that other tests have left. Daemons
// that do not run are started again, and a cluster that does not serve after that is replaced.
//
// With -short the test is skipped.
func Own(t testing.TB, o Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a cluster of its own, which -short leaves out")
	}
	// Not the test's context, which ends before its cleanup.
	c, release, err := own(context.Background(), o)
	testcheck.Must(t, err)
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Harmed returns the options of the cluster for tests that end region servers: two, so that one can replace the
// other.
func Harmed() Options { return Options{RegionServers: 2} }

// SnapshotLife is the lifetime of snapshots that are taken on a [Guarded] cluster without one of their own.
const SnapshotLife = time.Hour

// Guarded returns the options of a cluster with optional features of HBase: access control, with simple authentication and the user of
// the tests as a superuser; space quotas, which servers check each second; replication of bulk loads; and a lifetime of snapshots.
func Guarded() Options {
	const access = "org.apache.hadoop.hbase.security.access.AccessController"
	superusers := []string{HBaseAdmin}
	if u, err := user.Current(); err == nil {
		superusers = append(superusers, u.Username)
	}
	site := map[string]string{
		"hbase.security.authorization": "true", "hbase.superuser": strings.Join(superusers, ","),
		"hbase.coprocessor.master.classes": access, "hbase.coprocessor.regionserver.classes": access, "hbase.coprocessor.region.classes": access,
		"hbase.quota.enabled":                "true",
		"hbase.replication.bulkload.enabled": "true", "hbase.replication.cluster.id": "test",
		"hbase.master.snapshot.ttl": strconv.Itoa(int(SnapshotLife / time.Second)),
	}
	for _, chore := range []string{
		"hbase.master.quotas.observer", "hbase.regionserver.quotas.fs.utilization", "hbase.regionserver.quotas.region.size.reporting",
		"hbase.regionserver.quotas.policy.refresher", "hbase.master.quotas.region.size.reporting",
	} {
		site[chore+".chore.period"], site[chore+".chore.delay"] = "1000", "500"
	}
	return Options{HBaseSite: site}
}

// Coded returns the options of an HDFS for erasure coded files. A DataNode that has ended remains a location of its blocks, which are not
// reconstructed elsewhere.
func Coded(dataNodes int) Options {
	return Options{WithoutHBase: true, DataNodes: dataNodes, HeapMB: map[Role]int{DataNode: 80},
		HDFSSite: map[string]string{"dfs.namenode.heartbeat.recheck-interval": "300000", "dfs.heartbeat.interval": "3",
			"dfs.namenode.redundancy.considerLoad": "false"}} // each block gets all its locations
}

// own is Own without a test. release returns the cluster.
func own(ctx context.Context, o Options) (c *Cluster, release func() error, err error) {
	pool := os.Getenv(EnvPool)
	if pool == "" {
		if c, err = Start(ctx, o); err != nil {
			return nil, nil, err
		}
		return c, c.Stop, nil
	}
	o.HBase = cmp.Or(o.HBase, os.Getenv(EnvHBase))
	name, err := kindName(o)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(pool, 0o755); err != nil {
		return nil, nil, err
	}
	o.Dir = filepath.Join(pool, name)
	unlock, err := lockFile(ctx, o.Dir+poolLock)
	if err != nil {
		return nil, nil, err
	}
	if c, err = takeOver(ctx, o); err != nil {
		unlock()
		return nil, nil, fmt.Errorf("cluster %s of the pool: %w", name, err)
	}
	return c, func() error {
		c.Close()
		now := time.Now()
		err := os.Chtimes(o.Dir+poolLock, now, now) // for TendPool
		unlock()
		return err
	}, nil
}

// poolLock is the suffix of the lock file that a user of a cluster of the pool holds. Its modification time is that
// of the last use.
const poolLock = ".lock"

// kindName returns the name of the kind of cluster that options describe. Options with the same name differ only in
// the cluster's location.
func kindName(o Options) (string, error) {
	o.Dir, o.Port, o.Log, o.Detached, o.StartTimeout = "", 0, nil, false, 0
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("name of a kind of test cluster: %w", err)
	}
	var words []string
	for word, is := range map[string]bool{"ha": o.HA, "yarn": o.YARN, "hdfs": o.WithoutHBase, "kerberos": o.Security.Kerberos, "tls": o.Security.TLS != ""} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%s-%x", strings.Join(append([]string{"cluster"}, words...), "-"), sum[:6]), nil
}

// takeOver returns the cluster that runs in o.Dir, repaired, or a new one. The caller holds the lock of its kind.
func takeOver(ctx context.Context, o Options) (*Cluster, error) {
	s, err := readState(o.Dir)
	switch {
	case errors.Is(err, ErrNoCluster):
	case err != nil:
		return nil, err
	case len(s.running()) > 0:
		c, err := Attach(ctx, layout{o.Dir}.conf())
		if err != nil {
			return nil, err
		}
		if err = c.repair(ctx); err == nil {
			return c, nil
		}
		c.Close()
		if err := Down(ctx, o.Dir); err != nil {
			return nil, err
		}
	}
	o.Detached = true
	return Start(ctx, o)
}

// mendTimeout limits the repair of a cluster of the pool before it is replaced.
const mendTimeout = 2 * time.Minute

// repair starts the daemons that do not run and resumes paused ones, and returns when all serve.
func (c *Cluster) repair(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mendTimeout)
	defer cancel()
	for _, role := range c.state.Roles {
		d := c.Daemon(role)
		if d.Pid() != 0 {
			if err := d.Resume(); err != nil {
				return err
			}
		} else if err := d.Restart(ctx); err != nil {
			return err
		}
	}
	if err := c.WaitReady(ctx); err != nil || !c.state.HA {
		return err
	}
	active, err := c.ActiveNameNode(ctx)
	if err == nil && active != NameNode {
		_, err = c.Failover(ctx, active)
	}
	return err
}

// TendPool stops the clusters of a pool that no test has used for the duration idle, until ctx ends: the next test that needs one starts
// it again, which costs less than idle servers until the end of all tests.
func TendPool(ctx context.Context, pool string, idle time.Duration) error {
	for retry.Sleep(ctx, min(idle, 5*time.Second)) == nil {
		locks, err := filepath.Glob(filepath.Join(pool, "*"+poolLock))
		if err != nil {
			return err
		}
		for _, lock := range locks {
			if err := endIdle(ctx, lock, idle); err != nil {
				return err
			}
		}
	}
	return nil
}

// endIdle stops the cluster of a lock, if it runs and has not been in use for the duration idle.
func endIdle(ctx context.Context, lock string, idle time.Duration) error {
	once, cancel := context.WithCancel(ctx)
	cancel()
	unlock, err := lockFile(once, lock)
	if err != nil {
		return nil // a test has it
	}
	defer unlock()
	info, err := os.Stat(lock)
	if err != nil || time.Since(info.ModTime()) < idle {
		return err
	}
	dir := strings.TrimSuffix(lock, poolLock)
	if s, err := readState(dir); errors.Is(err, ErrNoCluster) || err == nil && len(s.running()) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	return Down(context.WithoutCancel(ctx), dir)
}

// DownPool stops the clusters of a pool and removes their data; their logs stay.
func DownPool(ctx context.Context, pool string) error {
	entries, err := os.ReadDir(pool)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, Down(ctx, filepath.Join(pool, e.Name())))
		}
	}
	return err
}
