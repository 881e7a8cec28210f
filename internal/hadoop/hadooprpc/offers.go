package hadooprpc

import (
	"context"
	"fmt"
	"net"
	"time"
)

// simple is the method without authentication (SaslRpcServer.AuthMethod, Hadoop 3.4).
const simple = "SIMPLE"

// Offers queries a server's login methods, such as KERBEROS and TOKEN; none if it does not require
// authentication. It closes the connection.
func Offers(ctx context.Context, nc net.Conn) (methods []string, err error) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := &Conn{Conn: nc}
	if _, err := nc.Write(append([]byte(header+bySASL), c.saslPacket(&saslMessage{state: stateNegotiate})...)); err != nil {
		return nil, err
	}
	m, err := c.readSASL()
	if err != nil {
		return nil, fmt.Errorf("ask %s how to log in: %w", nc.RemoteAddr(), err)
	}
	if m.state == stateSuccess {
		return nil, nil
	}
	for _, l := range m.logins {
		if l.method == simple {
			return nil, nil // tokens may be offered as well
		}
		methods = append(methods, l.method)
	}
	return methods, nil
}
