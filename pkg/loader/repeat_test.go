package loader

import (
	"context"
	"testing"
	"testing/synctest"

	"bulkload/internal/test/testrpc"
)

// TestPassingExceptionsAreRepeated checks that the idempotent calls are made again after an exception that may pass, and not after others. The
// calls that make and remove a staging directory are not: what HDFS refuses needs an operator.
func TestPassingExceptionsAreRepeated(t *testing.T) {
	const passes, stays = "java.io.IOException", "org.apache.hadoop.hbase.regionserver.RowTooBigException"
	calls := map[string]func(t *testing.T, c *Cluster) error{
		"get": func(t *testing.T, c *Cluster) error {
			_, err := c.get(t.Context(), testTable, []byte("x"))
			return err
		},
		"scan": func(t *testing.T, c *Cluster) error {
			return c.Scan(t.Context(), ScanRequest{Table: testTable}, func(Row) error { return nil })
		},
		"mutate": func(t *testing.T, c *Cluster) error {
			_, err := c.Mutate(t.Context(), testTable, Mutation{Row: []byte("x"), If: Cell{Family: []byte("f"), Qualifier: []byte("q")}})
			return err
		},
		"master": func(t *testing.T, c *Cluster) error {
			_, err := c.Status(t.Context())
			return err
		},
		"cleanup": func(t *testing.T, c *Cluster) error { return c.Cleanup(t.Context(), testTable, testStaging) },
	}
	for name, call := range calls {
		for _, class := range []string{passes, stays} {
			synctest.Test(t, func(t *testing.T) {
				c := stubCluster(Config{})
				defer c.Close()
				c.regions.read = func(context.Context, TableName) ([]Region, error) { return onServers("rs:1"), nil }
				c.regions.enabled = func(context.Context, TableName) error { return nil }
				stubRegistry(c, func() string { return "master" })
				asked := 0
				answer := func(c *testrpc.Call) error {
					if asked++; asked == 1 {
						return thrown(class, "of the first call")
					}
					return nothing(c)
				}
				serveStub(c, "rs:1", answer)
				serveStub(c, "master:1", answer)
				again := class == passes && name != "cleanup"
				if err := call(t, c); (err == nil) != again || (asked == 2) != again {
					t.Errorf("%s after %s: %d calls, %v", name, class, asked, err)
				}
			})
		}
	}
}
