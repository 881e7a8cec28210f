package serve

import (
	"net/http"

	"bulkload/internal/serve/console"
)

// the client of a request.
type caller struct {
	name      string // the client's, empty where callers are not known
	principal string // of the ticket by which it is known
	address   string
	inFlight  int        // requests at a time, 0 for what the limits say
	jobs      *resources // those that are granted
	tables    []string   // whose jobs the console shows it
	control   []console.Action
}

// key returns the key by which limits count the caller.
func (c *caller) key() string {
	if c.name != "" {
		return "client " + c.name
	}
	return c.address
}

// caller finds the client: by certificate, Kerberos ticket or token. Where clients are named, all others are refused. The header
// of the answer gets what a ticket's sender waits for.
func (s *Server) caller(w http.ResponseWriter, r *http.Request) (*caller, error) {
	l := s.loaded.Load()
	c := &caller{address: addressOf(r), jobs: l.jobs, tables: []string{"*"}}
	if l.access == nil {
		return c, nil
	}
	known := l.access.certified(r)
	if proof, ok := negotiateToken(r); known == nil && ok && l.keys != nil {
		var err error
		if known, c.principal, err = s.byTicket(w, r, l, proof); err != nil {
			note(r).caller = c // for the audit log
			return nil, err
		}
	}
	if known == nil {
		known = l.access.named(r)
	}
	if known == nil {
		detail := howToAuthenticate(s.ways())
		if r.Header.Get("Authorization") != "" {
			detail = "the token is of no client"
		}
		return nil, problem(unauthenticated, "%s", detail)
	}
	c.name, c.inFlight, c.jobs, c.tables, c.control = known.name, known.inFlight, known.jobs, known.tables, known.control
	return c, nil
}

// challenge says how callers authenticate: those with a Kerberos ticket by it, programs by token, people in a browser by name and token.
func challenge(w http.ResponseWriter, tickets bool) {
	if tickets {
		w.Header().Add("WWW-Authenticate", "Negotiate")
	}
	w.Header().Add("WWW-Authenticate", `Bearer realm="bulkload"`)
	w.Header().Add("WWW-Authenticate", `Basic realm="bulkload: a client's name, and its token as password", charset="UTF-8"`)
}
