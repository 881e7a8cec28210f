package hbaserpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

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
		return nil, &LoginError{Err: fmt.Errorf("%w (%s)", err, o.PrincipalKey)}
	}
	s, token, err := o.Kerberos.Initiate(ctx, service, realm)
	if errors.Is(err, kerberos.ErrNoKDC) || ctx.Err() != nil {
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
		if err != nil {
			return nil, err
		}
		response, err := client.Step(challenge)
		if err != nil {
			if _, ok := errors.AsType[*kerberos.MismatchError](err); ok {
				err = fmt.Errorf("protection of RPC: %w (hbase.rpc.protection)", err)
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
		return nil, &LoginError{Class: class, Err: fmt.Errorf("the server refuses: %s: %s (its log says why: most likely the ticket is for another key than the one in its keytab, or the clocks differ)", class, text)}
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
