package hbaserpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"bulkload/internal/hadoop/hadooprpc"
	"bulkload/internal/hadoop/sasl"
	"bulkload/internal/hadoop/tlsconf"
	"bulkload/pkg/kerberos"
)

// Security has the settings of a login at a server.
type Security struct {
	// TLS holds the settings of the TLS layer below the login. Nil: plain TCP.
	TLS *tlsconf.Client
	// Kerberos is the login. Nil: no login.
	Kerberos *kerberos.Client
	// Principal is the server's principal in the form of the configuration: hbase/_HOST@REALM. Required with Kerberos.
	Principal string
	// PrincipalKey is the configuration key of Principal, for errors.
	PrincipalKey string
	// Qualities are the values of hbase.rpc.protection, the preferred one first. None: the strongest that the server
	// offers.
	Qualities []kerberos.Quality
}

// The start of a connection: the magic, version 0, and the login method (RpcConnectionHeader, AuthMethod in HBase 2.6).
const (
	preambleLen    = 6
	preamble       = "HBas\x00"
	bySimple       = "\x50"
	byKerberos     = "\x51"
	switchToSimple = -88

	maxToken = 1 << 20
)

// LoginError reports a server that refuses a login, or that is not the expected one. Retrying does not help.
type LoginError struct {
	Class string // of the server's exception, if it sent one
	Err   error
}

func (e *LoginError) Error() string {
	if _, ok := errors.AsType[*tlsconf.Error](e.Err); ok {
		return e.Err.Error()
	}
	_, principal := errors.AsType[*hadooprpc.PrincipalError](e.Err)
	if _, mismatch := errors.AsType[*kerberos.MismatchError](e.Err); principal || mismatch {
		return e.Err.Error()
	}
	return "kerberos login: " + e.Err.Error()
}

func (e *LoginError) Unwrap() error { return e.Err }

// ErrSimple reports a server that requires no login although Kerberos is configured.
var ErrSimple = errors.New("the server uses simple authentication, the configuration asks for Kerberos: set hbase.security.authentication to simple, if this is the right cluster")

// Secure logs in on a connection to a server with the given host name, above TLS if the options have it. It ends when the
// context ends. It closes the connection on failure.
func Secure(ctx context.Context, tcp net.Conn, host string, o Security) (net.Conn, error) {
	lower, err := dialTLS(ctx, tcp, host, o)
	if err != nil {
		return nil, explain(ctx, tcp, o, err)
	}
	if o.Kerberos == nil {
		return lower, nil
	}
	c, err := hadooprpc.Within(ctx, lower, func() (*SecureConn, error) { return logIn(ctx, lower, host, o) })
	if err != nil {
		return nil, explain(ctx, tcp, o, err)
	}
	return c, nil
}

func logIn(ctx context.Context, nc net.Conn, host string, o Security) (*SecureConn, error) {
	service, realm, err := hadooprpc.Service(o.Principal, host)
	if err != nil {
		return nil, &LoginError{Err: &hadooprpc.PrincipalError{Key: o.PrincipalKey, Err: err}}
	}
	s, token, err := o.Kerberos.Initiate(ctx, service, realm)
	if errors.Is(err, kerberos.ErrUnknownService) {
		err = &hadooprpc.PrincipalError{Key: o.PrincipalKey, Err: err}
	}
	if errors.Is(err, kerberos.ErrNoKDC) || errors.Is(err, kerberos.ErrNotRenewed) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, &LoginError{Err: err}
	}
	client := sasl.GSSAPI(s, token, o.Qualities)
	response, err := client.Step(nil)
	if err != nil {
		return nil, &LoginError{Err: err}
	}
	if _, err := nc.Write(append([]byte(preamble+byKerberos), frame(response)...)); err != nil {
		return nil, err
	}
	for !client.Done() {
		challenge, err := readAnswer(nc)
		if e, ok := errors.AsType[*LoginError](err); ok && e.Class != "" && client.Refused() {
			return nil, fmt.Errorf("kerberos login: %w", e.Err) // the next attempt has another ticket
		}
		if err != nil {
			return nil, err
		}
		response, err := client.Step(challenge)
		if err != nil {
			if _, ok := errors.AsType[*kerberos.MismatchError](err); ok {
				err = fmt.Errorf("%w (hbase.rpc.protection)", err)
			}
			return nil, &LoginError{Err: err}
		}
		if _, err := nc.Write(frame(response)); err != nil {
			return nil, err
		}
	}
	c := &SecureConn{Conn: nc}
	if l := client.Layer(); l.Quality() != kerberos.Authentication {
		c.sealed = &sasl.Sealed{Conn: nc, Layer: l, Most: maxPiece}
	}
	return c, nil
}

// frame returns a token preceded by its length.
func frame(token []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...)
}

// readAnswer reads a challenge, or the server's error.
func readAnswer(r io.Reader) ([]byte, error) {
	status, err := readInt(r)
	if err != nil {
		return nil, err
	}
	if status != 0 {
		class, err := readText(r)
		if err != nil {
			return nil, err
		}
		text, err := readText(r)
		if err != nil {
			return nil, err
		}
		return nil, &LoginError{Class: class, Err: fmt.Errorf("the server refuses: %s (its keytab is old, or clocks differ)", cmp.Or(text, class))}
	}
	n, err := readInt(r)
	switch {
	case err != nil:
		return nil, err
	case n == switchToSimple:
		return nil, &LoginError{Err: ErrSimple}
	case n < 0 || n > maxToken:
		return nil, &LoginError{Err: fmt.Errorf("the server sends a token of %d bytes", n)}
	}
	token := make([]byte, n)
	_, err = io.ReadFull(r, token)
	return token, err
}

func readInt(r io.Reader) (int32, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return int32(binary.BigEndian.Uint32(b[:])), err
}

func readText(r io.Reader) (string, error) {
	n, err := readInt(r)
	if err != nil {
		return "", err
	}
	if n < 0 || n > maxToken {
		return "", fmt.Errorf("the server sends a text of %d bytes", n)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err
}

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

// SecureConn is a connection after the login, for a client library that starts it like one without security: the
// library's preamble is discarded, because one was sent already. Several goroutines may write; each write is
// sent as a whole.
type SecureConn struct {
	net.Conn
	sealed *sasl.Sealed // nil: no protection
	mu     sync.Mutex   // guards writes
	begun  int          // bytes of the library's preamble
}

// Quality returns the connection's quality of protection.
func (c *SecureConn) Quality() kerberos.Quality {
	if c.sealed == nil {
		return kerberos.Authentication
	}
	return c.sealed.Layer.Quality()
}

func (c *SecureConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	skip := 0
	if c.begun < preambleLen {
		const begin = preamble + bySimple
		skip = min(len(p), preambleLen-c.begun)
		if string(p[:skip]) != begin[c.begun:c.begun+skip] {
			return 0, errors.New("hbase rpc: the library does not begin as version 0 without security does")
		}
		c.begun += skip
	}
	n, err := c.send(p[skip:])
	return skip + n, err
}

func (c *SecureConn) send(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case c.sealed == nil:
		return c.Conn.Write(p)
	}
	return c.sealed.Write(p)
}

// maxPiece limits a sealed piece: a server seals no more than the client's buffer, 16 MiB, and its own
// responses.
const maxPiece = 256 << 20

func (c *SecureConn) Read(p []byte) (int, error) {
	if c.sealed == nil {
		return c.Conn.Read(p)
	}
	return c.sealed.Read(p)
}
