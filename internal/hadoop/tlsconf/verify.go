package tlsconf

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"bulkload/pkg/setting"
)

// verify checks a server against the trust store, its name and the cipher suites.
func (h *handshake) verify(ctx context.Context, cs tls.ConnectionState) error {
	if h.refused = h.verifyChain(cs.PeerCertificates); h.refused == nil && h.Client.verify {
		h.refused = h.verifyName(ctx, cs.PeerCertificates[0])
	}
	if h.refused == nil && h.offer.only != nil && !h.offer.only[cs.CipherSuite] {
		h.refused = fmt.Errorf("the server chooses %s, which %s does not have", tls.CipherSuiteName(cs.CipherSuite), cipherSuites)
	}
	return h.refused
}

func (h *handshake) verifyChain(certs []*x509.Certificate) error {
	if len(certs) == 0 {
		return errors.New("the server shows no certificate")
	}
	o := x509.VerifyOptions{Roots: h.stores.roots, Intermediates: x509.NewCertPool(), CurrentTime: h.now()}
	for _, c := range certs[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := certs[0].Verify(o)
	if err == nil {
		return nil
	}
	leaf, now := certs[0], h.now()
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		c := invalid.Cert
		switch {
		case invalid.Reason == x509.Expired && now.Before(c.NotBefore):
			return fmt.Errorf("the certificate of %s in the server's chain is valid from %s on: compare the clocks", subject(c), day(c.NotBefore))
		case invalid.Reason == x509.Expired:
			return fmt.Errorf("the certificate of %s in the server's chain has expired on %s: have it renewed", subject(c), day(c.NotAfter))
		case invalid.Reason == x509.IncompatibleUsage:
			return fmt.Errorf("the server's certificate, of %s, is not for servers: its extended key usage lacks server authentication", subject(leaf))
		}
		return fmt.Errorf("the certificate of %s in the server's chain is not valid (reason %d of Go's x509.InvalidReason)", subject(c), invalid.Reason)
	}
	fix := "import the right authority there, or check that this is the right server"
	if h.stores.roots == nil {
		fix = "name a store with the right authority by this key, or check that this is the right server"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		last := certs[len(certs)-1]
		hint := err.Error() // Go's hint about an authority that has the right name but does not match
		switch {
		case strings.Contains(hint, "insecure algorithm"):
			return fmt.Errorf("a certificate in the server's chain, of %s, is signed by SHA-1 or MD5, which is not accepted: have it renewed", subject(leaf))
		case strings.Contains(hint, "candidate authority"):
			return fmt.Errorf("the server's certificate, of %s, is from an authority, %s, that is in %s with another key or not as an authority: %s", subject(leaf), short(last.Issuer.String()), h.stores.trusted, fix)
		}
		if bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
			return fmt.Errorf("the server's certificate, of %s, is signed by itself and not in %s: %s", subject(leaf), h.stores.trusted, strings.Replace(fix, "the right authority", "that certificate", 1))
		}
		return fmt.Errorf("the server's certificate, of %s, is from an authority, %s, that is not in %s: %s", subject(leaf), short(last.Issuer.String()), h.stores.trusted, fix)
	}
	return fmt.Errorf("the server's certificate, of %s, does not verify by %s: %s", subject(leaf), h.stores.trusted, fix)
}

// verifyName compares the certificate with the server's name as HBaseTrustManager does: the server's address is
// accepted as well, and so are names from a reverse lookup if the cluster names the server by an address.
func (h *handshake) verifyName(ctx context.Context, cert *x509.Certificate) error {
	if named(cert, h.host) || h.remote != nil && named(cert, h.remote.String()) {
		return nil
	}
	tried := h.host
	if net.ParseIP(h.host) != nil && h.reverse {
		names, err := h.lookup(ctx, h.host)
		if err != nil {
			names = nil
		}
		for _, name := range names {
			name = strings.TrimSuffix(name, ".")
			if named(cert, name) {
				return nil
			}
			tried += ", " + short(name)
		}
	}
	return fmt.Errorf("the server's certificate is for %s, not for %s: check that this is the right server; %s=false leaves this check out", names(cert), tried, verifyHostname)
}

// named reports whether a certificate is valid for a host. As in HBase, the common name is used if there are no
// alternative names.
func named(cert *x509.Certificate, host string) bool {
	if len(cert.DNSNames) > 0 || len(cert.IPAddresses) > 0 {
		return cert.VerifyHostname(host) == nil
	}
	name := cert.Subject.CommonName
	if ip := net.ParseIP(name); ip != nil {
		return ip.Equal(net.ParseIP(host))
	}
	return name != "" && (&x509.Certificate{DNSNames: []string{name}}).VerifyHostname(host) == nil
}

func names(cert *x509.Certificate) string {
	const most = 8
	all := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		all = []string{cert.Subject.CommonName}
	}
	for i := range all {
		all[i] = short(all[i])
	}
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(all, ", ")
}

func subject(c *x509.Certificate) string { return short(c.Subject.String()) }

// short returns a text from a server in printable characters, truncated to fit a line.
func short(s string) string {
	s = fmt.Sprintf("%q", s)
	return setting.Shorten(s[1:len(s)-1], 100)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// alert returns the text of an alert that a server sent, or "".
func alert(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	return ""
}

// aboutCertificates are the alerts with which a server refuses a client's certificate, or reports that both sides have
// no parameters in common.
var aboutCertificates = map[string]bool{
	"bad certificate": true, "certificate required": true, "unknown certificate authority": true, "unknown certificate": true,
	"expired certificate": true, "unsupported certificate": true, "revoked certificate": true, "access denied": true, "handshake failure": true,
}

// explainLate is explain for an error after the handshake. Only a certificate can be refused then, and a connection that
// breaks for another reason may be retried.
func (h *handshake) explainLate(err error) error {
	if err == nil || !h.asked || !aboutCertificates[alert(err)] {
		return err
	}
	return &Error{h.certificateError(alert(err))}
}

// explain returns the meaning of a failed handshake. Errors that may be transient are returned unchanged.
func (h *handshake) explain(err error) error {
	if h.refused != nil {
		return &Error{h.refused}
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return &Error{ErrPlain}
	}
	switch text := alert(err); {
	case text == "":
	case h.asked && aboutCertificates[text]:
		return &Error{h.certificateError(text)}
	case aboutCertificates[text]:
		return &Error{fmt.Errorf("the server ends the handshake (%s): compare %s and %s with the server's", text, enabledProtocols, cipherSuites)}
	case text == "protocol version not supported" || text == "insufficient security level":
		return &Error{fmt.Errorf("the server ends the handshake (%s): this side offers %s to %s: compare %s with the server's", text, tls.VersionName(h.offer.min), tls.VersionName(h.offer.max), enabledProtocols)}
	case text == "internal error" || text == "user canceled":
		return fmt.Errorf("TLS: the server ends the handshake (%s)", text)
	default:
		return &Error{fmt.Errorf("the server ends the handshake (%s)", text)}
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	return &Error{fmt.Errorf("%s (%s, %s)", strings.TrimPrefix(err.Error(), "tls: "), enabledProtocols, cipherSuites)}
}

// certificateError returns the error for a server that requested a certificate and does not accept the client's.
func (h *handshake) certificateError(text string) error {
	switch {
	case h.stores.keyFile == "":
		return fmt.Errorf("the server requires a client certificate (%s): set %s to a store with this client's key and certificate", text, keyStore+location)
	case !h.shown:
		return fmt.Errorf("the server requires a client certificate, and accepts none in %s (%s): its list of authorities or algorithms excludes them", h.stores.keyFile, text)
	}
	leaf := h.stores.keys[0].Leaf
	return fmt.Errorf("the server refuses the certificate in %s (%s; of %s, from %s, until %s): its authority is not trusted, it has expired, or it is not for clients", h.stores.keyFile, text, subject(leaf), short(leaf.Issuer.String()), day(leaf.NotAfter))
}
