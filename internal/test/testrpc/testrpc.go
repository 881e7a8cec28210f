// Package testrpc is the server's side of HBase's RPC: [Serve] answers the calls that a client makes on a connection by a function, and [Pipes]
// dials such servers without a network, which may be in a bubble of synctest.
//
// It is a small leaf of its own, shared by the tests of hbaserpc and loader.
package testrpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Call is a call that a client makes. The function that answers it fills in the answer.
type Call struct {
	Method  string
	Request proto.Message // of gohbase's type for the method, else a message of unknown fields
	Answer  proto.Message // of gohbase's type for the method, else an empty one
	Cells   []byte        // cell block of the answer
	Raw     []byte        // sent instead of the answer, if there are any
	Pause   time.Duration // after the first bytes of the answer
}

// Exception is the error of a function whose client gets an exception.
type Exception struct{ Class, Message string }

func (e *Exception) Error() string { return e.Class + ": " + e.Message }

// The errors of a function that gives no answer, and of one that closes the connection instead.
var (
	ErrSilent = errors.New("no answer")
	ErrBroken = errors.New("connection closed")
)

// Serve answers the calls on a connection until it ends, each in a goroutine of its own.
func Serve(nc net.Conn, answer func(c *Call) error) {
	writing := make(chan struct{}, 1) // a mutex would stop the clock of synctest
	var answers sync.WaitGroup
	defer answers.Wait()
	if _, err := io.CopyN(io.Discard, nc, 6); err != nil || readFrame(nc) == nil {
		return
	}
	for {
		request := readFrame(nc)
		header, n := protowire.ConsumeBytes(request)
		param, m := protowire.ConsumeBytes(request[max(n, 0):])
		var head pb.RequestHeader
		if n < 0 || m < 0 || proto.Unmarshal(header, &head) != nil {
			return
		}
		c := &Call{Method: head.GetMethodName(), Request: message(head.GetMethodName() + "Request"), Answer: message(head.GetMethodName() + "Response")}
		if proto.Unmarshal(param, c.Request) != nil {
			return
		}
		answers.Go(func() {
			frame := c.answered(&pb.ResponseHeader{CallId: head.CallId}, answer(c))
			writing <- struct{}{}
			defer func() { <-writing }()
			if frame == nil {
				nc.Close()
			} else if _, err := nc.Write(frame[:min(5, len(frame))]); err == nil && len(frame) > 5 {
				<-time.After(c.Pause)
				_, _ = nc.Write(frame[5:])
			}
		})
	}
}

// answered returns the bytes of the answer, nil to close the connection.
func (c *Call) answered(head *pb.ResponseHeader, err error) []byte {
	thrown, ok := errors.AsType[*Exception](err)
	switch {
	case errors.Is(err, ErrSilent):
		return []byte{}
	case ok:
		head.Exception = &pb.ExceptionResponse{ExceptionClassName: &thrown.Class, StackTrace: proto.String(thrown.Error() + "\n")}
	case err != nil:
		return nil
	case c.Raw != nil:
		return c.Raw
	case len(c.Cells) > 0:
		head.CellBlockMeta = &pb.CellBlockMeta{Length: proto.Uint32(uint32(len(c.Cells)))}
	}
	header, err := proto.Marshal(head)
	answer, failed := proto.MarshalOptions{AllowPartial: true}.Marshal(c.Answer)
	if err != nil || failed != nil {
		return nil
	}
	return Frame(header, append(protowire.AppendBytes(nil, answer), c.Cells...))
}

// Frame returns an answer with the fields of a header, and the bytes after it.
func Frame(header, rest []byte) []byte {
	body := append(protowire.AppendBytes(nil, header), rest...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// readFrame returns nil at the end of the connection.
func readFrame(nc net.Conn) []byte {
	var size [4]byte
	if _, err := io.ReadFull(nc, size[:]); err != nil || size[0] != 0 {
		return nil
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(nc, b); err != nil {
		return nil
	}
	return b
}

// message returns a new message of gohbase's type of a name, else an empty one.
func message(name string) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("pb." + name))
	if err != nil {
		return &emptypb.Empty{}
	}
	return t.New().Interface()
}

// Pipes is a dialer that counts its connections, each to a server that is one call of serve.
func Pipes(dials *atomic.Int32, serve func(nc net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			serve(there)
		}()
		return here, nil
	}
}

// Frozen is a server that takes requests and never answers.
func Frozen(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }
