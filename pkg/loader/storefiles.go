package loader

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
)

// Fields of Admin.proto of HBase 2, for which gohbase has no types.
const (
	adminRegion     = 1 // .region of each request here
	storeFileFamily = 2 // GetStoreFileRequest.family, repeated
	storeFileName   = 1 // GetStoreFileResponse.store_file, repeated
)

// StoreFiles returns the paths of the store files that a region has in service in one family, including references and links. A file in the
// region's directory that is not among them is not read. The region must be on r.Server now: it is asked once, and an answer takes at most
// [Config.CallTimeout].
func (c *Cluster) StoreFiles(ctx context.Context, r Region, family string) (paths []string, err error) {
	resp, err := c.askRegion(ctx, r, "GetStoreFile", func(b []byte) []byte { return frames.AppendBytes(b, storeFileFamily, []byte(family)) })
	if err != nil {
		return nil, fmt.Errorf("store files of family %s of region %s: %w", family, r.Encoded, err)
	}
	frames.Fields(resp.ProtoReflect().GetUnknown(), func(num protowire.Number, _ uint64, value []byte) {
		if num == storeFileName {
			paths = append(paths, string(value))
		}
	})
	return paths, nil
}

// askRegion calls a method of [hbaserpc.AdminService] at the server of a region. The request names the region and has the fields that more appends.
func (c *Cluster) askRegion(ctx context.Context, r Region, method string, more func([]byte) []byte) (*emptypb.Empty, error) {
	if r.Server == "" {
		return nil, errNotAssigned
	}
	l, err := c.rpc.Connect(ctx, r.Server, hbaserpc.AdminService)
	if err != nil {
		return nil, err
	}
	b, err := appendMessage(nil, adminRegion, r.specifier())
	if err != nil {
		return nil, err
	}
	resp := &emptypb.Empty{}
	return resp, l.InvokeWithin(ctx, c.cfg.CallTimeout, method, raw(more(b)), resp)
}

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
