package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Serve serves a listener, which it closes, until ctx ends. Then it reports that it is not ready, waits for the
// running requests, and returns nil if all of them have ended. A configuration that names no cluster ends it with an error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	lim := s.limits
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	wrong := make(chan error, 1)
	if s.options.Console == nil {
		loops.Go(func() {
			if err := s.held.run(work); err != nil {
				wrong <- err
			}
		})
		loops.Go(func() { s.probing(work) })
	}
	loops.Go(func() { s.watch(work) })
	if s.options.Ticket != nil {
		loops.Go(func() { s.ticketing(work) })
	}
	srv, l := s.server(s.Handler(), l)
	ended := make(chan error, 2)
	go func() {
		if s.options.TLS == nil {
			ended <- srv.Serve(l)
			return
		}
		srv.TLSConfig = s.tlsConfig()
		ended <- srv.ServeTLS(l, "", "")
	}()
	servers := []*http.Server{srv}
	if s.options.Admin != nil {
		admin, l := s.server(s.answering(s.admin, false), s.options.Admin)
		servers = append(servers, admin)
		go func() { ended <- admin.Serve(l) }()
	}
	failed := func(err error) error {
		for _, srv := range servers {
			err = errors.Join(err, srv.Close())
		}
		return fmt.Errorf("serve: %w", err)
	}
	select {
	case err := <-ended:
		return failed(err)
	case err := <-wrong:
		return failed(err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.log.Info("draining", "delay", lim.DrainDelay, "time", lim.Drain)
	select {
	case err := <-ended:
		return failed(err)
	case <-time.After(lim.DrainDelay):
	}
	last, cancel := context.WithTimeout(work, lim.Drain)
	defer cancel()
	err := srv.Shutdown(last)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were under way for more than %s, and were cut off: %w", lim.Drain, err), srv.Close())
	}
	for _, admin := range servers[1:] {
		err = errors.Join(err, admin.Close()) // it serves until the end
	}
	for range servers {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// server sets the time limits of requests, and the limit of a listener's connections. A connection has one request at a
// time (HTTP/1.1), so that the number of connections limits memory.
func (s *Server) server(h http.Handler, l net.Listener) (*http.Server, net.Listener) {
	lim, conns := s.limits, newConnections(s.limits.Connections)
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	srv := &http.Server{
		Handler: h, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), MaxHeaderBytes: lim.Header, Protocols: protocols,
		ReadHeaderTimeout: lim.HeaderWait, ReadTimeout: lim.HeaderWait + lim.Deadline, IdleTimeout: lim.Idle,
		WriteTimeout: lim.HeaderWait + lim.QueueWait + lim.Deadline + lim.Write, ConnState: conns.state,
	}
	srv.RegisterOnShutdown(conns.end)
	return srv, conns.limit(l)
}

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
