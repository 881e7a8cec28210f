package tlsconf

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// Error reports that the configurations of client and server are incompatible: retrying does not help.
type Error struct{ Err error }

func (e *Error) Error() string { return "TLS: " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// ErrPlain reports a server that answers without TLS.
var ErrPlain = errors.New("the server speaks without TLS, the configuration asks for it: set " + Enabled + " to false, or hbase.server.netty.tls.enabled to true at the servers")

// Dial makes nc a TLS connection to the server named host. It closes nc on failure. After an *[Error]
// retrying does not help.
func (c *Client) Dial(ctx context.Context, nc net.Conn, host string) (net.Conn, error) {
	s := c.current()
	h := &handshake{Client: c, stores: s, host: host, remote: remoteIP(nc)}
	conf := &tls.Config{
		ServerName: host, MinVersion: c.offer.min, MaxVersion: c.offer.max, CipherSuites: c.offer.suites,
		// VerifyConnection verifies the certificate, and the host name as HBase does.
		InsecureSkipVerify: true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			return h.verify(ctx, cs)
		},
		GetClientCertificate: h.clientCertificate,
		Time:                 c.now,
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no TLS handshake within %s (%s)", c.timeout, handshakeTimeout))
	defer cancel()
	t := tls.Client(nc, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		nc.Close()
		if ctx.Err() != nil && h.refused == nil {
			return nil, context.Cause(ctx)
		}
		return nil, h.explain(err)
	}
	return &conn{t, h}, nil
}

// conn is a TLS connection that explains why a server closes it: in TLS 1.3 a server refuses a client's certificate
// only after the client has finished its handshake.
type conn struct {
	*tls.Conn
	handshake *handshake
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.handshake.explainLate(err)
}

// Write implements [net.Conn]. A server that has refused this client no longer reads; the reason is in the data that it
// sent.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.handshake.explainLate(err)
}

// handshake is the state of one handshake.
type handshake struct {
	*Client
	stores  stores
	host    string
	remote  net.IP // nil: unknown
	refused error  // the reason why this side refuses the server

	asked bool // the server has requested a certificate
	shown bool // a certificate was sent
}

// clientCertificate returns the certificate for a server that requests one: the first with an algorithm and an authority
// that the server names.
func (h *handshake) clientCertificate(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	h.asked = true
	for i := range h.stores.keys {
		if r.SupportsCertificate(&h.stores.keys[i]) == nil {
			h.shown = true
			return &h.stores.keys[i], nil
		}
	}
	return &tls.Certificate{}, nil
}

func remoteIP(nc net.Conn) net.IP {
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		return a.IP
	}
	return nil
}

// Speaks reports whether a server accepts TLS of any version. It closes the connection.
func Speaks(ctx context.Context, nc net.Conn) (bool, error) {
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// Only the handshake is sent, so the server's identity does not matter.
	err := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}).HandshakeContext(ctx)
	if err == nil || alert(err) != "" {
		return true, nil
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return false, nil
	}
	return false, err
}

// probeTimeout limits a probe.
const probeTimeout = 5 * time.Second

// webStore is the prefix of the trust store's keys in Hadoop's ssl-client.xml.
const webStore = "ssl.client.truststore"

// Trusted returns the certificates of the trust store of ssl-client.xml, whose default type is jks. It returns nil without an error if no
// store is configured.
func Trusted(value func(key string) string) (*x509.CertPool, error) {
	if value(webStore+location) == "" {
		return nil, nil
	}
	held, err := openStore(func(key string) string {
		if v := value(key); v != "" || key != webStore+storeType {
			return v
		}
		return "jks"
	}, webStore)
	if err != nil {
		return nil, err
	}
	return held.pool(), nil
}

// openable returns a JKS store with the digest of the empty password in place of its own. Java opens a store without a password, and does not verify the digest
// then; Hadoop's clients need the password of a trust store for nothing else.
func openable(text []byte) []byte {
	body := text[:len(text)-sha1.Size]
	digest := sha1.Sum(append([]byte("Mighty Aphrodite"), body...)) // JavaKeyStore.getPreKeyedHash
	return append(slices.Clone(body), digest[:]...)
}

// isJKS reports whether a store has the JDK's own format, and a digest.
func isJKS(text []byte) bool {
	return len(text) > 12+sha1.Size && binary.BigEndian.Uint32(text) == jksMagic
}

// webHandshake limits a connect and its handshake.
const webHandshake = 30 * time.Second

// WebDialer returns the function that an [net/http.Transport] calls for https. It verifies a server by conf's authorities, nil for the system's, and by its
// name as Java's clients do: a certificate without alternative names is for the common name, which is what keytool writes. After an *[Error] retrying does
// not help. A conf with InsecureSkipVerify is used unchanged.
func WebDialer(conf *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		c := &tls.Config{}
		if conf != nil {
			c = conf.Clone()
		}
		c.ServerName = host
		h := &handshake{Client: &Client{now: time.Now}, stores: stores{roots: c.RootCAs, trusted: "the store of " + webStore + location}}
		if c.RootCAs == nil {
			h.stores.trusted = "the certificates that this system trusts (" + webStore + location + " is not set)"
		}
		if !c.InsecureSkipVerify {
			c.InsecureSkipVerify = true // VerifyConnection verifies
			c.VerifyConnection = func(cs tls.ConnectionState) error {
				if h.refused = h.verifyChain(cs.PeerCertificates); h.refused == nil && !named(cs.PeerCertificates[0], host) {
					h.refused = fmt.Errorf("the server's certificate is for %s, not for %s: check that this is the right server", names(cs.PeerCertificates[0]), host)
				}
				return h.refused
			}
		}
		ctx, cancel := context.WithTimeout(ctx, webHandshake)
		defer cancel()
		nc, err := (&tls.Dialer{Config: c}).DialContext(ctx, network, addr)
		if h.refused != nil {
			return nil, &Error{h.refused}
		}
		return nc, err
	}
}
