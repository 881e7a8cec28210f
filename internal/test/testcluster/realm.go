package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"bulkload/internal/test/testcheck"
)

// StartKDC starts a KDC without a cluster, for tests of logins and of Kerberos-authenticated exchanges. It ends with the
// test. Without a KDC on this machine the test is skipped, unless EnvSecure is set. No other daemon of the cluster runs;
// its Daemon(KDC) can be ended and started again.
func StartKDC(t testing.TB, s Security) *Cluster {
	t.Helper()
	if err := KDCInstalled(); err != nil {
		if os.Getenv(EnvSecure) != "" || !errors.Is(err, ErrNoKDC) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	ports, err := pickPorts(0, 1, 1, 0)
	testcheck.Must(t, err)
	c := &Cluster{layout: layout{t.TempDir()}, log: Options{}.withDefaults().Log, timeout: defaultStartTimeout, spawner: newSpawner()}
	argv, err := kdcCommand(c.layout)
	testcheck.Must(t, err)
	c.state = &state{Version: stateVersion, Dir: c.layout.dir, Security: s.withDefaults(), Ports: ports,
		Roles: []Role{KDC}, Daemons: map[Role]*daemonState{KDC: {Command: argv}}}
	testcheck.Must(t, os.MkdirAll(c.layout.logs(), 0o755))
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	testcheck.Must(t, c.startKDC(t.Context(), s))
	return c
}

// Kerberos runs a program of MIT Kerberos, kinit or kadmin.local, with the configuration of the cluster's KDC, and returns
// its standard output. env are further variables, KRB5CCNAME in particular.
func (c *Cluster) Kerberos(ctx context.Context, env []string, name string, args ...string) (string, error) {
	path, err := kerberosTool(name)
	if err != nil {
		return "", err
	}
	out, err := c.spawner.output(ctx, nil, append([]string{path}, args...), environment(append(c.layout.kerberosEnvironment(), env...)...))
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}
