package cluster_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"
)

// TestOutOfReach checks that a cluster that may be available later is distinguished
// from a table that cannot be loaded: an orchestrator retries only the first.
func TestOutOfReach(t *testing.T) {
	closed := testcheck.ClosedAddress(t)
	env := jobtest.Env(t)
	env.Conf.Set("hbase.zookeeper.quorum", closed, "test")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := env.Dial(ctx); fail.KindOf(err) != fail.Load {
		t.Errorf("ZooKeeper does not listen: kind %v of %v", fail.KindOf(err), err)
	}
	for _, c := range []struct {
		err  error
		want fail.Kind
	}{
		{&loader.ConnectionError{Addr: closed, Err: errors.New("refused")}, fail.Load},
		{loader.ErrTableNotFound, fail.Check},
	} {
		if got := fail.KindOf(cluster.Failure(c.err)); got != c.want {
			t.Errorf("%v: kind %v, want %v", c.err, got, c.want)
		}
	}
	env.Conf.Set("hbase.rootdir", "viewfs://c/hbase", "test")
	if _, err := env.Dial(ctx); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "viewfs://c/hbase") {
		t.Errorf("HBase on a viewfs root: %v", err)
	}
	env = jobtest.Env(t)
	env.Conf.Set("hbase.zookeeper.quorum", closed, "test")
	env.Conf.Set("hbase.meta.table.suffix", "replica1", "test")
	if _, err := env.Dial(ctx); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), "hbase.meta.table.suffix = replica1 (test)") {
		t.Errorf("a catalog of another name: %v", err)
	}
	if err := cluster.Failure(nil); err != nil {
		t.Error(err)
	}
}
