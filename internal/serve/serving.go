package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
