package loader

import (
	"context"
	"fmt"

	"bulkload/internal/hadoop/frames"
)

// Fields of CompactRegionRequest (Admin.proto of HBase 2).
const (
	compactMajor  = 2
	compactFamily = 3
)

// Compact asks the region's server to compact one family, and does not wait for the end: a major compaction rewrites all files of the
// store, a minor one those that the server chooses. The region must be on r.Server now.
func (c *Cluster) Compact(ctx context.Context, r Region, family string, major bool) error {
	_, err := c.askRegion(ctx, r, "CompactRegion", func(b []byte) []byte {
		return frames.AppendBytes(appendBool(b, compactMajor, major), compactFamily, []byte(family))
	})
	if err != nil {
		return fmt.Errorf("compact family %s of region %s: %w", family, r.Encoded, err)
	}
	return nil
}
