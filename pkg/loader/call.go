package loader

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"
)

// call implements hrpc.Call for gohbase's region client. The client writes it at once: it batches only its own Gets and Mutates.
type call struct {
	ctx    context.Context
	method string
	req    proto.Message
	resp   proto.Message
	// result has a buffer of one: the connection's only reader must not block on it.
	result chan hrpc.RPCResult
}

var _ hrpc.Call = (*call)(nil)

func newCall(ctx context.Context, method string, req, resp proto.Message) *call {
	return &call{ctx: ctx, method: method, req: req, resp: resp, result: make(chan hrpc.RPCResult, 1)}
}

func (c *call) Name() string                    { return c.method }
func (c *call) Description() string             { return c.method }
func (c *call) Context() context.Context        { return c.ctx }
func (c *call) ToProto() proto.Message          { return c.req }
func (c *call) NewResponse() proto.Message      { return c.resp }
func (c *call) ResultChan() chan hrpc.RPCResult { return c.result }

// The methods for gohbase's own region lookup, which is not used: the request names the region.

func (c *call) Table() []byte               { return nil }
func (c *call) Key() []byte                 { return nil }
func (c *call) Region() hrpc.RegionInfo     { return nil }
func (c *call) SetRegion(_ hrpc.RegionInfo) {}

// blockCall is a call that keeps the cell block of its answer unparsed.
type blockCall struct {
	call
	block []byte
}

// queue makes a call whose answer may have a cell block. [link.wait] waits for it.
func (l *link) queue(ctx context.Context, method string, req, resp proto.Message) *blockCall {
	call := &blockCall{call: *newCall(ctx, method, req, resp)}
	l.client.QueueRPC(call)
	return call
}

// DeserializeCellBlocks is called by gohbase's reader with the block, and must consume all of it. The bytes belong to this answer alone.
func (c *blockCall) DeserializeCellBlocks(_ proto.Message, b []byte) (uint32, error) {
	if uint64(len(b)) > 1<<32-1 {
		return 0, errors.New("cell block too large")
	}
	c.block = b
	return uint32(len(b)), nil
}
