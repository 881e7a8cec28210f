package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hdfsio"
)

const (
	// serverHost is the published address of region servers: that of the proxies.
	serverHost = "127.0.0.3"
	// stagingRoot is the directory on HDFS with the directories of the jobs.
	stagingRoot = "/tmp/faults"
	// user runs the program. It is not HBase's user and not a superuser of HDFS.
	user          = "tina"
	regionServers = 2
	dataNodes     = 2
)

// Lab is a cluster with the program and the tools to disturb them. It runs one round at a time.
type Lab struct {
	// Dir is a directory for data, state and logs. Required.
	Dir string
	// Log receives events. Required.
	Log *slog.Logger
	// YARN makes the cluster run YARN too.
	YARN bool
	// Program is the path of a built program, with the tag stopafter. Required.
	Program string

	root    string // of the checkout
	cluster *testcluster.Cluster
	proxies *Proxies
	env     *cluster.Env // of the user hbase
	tina    *cluster.Env // of the user that runs the program
	help    string       // full help of bulkload run
	watch   supervisor
	known   map[string]habit // of commands that rounds kill
}

// Open starts a new cluster. The caller closes the Lab, also after an error.
func (l *Lab) Open(ctx context.Context) error {
	// Not runtime.Caller: with -trimpath its names have no directory of the checkout.
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w: run inside the checkout", err)
	}
	l.root = strings.TrimSpace(string(root))
	help, err := exec.CommandContext(ctx, l.Program, "help", "run").Output()
	if err != nil {
		return fmt.Errorf("%s help run: %w", l.Program, err)
	}
	l.help = string(help)
	return l.start(ctx)
}

// can reports whether bulkload run has a flag.
func (l *Lab) can(flag string) bool { return strings.Contains(l.help, "--"+flag+" ") }

// start starts the cluster and the proxies. The region servers listen on localhost and publish serverHost, so that
// every client of meta uses a proxy.
func (l *Lab) start(ctx context.Context) (err error) {
	options := testcluster.Options{
		RegionServers: regionServers, DataNodes: dataNodes, StartTimeout: 8 * time.Minute, Log: l.Log, YARN: l.YARN,
		HeapMB: map[testcluster.Role]int{testcluster.RegionServer: 640},
		HBaseSite: map[string]string{
			"hbase.regionserver.hostname": serverHost, "hbase.regionserver.ipc.address": "127.0.0.1",
			// The master starts again with one region server while the other is down.
			"hbase.master.wait.on.regionservers.mintostart": "1",
			"hbase.master.wait.on.regionservers.timeout":    "3000",
		},
	}
	options.Dir = filepath.Join(l.Dir, "cluster")
	if err := os.RemoveAll(options.Dir); err != nil {
		return err
	}
	// The master calls its region servers before Start returns, so the proxies must listen by then, but not before
	// the ports are chosen: Start checks that they are free everywhere on this machine.
	startCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var g sync.WaitGroup
	var proxyErr error
	g.Go(func() {
		var ports []int
		if ports, proxyErr = chosenPorts(startCtx, options.Dir); proxyErr == nil {
			l.proxies, proxyErr = OpenProxies(serverHost, ports)
		}
		if proxyErr != nil {
			cancel(proxyErr)
		}
	})
	l.cluster, err = testcluster.Start(startCtx, options)
	if err != nil {
		cancel(err)
	}
	g.Wait()
	if err := errors.Join(err, proxyErr); err != nil {
		return err
	}
	if l.env, err = l.as("hbase"); err == nil {
		l.tina, err = l.as(user)
	}
	return err
}

// as returns the environment of a user of the cluster.
func (l *Lab) as(user string) (*cluster.Env, error) {
	conf, err := hdfsio.LoadConf(func(name string) (string, bool) {
		switch name {
		case "HADOOP_CONF_DIR", "HBASE_CONF_DIR":
			return l.cluster.ConfDir(), true
		case "HADOOP_USER_NAME":
			return user, true
		}
		return "", false
	})
	return &cluster.Env{Conf: conf, Log: l.Log}, err
}

// chosenPorts waits until a cluster that is starting in dir has written its ports, and returns those of its region
// servers.
func chosenPorts(ctx context.Context, dir string) ([]int, error) {
	for {
		var state struct {
			Ports testcluster.Ports `json:"ports"`
		}
		b, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
		if err == nil && json.Unmarshal(b, &state) == nil && len(state.Ports.RegionServer) > 0 {
			return state.Ports.RegionServer, nil
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// stop stops everything that start started.
func (l *Lab) stop() error {
	var errs []error
	for _, env := range []*cluster.Env{l.env, l.tina} {
		if env != nil {
			errs = append(errs, env.Close())
		}
	}
	if l.proxies != nil {
		errs = append(errs, l.proxies.Close())
	}
	if l.cluster != nil {
		errs = append(errs, l.cluster.Stop())
	}
	l.env, l.tina, l.proxies, l.cluster = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Close stops the cluster.
func (l *Lab) Close() error { return l.stop() }

// Renew replaces a cluster that cannot be healed by a new one.
func (l *Lab) Renew(ctx context.Context) error {
	if err := l.stop(); err != nil {
		l.Log.Warn("the old cluster did not stop well", "error", err)
	}
	return l.start(ctx)
}

// Refresh replaces the parts that a round has spoilt or broken: it restarts the region servers, or the cluster.
func (l *Lab) Refresh(ctx context.Context, o *Outcome) error {
	if o.Broken != nil || !o.Spoilt {
		return l.Renew(ctx)
	}
	var err error
	for n := range regionServers {
		err = errors.Join(err, l.cluster.Daemon(testcluster.RegionServer.Nth(n+1)).Restart(ctx))
	}
	if err = errors.Join(err, l.Heal(ctx)); err != nil {
		l.Log.Warn("the region servers do not start again", "error", err)
		return l.Renew(ctx)
	}
	return nil
}

// environment returns the environment of the program.
func (l *Lab) environment(more ...string) []string {
	drop := []string{"HADOOP_CONF_DIR", "HBASE_CONF_DIR", "HADOOP_USER_NAME", testcluster.EnvConf}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name) || strings.HasPrefix(name, "BULKLOAD_")
	})
	return append(append(env, "HADOOP_CONF_DIR="+l.cluster.ConfDir(), "HBASE_CONF_DIR="+l.cluster.ConfDir(),
		"HADOOP_USER_NAME="+user), more...)
}

// adminTries is the number of attempts of a command of the Java client: a fault may still be under repair.
const adminTries = 3

// admin runs a command of the Java client.
func (l *Lab) admin(ctx context.Context, args ...string) (out string, err error) {
	for range adminTries {
		tryCtx, cancel := context.WithTimeout(ctx, 90*time.Second)
		var a *testcluster.Admin
		if a, err = l.cluster.Admin(tryCtx); err == nil {
			out, err = a.Run(tryCtx, args...)
		}
		cancel()
		if err == nil || ctx.Err() != nil {
			return out, err
		}
		l.Log.Debug("command of the java client failed", "command", strings.Join(args, " "), "error", err)
		if e := pause(ctx, time.Second); e != nil {
			return "", err
		}
	}
	return out, err
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Heal starts every daemon that does not run, resumes paused ones, and waits until all of them serve.
func (l *Lab) Heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		last = nil
		for _, role := range l.cluster.Roles() {
			d := l.cluster.Daemon(role)
			if d.Pid() != 0 {
				d.Resume()
				continue
			}
			l.Log.Debug("restart", "role", role)
			if err := d.Restart(ctx); err != nil {
				return err
			}
		}
		// Short waits: a region server that was paused for too long ends only some time after it continues.
		tryCtx, cancel := context.WithTimeout(ctx, 20*time.Second)
		last = l.cluster.WaitReady(tryCtx)
		cancel()
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("the cluster does not heal: %w", last)
}
