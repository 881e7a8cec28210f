package hadooprpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
	"bulkload/pkg/kerberos"
)

// Caller makes calls on a connection, one at a time. It must be used by one goroutine.
type Caller struct {
	conn     *Conn
	protocol string
	call     int32
}

// NewCaller returns a Caller for version 1 of a protocol, which must be the one named to [Dial].
func NewCaller(c *Conn, protocol string) *Caller { return &Caller{conn: c, protocol: protocol} }

// Close closes the connection.
func (c *Caller) Close() error { return c.conn.Close() }

// Call makes a call and waits for its response. Request and response are Protocol Buffers messages. After an error other
// than an [*Error] the connection cannot be used.
func (c *Caller) Call(ctx context.Context, method string, request []byte) (response []byte, err error) {
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() {
			err = errors.Join(context.Cause(ctx), err)
		}
	}()
	c.call++
	h := frames.AppendNumber(frames.AppendEach(nil, method, c.protocol), 3, 1)
	if _, err := c.conn.Write(appendPacket(nil, requestHeader(c.call, c.conn.client), h, request)); err != nil {
		return nil, err
	}
	packet, err := readPacket(c.conn, nil, maxAnswer)
	if err != nil {
		return nil, err
	}
	a, err := parseAnswer(packet)
	if err != nil {
		return nil, err
	}
	if a.call != c.call {
		return nil, fmt.Errorf("the server answers call %d, not %d", a.call, c.call)
	}
	body, n := protowire.ConsumeBytes(a.body)
	if n < 0 {
		return nil, errors.New("an answer is malformed")
	}
	return body, nil
}

// ClientProtocol is the name of the NameNode protocol.
const ClientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

// DelegationToken requests a token from a NameNode (ClientProtocol.getDelegationToken). renewer may renew it. Its
// service is empty: the user of the token sets it.
func (c *Caller) DelegationToken(ctx context.Context, renewer string) (*kerberos.Token, error) {
	answer, err := c.Call(ctx, "getDelegationToken", frames.AppendBytes(nil, 1, renewer))
	if err != nil {
		return nil, fmt.Errorf("get a delegation token: %w", err)
	}
	return issued(answer)
}

func issued(response []byte) (*kerberos.Token, error) {
	var message []byte
	ok := frames.Into(response, frames.To{1: &message})
	t, whole := parseToken(message)
	switch {
	case !ok || !whole:
		return nil, errors.New("get a delegation token: the NameNode's answer is malformed")
	case len(t.Identifier) == 0 || len(t.Password) == 0:
		return nil, errors.New("get a delegation token: the NameNode gives none: it issues tokens only after a Kerberos login")
	}
	return &t, nil
}

// CancelToken cancels a token.
func (c *Caller) CancelToken(ctx context.Context, t *kerberos.Token) error {
	if _, err := c.Call(ctx, "cancelDelegationToken", frames.AppendBytes(nil, 1, appendToken(nil, t))); err != nil {
		return fmt.Errorf("cancel a delegation token: %w", err)
	}
	return nil
}

// appendToken appends a TokenProto (Security.proto).
func appendToken(dst []byte, t *kerberos.Token) []byte {
	return frames.AppendEach(dst, t.Identifier, t.Password, []byte(t.Kind), []byte(t.Service))
}

func parseToken(message []byte) (t kerberos.Token, ok bool) {
	ok = frames.Into(message, frames.To{1: &t.Identifier, 2: &t.Password, 3: &t.Kind, 4: &t.Service})
	t.Identifier, t.Password = bytes.Clone(t.Identifier), bytes.Clone(t.Password)
	return t, ok
}
