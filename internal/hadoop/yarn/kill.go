package yarn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hadooprpc"
)

// ClientProtocol is the name of the ResourceManager's RPC protocol for clients.
const ClientProtocol = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// Kill requests that an application be killed. It returns when the ResourceManager has accepted the request;
// [Client.Application] shows when it is done. An application that has ended is left unchanged, without an error. For
// another user's application the error is ErrDenied.
//
// The request is made by RPC, as by Hadoop's clients: with hadoop.http.authentication.type=simple, which is the default
// on clusters with Kerberos too, the REST API refuses it to every user (RMWebServices.updateAppState, Hadoop 3.4).
func (c *Client) Kill(ctx context.Context, id string) error {
	m := applicationID.FindStringSubmatch(id)
	if m == nil {
		return fmt.Errorf("%q is not an application id", id)
	}
	given, serial, _ := strings.Cut(m[1], "_")
	started, err := strconv.ParseUint(given, 10, 64)
	n, e := strconv.ParseUint(serial, 10, 64)
	if err := errors.Join(err, e); err != nil {
		return err
	}
	request := frames.AppendBytes(nil, 1, frames.AppendNumber(frames.AppendNumber(nil, 1, n), 2, started)) // KillApplicationRequestProto
	var all []error
	for _, address := range c.options.Calls {
		err = c.call(ctx, address, "forceKillApplication", request)
		if ctx.Err() != nil || !errors.Is(err, ErrUnreachable) { // a standby has no server for clients
			all = []error{err}
			break
		}
		all = append(all, err)
	}
	if err = errors.Join(all...); errors.Is(err, ErrDenied) {
		// The ResourceManager checks permissions before it checks whether the application has ended.
		if now, e := c.Application(ctx, id); e == nil && now.State.Ended() && (c.options.User == "" || now.User == c.options.User) {
			return nil
		}
	}
	return err
}

// call makes one call of ClientProtocol at one ResourceManager.
func (c *Client) call(ctx context.Context, address, method string, request []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, fmt.Errorf("no answer within %s", c.options.Timeout))
	defer cancel()
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		var conn *hadooprpc.Conn
		if host, _, _ := net.SplitHostPort(address); c.options.Login != nil {
			conn, err = hadooprpc.Dial(ctx, nc, host, *c.options.Login)
		} else {
			conn, err = hadooprpc.Open(nc, c.options.User, ClientProtocol)
		}
		if err == nil {
			defer conn.Close()
			_, err = hadooprpc.NewCaller(conn, ClientProtocol).Call(ctx, method, request)
		}
	}
	if err == nil {
		return nil
	}
	means := ErrUnreachable
	if e, ok := errors.AsType[*hadooprpc.Error](err); ok {
		text := e.Error() // of a YarnException: it has the class of the cause
		switch {
		case strings.Contains(text, "AccessControlException"), strings.Contains(text, "AuthorizationException"):
			means = ErrDenied
		case strings.Contains(text, "ApplicationNotFoundException"):
			means = ErrUnknown
		}
		line, _, _ := strings.Cut(text, "\n") // without the stack
		return &Error{URL: address, Why: printable(line, maxWhy), Err: means}
	}
	return &Error{URL: address, Err: errors.Join(means, err)}
}
