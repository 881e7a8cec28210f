package tlsconf

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
)

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
