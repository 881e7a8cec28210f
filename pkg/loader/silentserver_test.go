package loader

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testrpc"
)

// testTable is a table of the stubs.
var testTable = TableName{"default", "t"}

// TestRegionsOfAGoneServerAreReadAgain checks that callers whose own deadline is shorter than a connect leave a server whose host is gone, once
// one of them got no answer, in a get and in a scan, whose first region may have answered.
func TestRegionsOfAGoneServerAreReadAgain(t *testing.T) {
	get := func(ctx context.Context, c *Cluster) error {
		_, err := c.Rows(ctx, testTable, [][]byte{[]byte("x")})
		return err
	}
	scan := func(ctx context.Context, c *Cluster) error {
		return c.Scan(ctx, ScanRequest{Table: testTable, Prompt: true}, func(Row) error { return nil })
	}
	for name, tt := range map[string]struct {
		call     func(ctx context.Context, c *Cluster) error
		was, now []Region
	}{
		"get":                     {get, onServers("gone:1"), onServers("good:1")},
		"scan":                    {scan, onServers("gone:1"), onServers("good:1")},
		"scan of the next region": {scan, onServers("good:1", "gone:1"), onServers("good:1", "good:1")},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := stubCluster(Config{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}})
			defer c.Close()
			var reads atomic.Int32
			c.regions.read = func(context.Context, TableName) ([]Region, error) {
				reads.Add(1)
				return tt.now, nil
			}
			c.regions.put(testTable, tt.was)
			serveStub(c, "good:1", nothing)
			failed := 0
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				if tt.call(ctx, c) != nil {
					failed++
				}
				cancel()
				synctest.Wait() // for the reading
			}
			if failed != 1 || reads.Load() != 1 {
				t.Errorf("%s: %d of 20 calls failed, the regions were read %d times; want 1 and 1", name, failed, reads.Load())
			}
		})
	}
}

// TestRegionsStayWhileReadAgain checks that a caller without an answer takes no rows of other servers away while hbase:meta does not answer.
func TestRegionsStayWhileReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stubCluster(Config{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		defer c.Close()
		end := make(chan struct{})
		var reads atomic.Int32
		c.regions.read = func(context.Context, TableName) ([]Region, error) {
			reads.Add(1)
			<-end
			return nil, testrpc.ErrSilent
		}
		c.regions.put(testTable, onServers("good:1", "gone:1"))
		serveStub(c, "good:1", nothing)
		for range 3 {
			for key, fails := range map[string]bool{"x": true, "a": false} {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				if _, err := c.Rows(ctx, testTable, [][]byte{[]byte(key)}); (err != nil) != fails {
					t.Errorf("%s: %v", key, err)
				}
				cancel()
			}
		}
		if reads.Load() != 1 {
			t.Errorf("the regions were read %d times", reads.Load())
		}
		close(end)
	})
}

// TestRegionsOfASlowServerAreKept checks that the list of regions is kept if the server has answered a part of the scan, and if the caller
// ends the call for reasons of its own. A newer list is kept in any case.
func TestRegionsOfASlowServerAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stubCluster(Config{})
		defer c.Close()
		calls := 0
		serveStub(c, "slow:1", func(c *testrpc.Call) error {
			if calls++; calls > 1 {
				return testrpc.ErrSilent
			}
			c.Answer.(*pb.ScanResponse).MoreResultsInRegion = proto.Bool(true)
			return nil
		})
		kept := onServers("slow:1")
		c.regions.put(testTable, kept)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Scan(ctx, ScanRequest{Table: testTable}, func(Row) error { return nil }); err == nil || !late(ctx) {
			t.Fatalf("the scan ended with %v", err)
		}
		at := &locator{regions: &c.regions, table: testTable, used: kept}
		gone, stop := context.WithCancel(t.Context())
		stop()
		at.unanswered(gone)
		if got, ok := c.regions.newer(testTable, nil); !ok || &got[0] != &kept[0] {
			t.Errorf("the regions were dropped: %v", got)
		}
		newer := onServers("other:1")
		c.regions.put(testTable, newer)
		at.unanswered(ctx)
		if got, ok := c.regions.newer(testTable, nil); !ok || &got[0] != &newer[0] {
			t.Errorf("the newer regions were dropped: %v", got)
		}
	})
}

// TestGoneMetaServerIsLeft checks that the server of hbase:meta is looked up again after a call that its caller's deadline has ended.
func TestGoneMetaServerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stubCluster(Config{})
		defer c.Close()
		stubRegistry(c, func() string { return "master" })
		serveStub(c, "old:1", func(*testrpc.Call) error { return testrpc.ErrSilent })
		m := &stubMeta{regions: metaRegions(t, testTable, "a:1")}
		serveStub(c, "meta:1", m.answer)
		c.registry.Know(registry.Places{Meta: "old:1"})
		for call := 1; call <= 2; call++ {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if regions, err := c.readRegions(ctx, testTable); (err == nil) != (call == 2) || len(regions) != call-1 {
				t.Errorf("call %d: regions %v, %v", call, regions, err)
			}
		}
	})
}
