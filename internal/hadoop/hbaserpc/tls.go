package hbaserpc

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"bulkload/internal/hadoop/tlsconf"
)

// ErrTLS is of a server that takes TLS alone where the configuration says nothing of it.
var ErrTLS = errors.New("the server wants TLS: set hbase.client.netty.tls.enabled and hbase.rpc.tls.truststore.location in hbase-site.xml (is HBASE_CONF_DIR that of this cluster?)")

// dialTLS shakes hands where the options say so. A failure that is for good is a *[LoginError].
func dialTLS(ctx context.Context, nc net.Conn, host string, o Options) (net.Conn, error) {
	if o.TLS == nil {
		return nc, nil
	}
	c, err := o.TLS.Dial(ctx, nc, host)
	if err != nil {
		return nil, forGood(err)
	}
	return &tlsConn{c}, nil
}

// forGood marks errors that no other try would pass by.
func forGood(err error) error {
	if _, ok := errors.AsType[*LoginError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*tlsconf.Error](err); ok {
		return &LoginError{Err: err}
	}
	return err
}

// tlsConn is a connection whose server may refuse it after the handshake.
type tlsConn struct{ net.Conn }

// Read implements [net.Conn].
func (c *tlsConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, forGood(err)
}

// Write implements [net.Conn].
func (c *tlsConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, forGood(err)
}

// explain asks a server that broke off at the beginning, on connections of their own, whether it wants what the options
// do not have, or the other way round.
func explain(ctx context.Context, broken net.Conn, o Options, err error) error {
	if _, ok := errors.AsType[*LoginError](err); ok || ctx.Err() != nil {
		return err
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	a := broken.RemoteAddr()
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, a.Network(), a.String())
	}
	want, probed := Ask(ctx, dial)
	switch {
	case probed != nil:
		return err
	case o.TLS == nil && want.TLS && !want.Plain:
		return &LoginError{Err: &tlsconf.Error{Err: ErrTLS}}
	case o.TLS != nil && want.Plain && !want.TLS:
		return &LoginError{Err: &tlsconf.Error{Err: tlsconf.ErrPlain}}
	}
	return err
}

// Wants is the protection that a server requires.
type Wants struct {
	Plain    bool // it talks without TLS
	Kerberos bool // one has to log in; known where Plain is
	TLS      bool // it talks by TLS; asked where Plain is not
}

// askTimeout bounds one question.
const askTimeout = 5 * time.Second

// Ask determines how a server wants to be talked to, by connections that dial makes. It reads nothing but how the server
// answers a beginning, and logs in nowhere.
func Ask(ctx context.Context, dial func(context.Context) (net.Conn, error)) (Wants, error) {
	var w Wants
	ctx, cancel := context.WithTimeout(ctx, 2*askTimeout)
	defer cancel()
	nc, err := dial(ctx)
	if err != nil {
		return w, err
	}
	plain, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	if w.Kerberos, err = WantsKerberos(plain, nc); err == nil {
		w.Plain = true
		return w, nil
	}
	if nc, err = dial(ctx); err != nil {
		return w, err
	}
	w.TLS, err = tlsconf.Speaks(ctx, nc)
	return w, err
}
