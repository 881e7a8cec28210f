package loader

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"bulkload/internal/hadoop/registry"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testrpc"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// TestSnapshotsOff checks that a master that takes no snapshots is asked once, and that a snapshot that was never taken needs no deletion. The text
// is that of HBase 2.6.4.
func TestSnapshotsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := stubCluster(Config{Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no other server") }})
		defer c.Close()
		c.registry.Know(registry.Places{Meta: "meta:1", Master: "master:1"})
		serveStub(c, "master:1", func(call *testrpc.Call) error {
			if resp, ok := call.Answer.(*pb.GetCompletedSnapshotsResponse); ok {
				resp.Snapshots = []*pb.SnapshotDescription{{Name: proto.String("old"), Table: proto.String("t")}}
				return nil
			}
			return thrown("java.io.IOException", "To use snapshots, You must add to the hbase-site.xml of the HBase Master: 'hbase.snapshot.enabled' property with value 'true'.")
		})
		table, began := TableName{"default", "t"}, time.Now()
		if err := c.Snapshot(t.Context(), table, "new", 1); !errors.Is(err, ErrNoSnapshots) || Unavailable(err) || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		testcheck.Must(t, c.DeleteSnapshot(t.Context(), table, "new"))
		if err := c.DeleteSnapshot(t.Context(), table, "old"); err == nil {
			t.Error("a snapshot from before is deleted")
		}
	})
}
