package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what is served.
type Options struct {
	// Jobs is the directory of the job files. Required.
	Jobs string
	// Dial opens the cluster; it is called again until it succeeds. Required.
	Dial func(ctx context.Context) (Cluster, error)
	// Limits of requests.
	Limits Limits
	// Compat serves the paths of the service that this one replaces, too.
	Compat bool
	// Hosts are the names by which callers may reach the service, without ports. Default: any. A service without
	// authentication names those of its own machine, so that no page of another site can have a browser read from it.
	Hosts []string
	// Version of the program, for the description. Default: none.
	Version string
	// Log takes what happens, and a line for each request, at level info. Keys and values are never in it. Default: nothing
	// is logged.
	Log *slog.Logger
	// WatchEvery is how often the job files are looked at, ProbeEvery how often a row of each table is read. Defaults 2 s
	// and 5 s.
	WatchEvery, ProbeEvery time.Duration
}

// Server is the reader service.
type Server struct {
	o       Options
	limits  Limits
	log     *slog.Logger
	held    *held
	gate    *gate
	answers *answers
	mux     *http.ServeMux
	probes  chan struct{} // asks for probes at once

	jobs     atomic.Pointer[resources]
	loading  sync.Mutex // one loading at a time
	draining atomic.Bool
}

// Open loads the job files, which are wrong all together or not at all.
// Nothing is dialed before [Server.Serve].
func Open(o Options) (*Server, error) {
	o.Limits = o.Limits.WithDefaults()
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.WatchEvery == 0 {
		o.WatchEvery = 2 * time.Second
	}
	if o.ProbeEvery == 0 {
		o.ProbeEvery = 5 * time.Second
	}
	s := &Server{o: o, limits: o.Limits, log: o.Log, held: &held{dial: o.Dial, log: o.Log}, gate: newGate(o.Limits),
		answers: &answers{memory: newBudget(o.Limits.answers()), most: o.Limits.Bytes}, probes: make(chan struct{}, 1)}
	s.held.dialed = s.probeSoon
	if err := s.Reload(); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	handle := func(pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			note(r).route = r.Pattern
			if err := h(w, r); err != nil {
				s.refuse(w, r, err)
			}
		})
	}
	handle("GET /v1/jobs", s.getJobs)
	handle("GET /v1/{job}/rows", s.getRows)
	handle("GET /v1/{job}/scan", s.getScan)
	handle("POST /v1/{job}/rows:batch", s.postBatch)
	handle("GET /openapi.json", s.getOpenAPI)
	handle("GET /healthz", s.getHealth)
	handle("GET /readyz", s.getReady)
	s.pageRoutes(handle)
	if s.o.Compat {
		s.compatRoutes(handle)
	}
}

// refuse answers with a problem; who has gone is answered nothing.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	if p == nil {
		s.log.Error("request failed", "error", err)
		p = problem(internalError, "the service's log says why")
	}
	if r.Context().Err() != nil {
		note(r).gone = true
	}
	note(r).problem = p.Type[len(problemPrefix):]
	p.write(w)
}

// Handler answers requests. What [http.Server] bounds, times of headers and
// connections, is [Server.Serve]'s.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n := &noted{}
		r = r.WithContext(context.WithValue(r.Context(), notedKey{}, n))
		sent := &sentWriter{ResponseWriter: w}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", contentPolicy)
		s.route(sent, r)
		s.log.Info("request", "method", r.Method, "route", n.route, "job", n.job, "status", sent.status, "problem", n.problem, "rows", n.rows,
			"bytes", sent.bytes, "took", time.Since(began), "client", clientOf(r), "gone", n.gone)
	})
}

// route finds the handler; what the mux would say in plain text is a problem.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if !s.ourHost(r.Host) {
		s.refuse(w, r, problem(badHost, "name the service by one of its names"))
		return
	}
	if h, pattern := s.mux.Handler(r); pattern == "" {
		sniff := &headerOnly{header: http.Header{}}
		h.ServeHTTP(sniff, r)
		if allow := sniff.header.Get("Allow"); sniff.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", allow)
			s.refuse(w, r, problem(badMethod, "allowed are %s", allow))
			return
		}
		s.refuse(w, r, problem(noPath, "/openapi.json describes what there is"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) ourHost(host string) bool {
	if len(s.o.Hosts) == 0 {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return slices.Contains(s.o.Hosts, host)
}

// Serve answers on a listener, which it closes, until ctx ends; then it is no
// more ready, lets the requests under way end, and returns nil if all of them did.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	lim := s.limits
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer stop()
	loops.Go(func() { s.held.run(work) })
	loops.Go(func() { s.probing(work) })
	loops.Go(func() { s.watch(work) })
	srv := &http.Server{
		Handler: s.Handler(), ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), MaxHeaderBytes: lim.Header,
		ReadHeaderTimeout: lim.HeaderWait, ReadTimeout: lim.HeaderWait + lim.Deadline, IdleTimeout: lim.Idle,
		WriteTimeout: lim.HeaderWait + lim.QueueWait + lim.Deadline + lim.Write,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(limitConnections(l, lim.Connections)) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	s.log.Info("draining", "delay", lim.DrainDelay, "time", lim.Drain)
	delay := time.NewTimer(lim.DrainDelay)
	defer delay.Stop()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-delay.C:
	}
	last, cancel := context.WithTimeout(work, lim.Drain)
	defer cancel()
	err := srv.Shutdown(last)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were under way for more than %s, and were cut off: %w", lim.Drain, err), srv.Close())
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
