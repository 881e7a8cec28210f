package testcluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// EnvConf names the configuration directory of a running cluster that [Shared] is to use, instead of
// starting one.
const EnvConf = "BULKLOAD_CLUSTER_CONF"

// The one cluster of a test process. It is global because testing gives nothing else that the tests of
// a package share.
var shared struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error
	owned   bool
	hasMain bool

	secured        *Cluster // of Secured
	releaseSecured func() error
}

// Shared returns the cluster that all tests of this process use: the one that EnvConf names, else one that is
// started by the first call. The package's TestMain must call [Main]. Tests that stop daemons take a
// cluster for themselves by [Own].
//
// With -short the test is skipped. A machine without a JDK or Maven fails it, with the line that
// installs them.
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

// Main runs a package's tests and ends the shared clusters that were started. It does not return.
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

// AdminT is [Cluster.Admin] for a test, which fails when there is none.
func (c *Cluster) AdminT(t testing.TB) *Admin {
	t.Helper()
	a, err := c.Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return a
}
