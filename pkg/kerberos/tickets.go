package kerberos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"bulkload/internal/base/workers"
)

// grant is a ticket with its session key.
type grant struct {
	ticket           messages.Ticket
	key              types.EncryptionKey
	since, end, till time.Time // till: end of the renewable lifetime
	pause            time.Time // no other ticket is requested before
	accepted         bool      // by the service
}

// renewalTime is the longest time before a ticket's end at which another is requested.
const renewalTime = 5 * time.Minute

// due returns when another ticket is requested: at the beginning of the last sixth of its life, at most soonest before its end.
func (g *grant) due() time.Time { return g.end.Add(-min(g.end.Sub(g.since)/6, renewalTime)) }

// fresh reports whether a ticket can be used without requesting another.
func (g *grant) fresh(now time.Time) bool {
	return g != nil && (now.Before(g.due()) || now.Before(g.end) && now.Before(g.pause))
}

func (g *grant) valid(now time.Time) bool { return g != nil && now.Before(g.end) }

// state is a login with its tickets. Each new login has a new state.
type state struct {
	krb     *client.Client // exchanges with KDCs; its own store of tickets is not used
	user    types.PrincipalName
	realm   string
	tgt     *grant
	cache   cacheFile
	tickets map[asked]*grant
	lapsed  time.Time // first failure to replace an expired tgt
}

// asked is the service of a ticket and the realm that the caller named.
type asked struct{ service, realm string }

// Ticket returns a ticket for a service, such as nn/host.example.com, of a realm; an empty realm means the host's realm in the
// configuration. A ticket is used until shortly before its end, or until its end if no KDC answers. The context bounds the wait for
// exchanges, which have the limits of gokrb5, 5 s for each KDC, and end without the caller.
func (c *Client) Ticket(ctx context.Context, service, realm string) (messages.Ticket, types.EncryptionKey, error) {
	g, _, err := c.get(ctx, asked{service, realm})
	if err != nil {
		return messages.Ticket{}, types.EncryptionKey{}, err
	}
	return g.ticket, g.key, nil
}

// get also returns the login that the ticket belongs to.
func (c *Client) get(ctx context.Context, a asked) (*grant, *state, error) {
	if g, s := c.cached(a); g.fresh(time.Now()) {
		return g, s, nil
	}
	type ticket struct {
		g *grant
		s *state
	}
	t, err := workers.Await(ctx, func() (ticket, error) {
		g, s, err := c.getAlone(ctx, a)
		return ticket{g, s}, err
	})
	return t.g, t.s, err
}

// getAlone waits for exchanges of other goroutines, and makes one's own if it is still needed.
func (c *Client) getAlone(ctx context.Context, a asked) (*grant, *state, error) {
	if err := c.begin(ctx); err != nil {
		return nil, nil, err
	}
	defer c.end()
	g, s := c.cached(a) // another goroutine may have asked for it
	switch {
	case s == nil:
		return nil, nil, net.ErrClosed
	case g.fresh(time.Now()):
		return g, s, nil
	}
	next, in, err := c.ask(s, a)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		in.tickets[a] = next
		return next, in, nil
	case g.valid(time.Now()) && errors.Is(err, ErrNoKDC) && c.state != nil:
		g = &grant{g.ticket, g.key, g.since, g.end, g.till, time.Now().Add(patience), g.accepted}
		c.state.tickets[a] = g // ask may have replaced s
		return g, c.state, nil
	}
	return nil, nil, err
}

// patience is how long a silent KDC is not asked again while a ticket is still valid.
const patience = 10 * time.Second

// cached returns the stored ticket of a service, and the present login.
func (c *Client) cached(a asked) (*grant, *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		return nil, nil
	}
	return c.state.tickets[a], c.state
}

// ask gets a ticket, after another login if needed. The caller holds c.one.
func (c *Client) ask(s *state, a asked) (*grant, *state, error) {
	if !s.tgt.fresh(time.Now()) {
		next, err := c.renewed(s)
		s = next
		switch {
		case err != nil && s.tgt.valid(time.Now()):
			s.tgt.pause = time.Now().Add(patience)
		case err != nil && (c.options.Keytab == "" || errors.Is(err, errMistake)):
			return nil, nil, s.expired(err)
		case err != nil:
			return nil, nil, err
		}
	}
	g, err := s.exchange(a)
	if err == nil {
		return g, s, nil
	}
	first := ticketError(a.service, c.options, err)
	if errors.Is(first, ErrUnknownService) || errors.Is(first, ErrNoKDC) {
		return nil, nil, first
	}
	// The KDC's database may have been recreated, or another program may have logged in.
	next, err := c.loginAgain(s)
	if err != nil {
		if err == errSame {
			return nil, nil, first
		}
		return nil, nil, errors.Join(first, err)
	}
	if g, err = next.exchange(a); err != nil {
		return nil, nil, ticketError(a.service, c.options, err)
	}
	return g, next, nil
}

// grace is how long another program may take to renew a ticket cache that has expired, or a keytab that the KDC refuses.
const grace = time.Minute

// expired returns the error of a login that has expired. It is [ErrNotRenewed] at first, and [ErrExpired] when the grace is over. The
// caller holds c.one.
func (s *state) expired(err error) error {
	now := time.Now()
	if s.lapsed.IsZero() {
		s.lapsed = now
	}
	if now.Sub(s.lapsed) < grace {
		return &explainedError{err, ErrNotRenewed}
	}
	return &explainedError{err, ErrExpired}
}

// renewed returns the login with a fresh ticket-granting ticket: a keytab logs in again; a ticket cache is read again if another program
// has written it since, else its ticket is renewed as long as the KDC allows. With an error it returns the old state. The caller holds
// c.one.
func (c *Client) renewed(s *state) (*state, error) {
	next, err := c.loginAgain(s)
	if err == nil && next.tgt.fresh(time.Now()) {
		return next, nil
	}
	if err == nil {
		s = next
	}
	if c.options.Keytab != "" {
		return s, err
	}
	if now := time.Now(); !s.tgt.valid(now) || !now.Before(s.tgt.till) {
		if err == nil || err == errSame {
			err = fmt.Errorf("ticket cache %s: the ticket of %s has expired: run kinit, or use a keytab", s.cache.path, c.principal)
		}
		return s, err
	}
	renewed, err := s.request(grantingTo(s.realm), s.realm, s.tgt, true)
	if err != nil {
		return s, ticketError("krbtgt/"+s.realm, c.options, err)
	}
	next = &state{krb: s.krb, user: s.user, realm: s.realm, cache: s.cache, tgt: renewed, tickets: map[asked]*grant{}}
	c.put(next)
	return next, nil
}

// loginAgain logs in a second time: always with a keytab; with a ticket cache, if another program has written it since, for the same user. The
// caller holds c.one.
func (c *Client) loginAgain(s *state) (*state, error) {
	if c.options.Keytab == "" {
		info, err := os.Stat(s.cache.path)
		if err != nil {
			return s, fmt.Errorf("ticket cache: %w", err)
		}
		if info.ModTime().Equal(s.cache.time) && info.Size() == s.cache.size {
			return s, errSame
		}
	}
	next, name, err := c.options.login()
	switch {
	case err != nil:
		return s, err
	case name != c.principal:
		return s, fmt.Errorf("ticket cache %s is of %s now, and was of %s when the job began: run kinit %[3]s, or use a keytab", next.cache.path, name, c.principal)
	}
	c.put(next)
	return next, nil
}

var errSame = errors.New("the ticket cache was not renewed")

// put replaces the login by another one. Tickets of the old one stay in use until they end. A closed client stays closed.
func (c *Client) put(s *state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == nil {
		return
	}
	for a, g := range c.state.tickets {
		if g.valid(time.Now()) {
			s.tickets[a] = g
		}
	}
	if c.state.krb != s.krb {
		c.state.krb.Destroy()
	}
	c.state = s
	c.keep()
}

// keep schedules the renewal of a ticket cache's ticket when it is due, whether or not tickets are requested. The caller holds c.mu.
func (c *Client) keep() {
	if c.options.Keytab != "" {
		return
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if wait := max(time.Until(c.state.tgt.due()), time.Until(c.state.tgt.pause)); time.Until(c.state.tgt.end) > 0 {
		c.timer = time.AfterFunc(max(wait, 0), c.renewInTime)
	}
}

func (c *Client) renewInTime() {
	_ = c.begin(context.Background())
	defer c.end()
	_, s := c.cached(asked{})
	if s == nil || s.tgt.fresh(time.Now()) {
		return
	}
	if _, err := c.renewed(s); err != nil { // the next caller that needs a ticket gets the error
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.state != nil {
			c.state.tgt.pause = time.Now().Add(patience)
			c.keep()
		}
	}
}

// Renew renews the login's ticket if that is due, or logs in again with a keytab, whether or not tickets are requested. The error is the
// reason of a failure; the old ticket stays in use until its end. The context bounds the wait, as of [Client.Ticket].
func (c *Client) Renew(ctx context.Context) error {
	_, err := workers.Await(ctx, func() (*state, error) {
		if err := c.begin(ctx); err != nil {
			return nil, err
		}
		defer c.end()
		_, s := c.cached(asked{})
		switch {
		case s == nil:
			return nil, net.ErrClosed
		case time.Now().Before(s.tgt.due()):
			return s, nil
		}
		return c.renewed(s)
	})
	return err
}

// begin waits until no goroutine exchanges messages with a KDC; end lets the next one.
func (c *Client) begin(ctx context.Context) error {
	select {
	case c.one <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) end() { <-c.one }

// grantingTo returns the name of a realm's ticket-granting service.
func grantingTo(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}
