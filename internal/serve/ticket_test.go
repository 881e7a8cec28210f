package serve

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTicket checks that the ticket for HBase is renewed, and that one that cannot be renewed makes the service not
// ready before it ends.
func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ticket ticketState
		set := func(ends time.Time, fault error) {
			mu.Lock()
			defer mu.Unlock()
			ticket = ticketState{ends, fault}
		}
		s := checks(t, Options{ProbeEvery: 5 * time.Second, Ticket: func(context.Context) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			return ticket.ends, ticket.err
		}}, 1)
		for _, r := range s.resources().list {
			r.state.Store(&tableState{})
		}
		ready := func() int { return s.get("/readyz").status }
		s.lookAtTicket(t.Context())
		if got := s.get("/metrics").body; ready() != 200 || !strings.Contains(got, "bulkload_serve_ticket_ends_seconds 0\n") {
			t.Errorf("without Kerberos: %d", ready())
		}
		ends := time.Now().Add(10 * time.Minute)
		set(ends, nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.ticketing(ctx); close(ended) }()
		synctest.Wait()
		if ready() != 200 || strings.Contains(s.get("/metrics").body, "bulkload_serve_ticket_ends_seconds 0\n") {
			t.Error("a good ticket")
		}
		set(ends, errors.New("no KDC answers"))
		<-time.After(7 * time.Minute) // of the bubble
		if ready() != 200 {
			t.Error("a ticket that lasts for another 3 minutes")
		}
		<-time.After(90 * time.Second)
		if r := s.get("/readyz"); r.status != 503 || !strings.Contains(r.body, `"ticket":{"ends":`) {
			t.Errorf("a ticket that ends in 90 s: %d %s", r.status, r.body)
		}
		if r := s.get("/v1/check/rows?check_id=A"); r.status != 200 {
			t.Errorf("a later client: %d", r.status)
		}
		set(time.Now().Add(time.Hour), nil)
		<-time.After(6 * time.Second)
		if ready() != 200 {
			t.Error("a ticket that was renewed")
		}
		<-time.After(2 * time.Hour)
		if ready() != 503 {
			t.Error("a ticket that has ended")
		}
		stop()
		<-ended
	})
}
