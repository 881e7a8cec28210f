package testcluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
)

// remoteError is an exception in the response of an HBase server.
type remoteError struct{ Class, Message string }

func (e *remoteError) Error() string { return e.Class + ": " + firstLine(e.Message) }

func firstLine(s string) string {
	line, _, _ := bytes.Cut([]byte(s), []byte{'\n'})
	return string(line)
}

// connect opens a connection to a port of this machine, with the context's deadline.
func connect(ctx context.Context, port int) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp4", local(port))
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// call makes one call to an HBase server on a new connection. It never retries, as a probe requires: gohbase would
// wait and hide the states that are probed.
func call(ctx context.Context, port int, service, method string, request, response proto.Message) error {
	conn, err := connect(ctx, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	out, err := frame(service, method, request)
	if err != nil {
		return err
	}
	if _, err := conn.Write(out); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return fmt.Errorf("answer to %s: %w", method, err)
	}
	const most = 64 << 20
	n := binary.BigEndian.Uint32(size[:])
	if n > most {
		return fmt.Errorf("answer to %s claims %d bytes, at most %d make sense", method, n, most)
	}
	body := bufio.NewReader(io.LimitReader(conn, int64(n)))
	var header pb.ResponseHeader
	if err := protodelim.UnmarshalFrom(body, &header); err != nil {
		return fmt.Errorf("answer to %s: %w", method, err)
	}
	if e := header.GetException(); e != nil {
		return &remoteError{Class: e.GetExceptionClassName(), Message: e.GetStackTrace()}
	}
	options := protodelim.UnmarshalOptions{MaxSize: most}
	if err := options.UnmarshalFrom(body, response); err != nil {
		return fmt.Errorf("answer to %s: %w", method, err)
	}
	return nil
}

// frame returns the preamble, the connection header and one request, in the form that HBase's ServerRpcConnection
// reads: "HBas", version 0, authentication 80 (none), then length-prefixed messages.
func frame(service, method string, request proto.Message) ([]byte, error) {
	hello, err := proto.Marshal(&pb.ConnectionHeader{
		UserInfo:    &pb.UserInformation{EffectiveUser: proto.String(daemonUser)},
		ServiceName: proto.String(service),
	})
	if err != nil {
		return nil, err
	}
	var call bytes.Buffer
	header := &pb.RequestHeader{CallId: proto.Uint32(1), MethodName: proto.String(method), RequestParam: proto.Bool(true)}
	for _, m := range []proto.Message{header, request} {
		if _, err := protodelim.MarshalTo(&call, m); err != nil {
			return nil, err
		}
	}
	out := append([]byte("HBas"), 0, 80)
	out = binary.BigEndian.AppendUint32(out, uint32(len(hello)))
	out = append(out, hello...)
	out = binary.BigEndian.AppendUint32(out, uint32(call.Len()))
	return append(out, call.Bytes()...), nil
}
