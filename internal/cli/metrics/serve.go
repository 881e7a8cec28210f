package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServeOptions configure a [Server].
type ServeOptions struct {
	Live    Live
	Labels  Labels
	Stalled time.Duration    // time without progress after which a run is unhealthy; 0: it is always healthy
	Log     *slog.Logger     // default: nothing is logged
	Now     func() time.Time // default time.Now
}

// Server serves the state of the current run: /metrics for Prometheus, /healthz, and /status with all details as
// JSON.
type Server struct {
	options  ServeOptions
	listener net.Listener
	server   *http.Server
	ended    chan error
}

// Serve listens on an address, host:port. The caller closes the result.
func Serve(address string, o ServeOptions) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	registry := prometheus.NewPedanticRegistry()
	for _, err := range []error{
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
		prometheus.WrapRegistererWith(prometheus.Labels(o.Labels), registry).Register(o.Live.Collector()),
	} {
		if err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, listener: listener, ended: make(chan error, 1)}
	errorLog := slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: errorLog, MaxRequestsInFlight: 8, Timeout: 10 * time.Second}))
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, o.Live.Progress()) })
	s.server = &http.Server{Handler: mux, ErrorLog: errorLog, MaxHeaderBytes: 64 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute}
	go func() { s.ended <- s.server.Serve(listener) }()
	return s, nil
}

// Addr returns the server's address.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close waits for running requests until the context ends, and then closes their connections.
func (s *Server) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	if err != nil {
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	}
	return nil
}

// Health is the response of /healthz.
type Health struct {
	Status string `json:"status"` // ok, paused or stalled
	Phase  string `json:"phase"`  // empty between phases
	// Since is the time since the last progress, in seconds.
	Since float64 `json:"since_progress_seconds"`
	// After is the value of Since from which the run is stalled; 0: it never is.
	After float64 `json:"stalled_after_seconds"`
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	since := max(s.options.Now().Sub(s.options.Live.Moved()), 0)
	h, code := Health{Status: "ok", Phase: Phase(s.options.Live.Progress()), Since: since.Seconds(), After: s.options.Stalled.Seconds()}, http.StatusOK
	if s.options.Live.paused() {
		h.Status = "paused"
	} else if s.options.Stalled > 0 && since > s.options.Stalled {
		h.Status, code = "stalled", http.StatusServiceUnavailable
	}
	answer(w, code, h)
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // on an error the client is gone
}
