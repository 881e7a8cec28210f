package serve

import (
	"net/http"
)

// caller is the client of a request.
type caller struct {
	client           // without a name if callers are not known
	principal string // Kerberos principal of the ticket that identifies the caller
	address   string
}

// key returns the key under which limits count the caller.
func (c *caller) key() string {
	if c.name != "" {
		return "client " + c.name
	}
	return c.address
}

// caller identifies the client: by certificate, Kerberos ticket or token. If clients are configured, all others are refused. It
// adds the reply to a Kerberos ticket to the response header.
func (s *Server) caller(w http.ResponseWriter, r *http.Request) (*caller, error) {
	l := s.loaded.Load()
	c := &caller{address: addressOf(r), client: client{jobs: l.jobs, tables: []string{"*"}}}
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
	c.client = *known
	return c, nil
}

// challenge adds the authentication schemes to the header: Kerberos tickets, tokens for programs, and name and token
// for browsers.
func challenge(w http.ResponseWriter, tickets bool) {
	if tickets {
		w.Header().Add("WWW-Authenticate", "Negotiate")
	}
	w.Header().Add("WWW-Authenticate", `Bearer realm="bulkload"`)
	w.Header().Add("WWW-Authenticate", `Basic realm="bulkload: a client's name, and its token as password", charset="UTF-8"`)
}
