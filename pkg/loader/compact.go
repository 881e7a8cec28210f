package loader

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/emptypb"
)

// Fields of Admin.proto of HBase 2, for which gohbase has no types that fit.
const (
	compactRegion = 1 // CompactRegionRequest.region
	compactMajor  = 2 // .major
	compactFamily = 3 // .family
)

// Compact asks the server of a region to compact one family, which it does in its own time: a major compaction rewrites all files of the
// store, a minor one those that the server chooses. The region must be on r.Server now.
func (c *Cluster) Compact(ctx context.Context, r Region, family string, major bool) error {
	if err := c.compact(ctx, r, family, major); err != nil {
		return fmt.Errorf("compact family %s of region %s: %w", family, r.Encoded, err)
	}
	return nil
}

func (c *Cluster) compact(ctx context.Context, r Region, family string, major bool) error {
	if r.Server == "" {
		return errNotAssigned
	}
	l, err := c.connect(ctx, r.Server, adminService)
	if err != nil {
		return err
	}
	b, err := appendMessage(nil, compactRegion, r.specifier())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.CallTimeout, fmt.Errorf("no answer within %s", c.cfg.CallTimeout))
	defer cancel()
	request := appendBytes(appendBool(b, compactMajor, major), compactFamily, []byte(family))
	return l.invoke(ctx, "CompactRegion", raw(request), &emptypb.Empty{})
}
