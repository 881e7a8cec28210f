package testcluster

import (
	"context"
	"os"
	"testing"

	"bulkload/internal/test/testcheck"
)

// EnvSecure set to 1 makes tests run on every kind of secured cluster instead of one, and makes a machine without a
// KDC a failure.
const EnvSecure = "BULKLOAD_SECURE"

// Secured returns the secured cluster that the tests of this process share: the one that EnvConf names, if it is of
// this kind, else one from [Own]. There is one at a time: a test that needs another kind ends the previous one, so
// tests of the same kind should be adjacent, and none may run in parallel. The cluster ends with [Main], which the
// package's TestMain must call, and differs from the cluster of [Shared].
//
// With -short the test is skipped; also without a KDC on this machine, unless EnvSecure is set.
func Secured(t testing.TB, s Security) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a secured test cluster, which -short leaves out")
	}
	if s.Kerberos {
		needsKDC(t)
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.hasMain {
		t.Fatal("testcluster.Secured needs a TestMain that calls testcluster.Main")
	}
	s = s.withDefaults()
	if c := shared.secured; c != nil {
		if c.state.Security == s {
			return c
		}
		testcheck.Must(t, endSecured())
	}
	// Not the test's context: the cluster outlives the test.
	ctx := context.Background()
	if conf := os.Getenv(EnvConf); conf != "" {
		c, err := Attach(ctx, conf)
		testcheck.Must(t, err)
		if c.state.Security == s {
			shared.secured, shared.releaseSecured = c, func() error { c.Close(); return nil }
			return c
		}
		c.Close()
	}
	c, release, err := own(ctx, Options{Security: s})
	testcheck.Must(t, err)
	shared.secured, shared.releaseSecured = c, release
	return c
}

// SecuredAll skips a test of further kinds of secured clusters, unless EnvSecure is set.
func SecuredAll(t testing.TB) {
	t.Helper()
	if os.Getenv(EnvSecure) == "" {
		t.Skipf("%s=1 has it run", EnvSecure)
	}
}

// endSecured is called with shared.mu held.
func endSecured() error {
	c := shared.secured
	shared.secured = nil
	if c == nil {
		return nil
	}
	return shared.releaseSecured()
}

// AdminAsT is [Cluster.AdminAs] for a test. On an error the test fails.
func (c *Cluster) AdminAsT(t testing.TB, user string) *Admin {
	t.Helper()
	a, err := c.AdminAs(t.Context(), user)
	testcheck.Must(t, err)
	return a
}
