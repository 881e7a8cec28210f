package serve

import (
	"context"
	"time"

	"bulkload/internal/base/retry"
)

// ticketState is the last known state of the Kerberos ticket for HBase.
type ticketState struct {
	ends time.Time // zero: there is no ticket
	err  error     // error of a renewal that was due
}

// TicketState describes a ticket that has expired or is about to expire, in the response of /readyz.
type TicketState struct {
	Ends time.Time `json:"ends"`
}

// notBefore is the time before its end at which a ticket that cannot be renewed makes the service not ready, so that
// requests go elsewhere before they fail here.
const notBefore = 2 * time.Minute

// over reports whether a ticket has expired, or will without a successor.
func (t *ticketState) over(now time.Time) bool {
	return t != nil && !t.ends.IsZero() && (!now.Before(t.ends) || t.err != nil && t.ends.Sub(now) < notBefore)
}

// ticketing keeps the ticket for HBase renewed. Open connections outlive the ticket, so that without ticketing nothing
// would request a new one, and its end would go unnoticed.
func (s *Server) ticketing(ctx context.Context) {
	for ok := true; ok; ok = retry.Sleep(ctx, s.options.ProbeEvery) == nil {
		s.lookAtTicket(ctx)
	}
}

func (s *Server) lookAtTicket(ctx context.Context) {
	ends, err := s.options.Ticket(ctx)
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
