package testcluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// EnvConf names the configuration directory of a running cluster for [Shared], which then starts none.
const EnvConf = "BULKLOAD_CLUSTER_CONF"

// The one cluster of a test process. It is global because package testing has no other data that the tests of a
// package share.
var shared struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error
	owned   bool
	hasMain bool

	secured        *Cluster // of Secured
	releaseSecured func() error
}

// Shared returns the cluster that all tests of this process use: the one that EnvConf names, else one that the first
// call starts. The package's TestMain must call [Main]. Tests that stop daemons get an exclusive cluster from [Own].
//
// With -short the test is skipped. On a machine without a JDK or Maven it fails, with the command that installs them.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the test cluster, which -short leaves out")
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.hasMain {
		t.Fatal("testcluster.Shared needs a TestMain that calls testcluster.Main")
	}
	if shared.cluster == nil && shared.err == nil {
		// Not the test's context: the cluster outlives the test.
		if conf := os.Getenv(EnvConf); conf != "" {
			shared.cluster, shared.err = Attach(context.Background(), conf)
			if c := shared.cluster; c != nil && c.state.Security != (Security{}) {
				shared.err = fmt.Errorf("%s names a cluster with %s; these tests need one without", EnvConf, c.state.Security.describe())
			}
		} else {
			shared.cluster, shared.err = Start(context.Background(), Options{})
			shared.owned = true
		}
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Main runs a package's tests and ends the shared clusters that they started. It does not return.
func Main(m *testing.M) {
	shared.mu.Lock()
	shared.hasMain = true
	shared.mu.Unlock()
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if err := endSecured(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if c := shared.cluster; c != nil {
		c.Close()
		if shared.owned {
			if err := c.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = max(code, 1)
			}
		}
	}
	os.Exit(code)
}

// AdminT is [Cluster.Admin] for a test. On an error the test fails.
func (c *Cluster) AdminT(t testing.TB) *Admin {
	t.Helper()
	return c.AdminAsT(t, HBaseAdmin)
}
