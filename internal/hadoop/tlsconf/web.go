package tlsconf

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"time"
)

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
