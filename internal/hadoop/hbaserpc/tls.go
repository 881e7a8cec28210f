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

// errTLS reports a server that accepts only TLS when the configuration has none.
var errTLS = errors.New("the server requires TLS: set hbase.client.netty.tls.enabled and hbase.rpc.tls.truststore.location in hbase-site.xml (is HBASE_CONF_DIR that of this cluster?)")

// dialTLS performs the TLS handshake if the options have TLS. A permanent failure is a *[LoginError].
func dialTLS(ctx context.Context, nc net.Conn, host string, o Security) (net.Conn, error) {
	if o.TLS == nil {
		return nc, nil
	}
	c, err := o.TLS.Dial(ctx, nc, host)
	if err != nil {
		return nil, forGood(err)
	}
	return &tlsConn{c}, nil
}

// forGood wraps permanent errors in a LoginError.
func forGood(err error) error {
	if _, ok := errors.AsType[*LoginError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*tlsconf.Error](err); ok {
		return &LoginError{Err: err}
	}
	return err
}

// tlsConn is a connection that the server may refuse after the handshake.
type tlsConn struct{ net.Conn }

func (c *tlsConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, forGood(err)
}

func (c *tlsConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, forGood(err)
}

// explain probes a server that closed the connection at the beginning, over new connections, to find out whether it
// requires TLS when the options have none, or the other way round.
func explain(ctx context.Context, broken net.Conn, o Security, err error) error {
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
	want, probed := probe(ctx, dial)
	switch {
	case probed != nil:
		return err
	case o.TLS == nil && want.TLS && !want.Plain:
		return &LoginError{Err: &tlsconf.Error{Err: errTLS}}
	case o.TLS != nil && want.Plain && !want.TLS:
		return &LoginError{Err: &tlsconf.Error{Err: tlsconf.ErrPlain}}
	}
	return err
}

// requirements holds the requirements of a server.
type requirements struct {
	Plain    bool // it accepts connections without TLS
	Kerberos bool // it requires a login; known if Plain
	TLS      bool // it accepts TLS; probed unless Plain
}

// askTimeout limits one probe.
const askTimeout = 5 * time.Second

// probe finds a server's requirements over connections made by dial. It reads only the server's response to a connection
// start, and does not log in.
func probe(ctx context.Context, dial func(context.Context) (net.Conn, error)) (requirements, error) {
	var w requirements
	ctx, cancel := context.WithTimeout(ctx, 2*askTimeout)
	defer cancel()
	nc, err := dial(ctx)
	if err != nil {
		return w, err
	}
	plain, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	if w.Kerberos, err = wantsKerberos(plain, nc); err == nil {
		w.Plain = true
		return w, nil
	}
	if nc, err = dial(ctx); err != nil {
		return w, err
	}
	w.TLS, err = tlsconf.Speaks(ctx, nc)
	return w, err
}

// wantsKerberos reports whether a server requires a login. It closes the connection.
func wantsKerberos(ctx context.Context, nc net.Conn) (bool, error) {
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	// The token is invalid: a server without security responds that it has none, one with
	// security refuses it.
	if _, err := nc.Write(append([]byte(preamble+byKerberos), frame([]byte{0})...)); err != nil {
		return false, err
	}
	_, err := readAnswer(nc)
	switch e, ok := errors.AsType[*LoginError](err); {
	case errors.Is(err, ErrSimple):
		return false, nil
	case err == nil || ok && e.Class != "":
		return true, nil
	}
	return false, err
}
