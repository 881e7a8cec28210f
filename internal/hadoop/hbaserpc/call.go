package hbaserpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"
)

// call implements hrpc.Call for gohbase's region client. The client writes it at once: it batches only its own Gets and Mutates.
type call struct {
	ctx    context.Context
	method string
	req    proto.Message
	resp   proto.Message
	began  time.Time
	// result has a buffer of one: the connection's only reader must not block on it.
	result chan hrpc.RPCResult
}

var _ hrpc.Call = (*call)(nil)

func newCall(ctx context.Context, method string, req, resp proto.Message) *call {
	return &call{ctx: ctx, method: method, req: req, resp: resp, began: time.Now(), result: make(chan hrpc.RPCResult, 1)}
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

// Call is a call under way whose answer may have a cell block.
type Call struct {
	on   *Connection
	call *blockCall
}

// Queue begins a call whose answer may have a cell block.
func (l *Connection) Queue(ctx context.Context, method string, req, resp proto.Message) *Call {
	q := &Call{l, &blockCall{call: *newCall(ctx, method, req, resp)}}
	l.client.QueueRPC(q.call)
	return q
}

// Wait returns the cell block of the answer, which is in resp when the error is nil. After an error resp must not be read.
func (q *Call) Wait() (block []byte, err error) {
	err = q.on.wait(&q.call.call)
	return q.call.block, err
}

// Drop waits for the answer without reading it, and reports whether there was one before the context ended.
func (q *Call) Drop(ctx context.Context) bool {
	select {
	case <-q.call.result:
		return true
	case <-ctx.Done():
		return false
	}
}

// DeserializeCellBlocks is called by gohbase's reader with the block, and must consume all of it. The bytes belong to this answer alone.
func (c *blockCall) DeserializeCellBlocks(_ proto.Message, b []byte) (uint32, error) {
	if uint64(len(b)) > 1<<32-1 {
		return 0, errors.New("cell block too large")
	}
	c.block = b
	return uint32(len(b)), nil
}

// Invoke makes a call and waits for the answer, which is in resp when the error is nil. After an error resp must not be read: a late answer
// may still be written to it.
func (l *Connection) Invoke(ctx context.Context, method string, req, resp proto.Message) error {
	call := newCall(ctx, method, req, resp)
	l.client.QueueRPC(call)
	return l.wait(call)
}

// InvokeWithin is [Connection.Invoke] with a limit. The error of a server that does not answer within it is a [ConnectionError].
func (l *Connection) InvokeWithin(ctx context.Context, limit time.Duration, method string, req, resp proto.Message) error {
	ctx, cancel := WithLimit(ctx, limit)
	defer cancel()
	err := l.Invoke(ctx, method, req, resp)
	if late, ok := context.Cause(ctx).(silence); ok && errors.Is(err, late) {
		return &ConnectionError{Addr: l.client.Addr(), Sent: true, Err: late}
	}
	return err
}

const (
	// answerGrace is how long to wait for an answer that gohbase was processing when the connection broke.
	answerGrace = 2 * time.Second
	// patience is how many times the server's longest silence a call may wait while later calls are answered: in the server's queue, for one.
	patience = 3
)

// wait waits for the answer to a call queued on this connection. When the connection breaks, gohbase gives all its calls an error, but it
// can forget a call that it has taken out of its table at that moment: wait returns an error for that one too. A call that is stuck breaks
// the connection.
func (l *Connection) wait(c *call) error {
	look := time.NewTicker(l.tap.silence)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case r := <-c.result:
			return l.answered(c, r)
		case <-look.C:
			if l.stuck(c) {
				l.tap.note(silence(fmt.Sprintf("no answer to a call within %s, but to later ones", patience*l.tap.silence)))
				l.Close()
			}
		case <-c.ctx.Done():
			waiting = false
		case <-l.tap.broken:
			grace := time.NewTimer(answerGrace)
			defer grace.Stop()
			select {
			case r := <-c.result:
				return l.answered(c, r)
			case <-grace.C:
				return l.explain(l.tap.failure())
			case <-c.ctx.Done():
			}
			waiting = false
		}
	}
	select {
	case r := <-c.result:
		return l.answered(c, r) // an answer that arrives at the same moment counts
	default:
		return context.Cause(c.ctx)
	}
}

// answered notes that a call has its result.
func (l *Connection) answered(c *call, r hrpc.RPCResult) error {
	l.mu.Lock()
	if c.began.After(l.latest) {
		l.latest = c.began
	}
	l.mu.Unlock()
	return l.explain(r.Error)
}

// stuck reports whether a call has no answer although the server has answered one that began much later. A server reads the calls of a connection
// in order, and sends each answer when it has it: a call that is only slow, or an answer that is under way behind others, is not stuck.
func (l *Connection) stuck(c *call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest.Sub(c.began) > patience*l.tap.silence && len(c.result) == 0
}
