package testcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"
)

// HBase's RPC with TLS, each format of store once, with and without Kerberos.
func TestTLS(t *testing.T) {
	SecuredAll(t)
	both := AtLevel(Privacy)
	both.TLS = PKCS12
	for _, s := range []Security{{TLS: PEM, TLSClients: true}, {TLS: JKS}, both} {
		t.Run(s.describe(), func(t *testing.T) { testTLS(t, Secured(t, s)) })
	}
}

func testTLS(t *testing.T, c *Cluster) {
	a := c.AdminT(t)
	run(t, a, "create", "tls")
	defer run(t, a, "drop", "tls")
	run(t, a, "put", "tls", "4x", "f:a", "hello")
	if got := run(t, a, "digest", "tls"); got != helloDigest {
		t.Errorf("digest %s", got)
	}
	authority, err := os.ReadFile(c.TrustStore(PEM))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	key, err := tls.LoadX509KeyPair(c.ClientStore(PEM), c.ClientStore(PEM))
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []int{c.Ports().Master, c.Ports().RegionServer[0]} {
		known := &tls.Config{ServerName: "localhost", RootCAs: roots, Certificates: []tls.Certificate{key}}
		if err := talkTLS(t, port, known); err != nil {
			t.Errorf("port %d, with a certificate: %v", port, err)
		}
		if err := talkTLS(t, port, &tls.Config{ServerName: "localhost"}); err == nil {
			t.Errorf("port %d shows a certificate that all the world trusts", port)
		}
		err := talkTLS(t, port, &tls.Config{ServerName: "localhost", RootCAs: roots})
		if wants := c.Security().TLSClients; wants != (err != nil) {
			t.Errorf("port %d, without a certificate: %v", port, err)
		}
	}
	err = call(t.Context(), c.Ports().Master, "MasterService", "ListNamespaceDescriptors", &emptypb.Empty{}, &emptypb.Empty{})
	if err == nil {
		t.Error("the master answers without TLS")
	}
}

// The JDK's keytool reads every store, and finds the expected entries.
func TestStores(t *testing.T) {
	if testing.Short() {
		t.Skip("starts JVMs")
	}
	ctx := t.Context()
	lib, err := Jars(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(ctx, lib)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.layout, c.state = layout{t.TempDir()}, &state{}
	if err := c.makeStores(ctx); err != nil {
		t.Fatal(err)
	}
	path, err := tool("keytool")
	if err != nil {
		t.Fatal(err)
	}
	for form, names := range map[StoreType]map[string]string{
		JKS:    {serverStore: "PrivateKeyEntry", trustStore: "trustedCertEntry"},
		PKCS12: {clientStore: "PrivateKeyEntry", trustStore: "trustedCertEntry"},
	} {
		for name, want := range names {
			argv := []string{path, "-list", "-storetype", string(form), "-keystore", c.layout.store(name, form), "-storepass", StorePassword}
			if out, err := c.spawner.output(ctx, nil, argv, environment()); err != nil || !strings.Contains(out, want) {
				t.Errorf("%s of %s: %v\n%s", form, name, err, out)
			}
		}
	}
}

// talkTLS completes the handshake and sends data that no client sends, since a server that refuses a certificate does
// so in its first response: the end of the connection is a different error from an alert.
func talkTLS(t *testing.T, port int, conf *tls.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	plain, err := connect(ctx, port)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	conn := tls.Client(plain, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("no preamble of HBase")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	if alert := new(net.OpError); errors.As(err, &alert) && alert.Op == "remote error" {
		return err
	}
	return nil
}
