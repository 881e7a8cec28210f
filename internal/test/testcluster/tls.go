package testcluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// StoreType is a format of key stores and trust stores, with HBase's name for it.
type StoreType string

// The formats that both HBase and this package support.
const (
	PEM    StoreType = "PEM"
	JKS    StoreType = "JKS"
	PKCS12 StoreType = "PKCS12"
)

// StorePassword is the password of every store; PEM has none.
const StorePassword = "changeit"

var storeSuffix = map[StoreType]string{PEM: ".pem", JKS: ".jks", PKCS12: ".p12"}

// The stores of a cluster with TLS, each in every format.
const (
	trustStore  = "trust"  // the authority that has signed the two others
	serverStore = "server" // the key of the daemons, whose name is localhost
	clientStore = "client" // the key of clients
)

func (l layout) tls() string { return filepath.Join(l.dir, "tls") }
func (l layout) store(name string, form StoreType) string {
	return filepath.Join(l.tls(), name+storeSuffix[form])
}

// TrustStore returns the file with the authority that signed the keys of servers and clients, for a cluster with TLS.
func (c *Cluster) TrustStore(form StoreType) string { return c.layout.store(trustStore, form) }

// ClientStore returns the file with the clients' key.
func (c *Cluster) ClientStore(form StoreType) string { return c.layout.store(clientStore, form) }

func (s StoreType) validate() error {
	if _, ok := storeSuffix[s]; s != "" && !ok {
		return fmt.Errorf("test cluster: the form of TLS stores is %q, not %s, %s or %s", s, PEM, JKS, PKCS12)
	}
	return nil
}

// clientTLS adds the TLS settings of HBase's clients.
func clientTLS(l layout, s Security, hbase map[string]string) {
	if s.TLS == "" {
		return
	}
	hbase["hbase.client.netty.tls.enabled"] = "true"
	storeKeys(l, s.TLS, "truststore", trustStore, hbase)
	if s.TLSClients {
		storeKeys(l, s.TLS, "keystore", clientStore, hbase)
	}
}

// daemonTLS adds the TLS settings of the daemons, which are also clients of each other.
func daemonTLS(l layout, s Security, hbase map[string]string) {
	if s.TLS == "" {
		return
	}
	hbase["hbase.server.netty.tls.enabled"] = "true"
	// By default HBase also accepts clients without TLS.
	hbase["hbase.server.netty.tls.supportplaintext"] = "false"
	hbase["hbase.server.netty.tls.client.auth.mode"] = "NONE"
	if s.TLSClients {
		hbase["hbase.server.netty.tls.client.auth.mode"] = "NEED"
	}
	storeKeys(l, s.TLS, "keystore", serverStore, hbase)
}

func storeKeys(l layout, form StoreType, kind, name string, hbase map[string]string) {
	prefix := "hbase.rpc.tls." + kind
	hbase[prefix+".location"] = l.store(name, form)
	hbase[prefix+".type"] = string(form)
	if form != PEM {
		hbase[prefix+".password"] = StorePassword
	}
}

// makeStores writes an authority, a key for the servers and one for clients as PEM, from which Java classes create
// the other formats.
func (c *Cluster) makeStores(ctx context.Context) error {
	if err := os.MkdirAll(c.layout.tls(), 0o700); err != nil {
		return err
	}
	authority, err := newKeyPair("bulkload test authority", nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.layout.store(trustStore, PEM), authority.certPEM(), 0o644); err != nil {
		return err
	}
	for _, name := range []string{serverStore, clientStore} {
		pair, err := newKeyPair(name, authority)
		if err != nil {
			return err
		}
		text, err := pair.keyPEM()
		if err != nil {
			return err
		}
		text = append(append(text, pair.certPEM()...), authority.certPEM()...)
		if err := os.WriteFile(c.layout.store(name, PEM), text, 0o600); err != nil {
			return err
		}
	}
	argv := c.javaCommandWith(nil, "Stores", c.layout.tls(), StorePassword)
	if _, err := c.spawner.output(ctx, nil, argv, environment()); err != nil {
		return fmt.Errorf("key stores of the test cluster: %w", err)
	}
	return nil
}

type keyPair struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// newKeyPair creates a key with a certificate signed by the given authority; for nil it is a self-signed authority.
func newKeyPair(name string, by *keyPair) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name, Organization: []string{strings.ToLower(Realm)}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), BasicConstraintsValid: true,
	}
	if by == nil {
		by = &keyPair{key, cert}
		cert.IsCA, cert.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	} else {
		cert.KeyUsage = x509.KeyUsageDigitalSignature
		cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		cert.DNSNames, cert.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, errors.Join(errors.New("certificate of the test cluster"), err)
	}
	signed, err := x509.ParseCertificate(der)
	return &keyPair{key, signed}, err
}

func (p *keyPair) certPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw})
}

func (p *keyPair) keyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
