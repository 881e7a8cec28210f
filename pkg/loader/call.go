package loader

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"
)

// call is one request in the shape that gohbase's region client takes. The client writes it at once: it batches only its
// own Gets and Mutates.
type call struct {
	ctx    context.Context
	method string
	req    proto.Message
	resp   proto.Message
	// result has room for one: the connection's only reader must not block on it.
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

// What gohbase's own lookup would need; the region stands in the request.

func (c *call) Table() []byte               { return nil }
func (c *call) Key() []byte                 { return nil }
func (c *call) Region() hrpc.RegionInfo     { return nil }
func (c *call) SetRegion(_ hrpc.RegionInfo) {}

// blockCall is a call whose answer has a cell block, which is kept as it is.
type blockCall struct {
	call
	block []byte
}

// DeserializeCellBlocks is called by gohbase's reader with the block, and must consume all of it. The bytes
// are this answer's own.
func (c *blockCall) DeserializeCellBlocks(_ proto.Message, b []byte) (uint32, error) {
	if uint64(len(b)) > 1<<32-1 {
		return 0, errors.New("cell block too large")
	}
	c.block = b
	return uint32(len(b)), nil
}
