package serve

import (
	"context"
	"time"
)

// ticketState is the Kerberos ticket for HBase as it was last looked at.
type ticketState struct {
	ends time.Time // zero: there is none
	err  error     // why it was not renewed, although that was due
}

// TicketState is a ticket that is about to end, or has, as /readyz reports it.
type TicketState struct {
	Ends time.Time `json:"ends"`
}

// notBefore is how long before its end a ticket that cannot be renewed makes the service not ready, so that requests are
// sent elsewhere before they fail here.
const notBefore = 2 * time.Minute

// over says that a ticket will end without another one.
func (t *ticketState) over(now time.Time) bool {
	return t != nil && !t.ends.IsZero() && (!now.Before(t.ends) || t.err != nil && t.ends.Sub(now) < notBefore)
}

// ticketing keeps the ticket for HBase renewed. Connections that are open last beyond it, so that without this none would
// ask for another one, and its end would say nothing.
func (s *Server) ticketing(ctx context.Context) {
	tick := time.NewTicker(s.o.ProbeEvery)
	defer tick.Stop()
	for {
		s.lookAtTicket(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Server) lookAtTicket(ctx context.Context) {
	ends, err := s.o.Ticket(ctx)
	if ctx.Err() != nil {
		return
	}
	before := s.ticket.Swap(&ticketState{ends, err})
	switch failed := before != nil && before.err != nil; {
	case err != nil && !failed:
		s.log.Warn("the Kerberos ticket for HBase is not renewed, trying again", "ends", ends, "error", err)
	case err == nil && failed:
		s.log.Info("the Kerberos ticket for HBase is renewed", "ends", ends)
	}
}
