package serve

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/serve/console"
	"bulkload/pkg/kerberos"
)

// Options of a [Server].
type Options struct {
	// Jobs is the directory of the job files. Required, unless there is a Console.
	Jobs string
	// Console is the state directory or table whose jobs are served instead of rows.
	Console *console.Place
	// Clients is the file of clients and their rights. Default: all clients may read everything.
	Clients string
	// Keytab has the key of HTTP/HOST, which authenticates callers with Kerberos tickets (HTTP Negotiate); it needs Clients. Default:
	// tickets are not accepted.
	Keytab string
	// TLS are the files for encrypted connections. Default: no encryption.
	TLS *TLSFiles
	// Dial opens the cluster; it is called until it succeeds. Required, unless there is a Console.
	Dial func(ctx context.Context) (Cluster, error)
	// Ticket keeps the Kerberos ticket for HBase renewed. It returns the ticket's end, zero if there is no ticket, and an
	// error if the renewal failed. Default: no ticket.
	Ticket func(ctx context.Context) (ends time.Time, err error)
	// Limits of requests.
	Limits Limits
	// Compat also serves the paths of the service that this one replaces.
	Compat bool
	// Hosts are the names of the service that callers may use, without ports. Default: any. A service without
	// authentication lists the names of its own machine, so that no page of another site can make a browser read from
	// it.
	Hosts []string
	// Admin serves health and metrics, unencrypted, to every client that can reach it; the other listener then has neither. Serve
	// closes it. Default: the one listener serves them.
	Admin net.Listener
	// Audit receives a line of JSON for each request of a job, with keys in the form of AuditKeys. Calls are never
	// concurrent. Default: no audit log.
	Audit     io.Writer
	AuditKeys AuditKeys
	// Version of the program, for the description. Default: empty.
	Version string
	// Log receives events, and a line for each request, at level info. It never contains keys or values. Default: no log.
	Log *slog.Logger
	// WatchEvery is the interval of checking the files for changes, ProbeEvery the interval of reading a row of each
	// table. Defaults 2 s and 5 s.
	WatchEvery, ProbeEvery time.Duration
}

// Server is the reader service.
type Server struct {
	options Options
	limits  Limits
	log     *slog.Logger
	held    *held
	gate    *gate
	rates   *rates
	answers *answers
	metrics *metrics
	audit   *audit
	mux     *http.ServeMux // for callers
	admin   *http.ServeMux // for operators, nil without Options.Admin
	probes  chan struct{}  // requests immediate probes

	seen    kerberos.Seen // tokens of callers
	refused quiet
	ticket  atomic.Pointer[ticketState]

	loaded   atomic.Pointer[loaded]
	loading  sync.Mutex // one loading at a time
	draining atomic.Bool
}

// Open loads the job files, clients and certificates. All of them must be valid. It does not dial before
// [Server.Serve].
func Open(o Options) (*Server, error) {
	o.Limits = o.Limits.WithDefaults()
	if err := o.Limits.Validate(); err != nil {
		return nil, err
	}
	if err := o.AuditKeys.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.WatchEvery = cmp.Or(o.WatchEvery, 2*time.Second)
	o.ProbeEvery = cmp.Or(o.ProbeEvery, 5*time.Second)
	s := &Server{options: o, limits: o.Limits, log: o.Log, held: &held{dial: o.Dial, log: o.Log}, gate: newGate(o.Limits), rates: newRates(o.Limits.Rate),
		answers: &answers{memory: newBudget(o.Limits), most: o.Limits.Bytes}, probes: make(chan struct{}, 1)}
	s.held.dialed = s.probeSoon
	s.metrics = newMetrics(s)
	if o.Audit != nil {
		s.audit = &audit{keys: o.AuditKeys, log: s.log, w: o.Audit, failed: s.metrics.audits.Inc}
	}
	if err := s.Reload(); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

func (s *Server) resources() *resources { return s.loaded.Load().jobs }

type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	open := func(mux *http.ServeMux) func(pattern string, h handler) {
		return func(pattern string, h handler) {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				note(r).route = r.Pattern
				if err := h(w, r); err != nil {
					s.refuse(w, r, err)
				}
			})
		}
	}
	anybody := open(s.mux)
	callers := func(pattern string, h handler) {
		anybody(pattern, func(w http.ResponseWriter, r *http.Request) error {
			c, err := s.caller(w, r)
			if err != nil && !s.rates.allow(note(r).caller.key()) { // a client that guesses tokens is limited by the rate of its address
				err = problem(tooManyRequests, "more than %g requests a second", s.limits.Rate)
			}
			if err != nil {
				return err
			}
			note(r).caller = c
			if !s.rates.allow(c.key()) {
				return problem(tooManyRequests, "more than %g requests a second", s.limits.Rate)
			}
			return h(w, r)
		})
	}
	if s.options.Console != nil {
		s.consoleRoutes(callers, anybody)
	} else {
		s.rowRoutes(callers, anybody)
	}
	health := anybody
	if s.options.Admin != nil {
		s.admin = http.NewServeMux()
		health = open(s.admin)
		health("GET /metrics", s.getMetrics)
	} else {
		callers("GET /metrics", s.getMetrics)
	}
	health("GET /healthz", s.getHealth)
	health("GET /readyz", s.getReady)
}

func (s *Server) rowRoutes(callers, anybody func(pattern string, h handler)) {
	callers("GET /v1/jobs", s.getJobs)
	callers("GET /v1/{job}/rows", s.ofJob(s.getRows))
	callers("GET /v1/{job}/scan", s.ofJob(s.getScan))
	callers("POST /v1/{job}/rows:batch", s.ofJob(s.postBatch))
	callers("GET /openapi.json", s.getOpenAPI)
	s.pageRoutes(callers, anybody)
	if s.options.Compat {
		s.compatRoutes(callers)
	}
}
