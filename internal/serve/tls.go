package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// TLSFiles are PEM files. They are read again with the job files.
type TLSFiles struct {
	Cert, Key string
	// ClientCA has the certificates that verify client certificates. Default: client certificates are not requested.
	ClientCA string
}

func (f *TLSFiles) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	if time.Now().After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("TLS certificate %s: it ended on %s", f.Cert, pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	if f.ClientCA != "" {
		pem, err := os.ReadFile(f.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("certificates for clients: %w", err)
		}
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates for clients: %s has none", f.ClientCA)
		}
	}
	return c, nil
}

func (f *TLSFiles) files() []string {
	if f == nil {
		return nil
	}
	return []string{f.Cert, f.Key, f.ClientCA}
}

// tlsConfig uses the last loaded files for each connection.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if c := s.loaded.Load().tls; c != nil {
			return c, nil
		}
		return nil, errors.New("no TLS configuration is loaded")
	}}
}
