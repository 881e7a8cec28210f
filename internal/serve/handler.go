package serve

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Handler returns the handler for callers' requests. The limits of [http.Server], on header times and connections,
// are set by [Server.Serve].
func (s *Server) Handler() http.Handler { return s.answering(s.mux, true) }

// answering serves a mux. Every request ends with a response or a problem, and is recorded in the logs and metrics.
func (s *Server) answering(mux *http.ServeMux, callers bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n := &noted{id: newRequestID(), caller: &caller{address: addressOf(r)}}
		r = r.WithContext(context.WithValue(r.Context(), notedKey{}, n))
		sent := &sentWriter{ResponseWriter: w}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Request-Id", n.id)
		if s.draining.Load() {
			h.Set("Connection", "close") // the next request goes to another service, before this one ends
		}
		s.guarded(sent, r, mux, callers)
		s.ended(r, n, sent, began)
	})
}

// guarded turns a panic into a problem and a log line; [http.Server] would close the connection.
func (s *Server) guarded(w *sentWriter, r *http.Request, mux *http.ServeMux, callers bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		s.log.Error("request failed", "request", note(r).id, "panic", p, "stack", string(debug.Stack()))
		if w.status > 0 {
			panic(http.ErrAbortHandler) // the response has begun: the caller sees that it is cut off
		}
		s.refuse(w, r, problem(internalError, "the service's log says why"))
	}()
	s.route(w, r, mux, callers)
}

// maxMethod is the logged length of a method, which callers choose.
const maxMethod = 16

// ended records a request in the logs and metrics.
func (s *Server) ended(r *http.Request, n *noted, sent *sentWriter, began time.Time) {
	took := time.Since(began)
	s.log.Info("request", "request", n.id, "method", r.Method[:min(len(r.Method), maxMethod)], "route", n.route, "job", n.job, "status", sent.status, "problem", n.problem, "rows", n.rows,
		"bytes", sent.bytes, "took", took, "wait", n.wait, "client", n.caller.key(), "gone", n.gone)
	s.metrics.request(n, sent.status, took)
	if s.audit == nil || r.PathValue("job") == "" && n.job == "" {
		return
	}
	l := auditLine{Time: began, Request: n.id, Client: n.caller.name, Principal: n.caller.principal, Address: n.caller.address, Route: n.route, Job: cmp.Or(n.job, n.state), Action: n.action, Caller: n.about,
		Rows: n.rows, Bytes: sent.bytes, Status: sent.status, Problem: n.problem, Millis: float64(took.Microseconds()) / 1000}
	if asked := r.PathValue("job"); l.Job == "" && isJobName(asked) { // which was refused
		l.Job = asked
	}
	if s.audit.keys != NoKeys {
		for _, key := range n.keys {
			l.Keys = append(l.Keys, s.audit.keys.key(key))
		}
	}
	s.audit.write(l)
}

// refuse responds with a problem. It sends nothing if the client is gone.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	if p == nil {
		s.log.Error("request failed", "request", note(r).id, "error", err)
		p = problem(internalError, "the service's log says why")
	}
	if r.Context().Err() != nil {
		note(r).gone = true
	}
	note(r).problem = p.Type[len(problemPrefix):]
	if p.is(unauthenticated) {
		challenge(w, s.options.Keytab != "")
	}
	p.write(w)
}

// route finds the handler. It turns the plain text errors of the mux into problems.
func (s *Server) route(w http.ResponseWriter, r *http.Request, mux *http.ServeMux, callers bool) {
	if callers && !s.ourHost(r.Host) {
		s.refuse(w, r, problem(badHost, "name the service by one of its names"))
		return
	}
	if h, pattern := mux.Handler(r); pattern == "" {
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
	mux.ServeHTTP(w, r)
}

func (s *Server) ourHost(host string) bool {
	if len(s.options.Hosts) == 0 {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, ".")) // names of DNS, whose case does not matter
	return slices.Contains(s.options.Hosts, host)
}

// addressOf returns the address that a request comes from, without the port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// noted collects data about a request for its log lines and for metrics.
type noted struct {
	id      string
	route   string // the pattern, never the path or the query
	caller  *caller
	job     string
	state   string // job of the console: for the audit log only
	action  string // likewise
	problem string
	rows    int
	gone    bool // the caller has closed the connection

	wait, read, encode time.Duration // waiting for a place; reading rows, including encoding; encoding

	keys  [][]string        // query keys, or the bounds of a scan: for the audit log only
	about map[string]string // fields in which the old service's callers identify themselves
}

type notedKey struct{}

func note(r *http.Request) *noted {
	if n, ok := r.Context().Value(notedKey{}).(*noted); ok {
		return n
	}
	return &noted{caller: &caller{}}
}

// sentWriter records the status and the number of bytes of a response.
type sentWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *sentWriter) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *sentWriter) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (w *sentWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// headerOnly keeps the status and the header of a response and discards the body.
type headerOnly struct {
	header http.Header
	status int
}

func (w *headerOnly) Header() http.Header         { return w.header }
func (w *headerOnly) WriteHeader(status int)      { w.status = status }
func (w *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
