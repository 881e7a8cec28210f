package tlsconf

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Keys of HBase's configuration (X509Util of HBase 2.6.4).
const (
	Enabled          = "hbase.client.netty.tls.enabled"
	verifyHostname   = "hbase.client.netty.tls.verify.server.hostname"
	handshakeTimeout = "hbase.client.netty.tls.handshaketimeout" // milliseconds
	trustStore       = "hbase.rpc.tls.truststore"
	keyStore         = "hbase.rpc.tls.keystore"
	location         = ".location"
	storeType        = ".type"
	password         = ".password"
	oneProtocol      = "hbase.rpc.tls.protocol"
	enabledProtocols = "hbase.rpc.tls.enabledProtocols"
	cipherSuites     = "hbase.rpc.tls.ciphersuites"
	revocationLists  = "hbase.rpc.tls.clr" // HBase's spelling
	ocsp             = "hbase.rpc.tls.ocsp"
	reverseLookup    = "hbase.rpc.tls.host-verification.reverse-dns.enabled"
	certReload       = "hbase.rpc.tls.certReload"
	credentials      = "hadoop.security.credential.provider.path"
)

// defaultHandshake is HBase's default timeout of a handshake.
const defaultHandshake = 5 * time.Second

// Client makes TLS connections to HBase's servers. It is safe for concurrent use.
type Client struct {
	value   func(key string) string
	verify  bool // verify the server's name
	reverse bool // look up the names of an address
	reload  bool // read the stores again for each connection
	timeout time.Duration
	offer   offer
	lookup  func(ctx context.Context, addr string) ([]string, error)
	now     func() time.Time

	mu     sync.Mutex
	stores stores
}

// stores holds the contents of the trust store and the key store.
type stores struct {
	roots   *x509.CertPool      // nil: the system's
	trusted string              // for errors: the origin of roots
	trusts  []*x509.Certificate // the certificates in roots
	keys    []tls.Certificate
	keyFile string
}

// Validity is the expiry of a store: the latest of a trust store's certificates, or of each chain's first certificate in a key store.
type Validity struct {
	Key, File string // the configuration key, and the file that it names
	End       time.Time
}

// Validities returns the validities of the configured stores.
func (c *Client) Validities() (all []Validity) {
	s := c.current()
	if name := c.value(trustStore + location); name != "" && len(s.trusts) > 0 {
		last := slices.MaxFunc(s.trusts, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		all = append(all, Validity{trustStore + location, name, last.NotAfter})
	}
	for _, k := range s.keys {
		if cert, err := x509.ParseCertificate(k.Certificate[0]); err == nil {
			all = append(all, Validity{keyStore + location, s.keyFile, cert.NotAfter})
		}
	}
	return all
}

// Read returns a client for a configuration, where value returns "" for a key that is not set. It reads the stores. It
// returns nil without an error if the configuration does not enable TLS.
func Read(value func(key string) string) (*Client, error) {
	on, err := boolean(value, Enabled, false)
	if err != nil || !on {
		return nil, err
	}
	c := &Client{value: value, lookup: net.DefaultResolver.LookupAddr, now: time.Now}
	var revocation, status bool
	for _, b := range []struct {
		to      *bool
		key     string
		without bool // its default
	}{{&c.verify, verifyHostname, true}, {&c.reverse, reverseLookup, true}, {&c.reload, certReload, false}, {&revocation, revocationLists, false}, {&status, ocsp, false}} {
		if *b.to, err = boolean(value, b.key, b.without); err != nil {
			return nil, err
		}
	}
	for key, on := range map[string]bool{revocationLists: revocation, ocsp: status} {
		if on {
			return nil, fmt.Errorf("%s is true: this program does not ask whether certificates are revoked: set it to false in the client's hbase-site.xml, if that is acceptable", key)
		}
	}
	if c.timeout, err = milliseconds(value, handshakeTimeout, defaultHandshake); err != nil {
		return nil, err
	}
	if c.offer, err = readOffer(value); err != nil {
		return nil, err
	}
	c.stores, err = c.readStores()
	return c, err
}

func (c *Client) readStores() (stores, error) {
	s := stores{trusted: "the certificates that this system trusts (" + trustStore + location + " is not set)"}
	if name := c.value(trustStore + location); name != "" {
		held, err := openStore(c.value, trustStore)
		if err != nil {
			return s, err
		}
		s.roots, s.trusts = held.pool(), held.trusted
		s.trusted = fmt.Sprintf("the trust store %s (%s, certificates: %d", name, trustStore+location, len(held.trusted))
		if held.unread > 0 {
			s.trusted += fmt.Sprintf(", and %d that cannot be read", held.unread)
		}
		s.trusted += ")"
	}
	if s.keyFile = c.value(keyStore + location); s.keyFile != "" {
		held, err := openStore(c.value, keyStore)
		if err != nil {
			return s, err
		}
		s.keys = held.keys
	}
	return s, nil
}

// current returns the stores for the next connection. With hbase.rpc.tls.certReload they are read again; the previous
// ones stay in use while the files cannot be read, for instance while they are being replaced.
func (c *Client) current() stores {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reload {
		if s, err := c.readStores(); err == nil {
			c.stores = s
		}
	}
	return c.stores
}

// boolean returns a key's value. Hadoop uses the default for a value that is neither true nor false; here it is an error.
func boolean(value func(string) string, key string, without bool) (bool, error) {
	switch v := strings.ToLower(strings.TrimSpace(value(key))); v {
	case "":
		return without, nil
	case "true", "false":
		return v == "true", nil
	}
	return false, fmt.Errorf("%s is %q, neither true nor false", key, value(key))
}

func milliseconds(value func(string) string, key string, without time.Duration) (time.Duration, error) {
	text := strings.TrimSpace(value(key))
	if text == "" {
		return without, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s is %q, not a number of milliseconds above 0", key, text)
	}
	return time.Duration(n) * time.Millisecond, nil
}
