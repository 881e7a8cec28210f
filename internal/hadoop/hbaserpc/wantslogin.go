package hbaserpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// ErrSecured is the error of a cluster that requires a login while the configuration has none.
var ErrSecured = errors.New("the server requires a Kerberos login: set hbase.security.authentication to kerberos in hbase-site.xml (is HBASE_CONF_DIR that of this cluster?)")

// WantsLogin explains a connection that a server has broken: a server that requires a login closes it without a message that gohbase passes
// on. It returns nil if that is not the cause, without asking a server that was silent, which would be silent again.
func (c *Client) WantsLogin(ctx context.Context, err error) error {
	e, broken := errors.AsType[*ConnectionError](err)
	if !broken || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	if c.opts.Secure != nil {
		return c.wantsLoginAbove(ctx, e.Addr)
	}
	wants, err := probe(ctx, func(ctx context.Context) (net.Conn, error) { return c.opts.Dialer(ctx, "tcp", e.Addr) })
	switch {
	case err == nil && wants.Kerberos:
		return fmt.Errorf("%s: %w", e.Addr, ErrSecured)
	case err == nil && wants.TLS:
		return fmt.Errorf("%s: %w", e.Addr, errTLS)
	}
	return nil
}

// wantsLoginAbove checks the same for a connection secured by TLS, without a login above it.
func (c *Client) wantsLoginAbove(ctx context.Context, addr string) error {
	nc, err := c.opts.Dialer(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		nc.Close()
		return nil
	}
	if nc, err = c.opts.Secure(ctx, nc, host, false); err != nil {
		return nil
	}
	if _, loggedIn := nc.(*SecureConn); loggedIn {
		nc.Close()
		return nil
	}
	if wants, err := wantsKerberos(ctx, nc); err != nil || !wants {
		return nil
	}
	return fmt.Errorf("%s: %w", addr, ErrSecured)
}
