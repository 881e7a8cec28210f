package testcluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPool passes a cluster from one test to the next: it is the same one, whatever the first has done to its daemons, and only one test
// has it at a time. Another kind is another cluster.
func TestPool(t *testing.T) {
	if testing.Short() {
		t.Skip("needs clusters of its own, which -short leaves out")
	}
	pool := t.TempDir()
	t.Setenv(EnvPool, pool)
	t.Cleanup(func() {
		if err := DownPool(context.Background(), pool); err != nil {
			t.Error(err)
		}
	})
	kind := Options{WithoutHBase: true}
	var first string
	t.Run("first", func(t *testing.T) {
		c := Own(t, kind)
		first = c.Dir()
		// No other process can get it now.
		ctx, cancel := context.WithTimeout(t.Context(), 3*pollEvery)
		defer cancel()
		if _, _, err := own(ctx, kind); err == nil || !strings.Contains(err.Error(), "another process holds") {
			t.Errorf("it is given away twice: %v", err)
		}
		if err := c.Daemon(NameNode).Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Daemon(DataNode).Pause(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("second", func(t *testing.T) {
		c := Own(t, kind)
		if c.Dir() != first {
			t.Errorf("it is in %s, the first was in %s", c.Dir(), first)
		}
		for _, role := range c.Roles() {
			if err := c.Daemon(role).Probe(t.Context()); err != nil {
				t.Errorf("%s: %v", role, err)
			}
		}
		// A cluster that does not serve again is replaced: here the NameNode's data are gone.
		if err := c.Daemon(NameNode).Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(c.layout.name(NameNode)); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("third", func(t *testing.T) {
		if err := Own(t, kind).WaitReady(t.Context()); err != nil {
			t.Error(err)
		}
	})
	locks, err := filepath.Glob(filepath.Join(pool, "*"+poolLock))
	if err != nil || len(locks) != 1 {
		t.Fatalf("%v %v", locks, err)
	}
	runs := func() int {
		s, err := readState(first)
		if errors.Is(err, ErrNoCluster) {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(s.running())
	}
	t.Run("used lately or now", func(t *testing.T) {
		if err := endIdle(t.Context(), locks[0], time.Hour); err != nil || runs() == 0 {
			t.Errorf("%v, %d daemons", err, runs())
		}
		_ = Own(t, kind)
		if err := endIdle(t.Context(), locks[0], 0); err != nil || runs() == 0 {
			t.Errorf("%v, %d daemons", err, runs())
		}
	})
	for range 2 { // the second time there is nothing to stop
		if err := endIdle(t.Context(), locks[0], 0); err != nil || runs() > 0 {
			t.Errorf("%v, %d daemons", err, runs())
		}
	}
}

func TestKindName(t *testing.T) {
	a, err := kindName(Options{HA: true, StartTimeout: time.Second, Dir: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := kindName(Options{HA: true, Dir: "y"}); err != nil || a != b || !strings.HasPrefix(a, "cluster-ha-") {
		t.Errorf("%q, %q, %v", a, b, err)
	}
	for _, o := range []Options{{}, Harmed(), Guarded(), {HA: true, DataNodes: 2}, {HA: true, Security: AtLevel(Privacy)}} {
		if b, err := kindName(o); err != nil || a == b {
			t.Errorf("%+v is of the kind %q: %v", o, b, err)
		}
	}
}
