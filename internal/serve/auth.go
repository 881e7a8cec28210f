package serve

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"bulkload/pkg/kerberos"
)

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

// loadKeytab reads the key that decrypts callers' tickets.
func (s *Server) loadKeytab() (*kerberos.Acceptor, error) {
	if s.options.Clients == "" {
		return nil, errors.New("the keytab of HTTP/HOST needs the clients that principals stand for")
	}
	a, err := kerberos.NewAcceptor(s.options.Keytab, "HTTP", &s.seen)
	if err != nil {
		return nil, err
	}
	if mode, open := kerberos.OpenToOthers(s.options.Keytab); open {
		s.log.Warn("every user of this host can read the keytab and impersonate the service: chmod 600 it", "keytab", s.options.Keytab, "mode", fmt.Sprintf("%04o", mode))
	}
	s.log.Info("callers may come with Kerberos tickets", "for", strings.Join(a.Names(), " "))
	return a, nil
}

const negotiate = "Negotiate"

// negotiateToken returns the encoded token of a request with HTTP Negotiate (RFC 4559).
func negotiateToken(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, negotiate)
}

// byTicket identifies the client by a Kerberos ticket. Each token is for one request: nothing is stored for a connection,
// which may be that of a proxy for many callers.
func (s *Server) byTicket(w http.ResponseWriter, r *http.Request, l *loaded, proof string) (*client, string, error) {
	token, err := base64.StdEncoding.DecodeString(proof)
	if err != nil {
		return nil, "", problem(unauthenticated, "what follows Negotiate is not base64")
	}
	principal, reply, err := l.keys.Accept(token, r.RemoteAddr)
	if errors.Is(err, kerberos.ErrManySeen) {
		return nil, "", problem(tooManyRequests, "too many tickets were taken; ask with a token, which has no such bound")
	}
	if err != nil {
		s.log.Log(r.Context(), s.refused.level(time.Now()), "a caller's Kerberos ticket is refused", "request", note(r).id, "address", addressOf(r), "error", err)
		return nil, "", problem(unauthenticated, "the Kerberos ticket is refused; the service's log says why")
	}
	if reply != nil {
		w.Header().Set("WWW-Authenticate", negotiate+" "+base64.StdEncoding.EncodeToString(reply))
	}
	known := l.access.byPrincipal[principal]
	if known == nil {
		return nil, principal, problem(forbidden, "the principal of the ticket is not a client's")
	}
	return known, principal, nil
}

// quiet limits log lines that others can cause: the first is a warning, further ones within quietFor are debug lines.
type quiet struct {
	mu sync.Mutex
	at time.Time
}

// quietFor is the time for which further lines are debug lines.
const quietFor = 10 * time.Second

func (q *quiet) level(now time.Time) slog.Level {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.at) < quietFor {
		return slog.LevelDebug
	}
	q.at = now
	return slog.LevelWarn
}
