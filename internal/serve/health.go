package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bulkload/internal/base/retry"
	"bulkload/pkg/loader"

	"golang.org/x/sync/errgroup"
)

// tableState is the result of the last probe of a table. Without a problem, a row was read, or the table is empty.
type tableState struct {
	problem *Problem
}

// probeTime is the time limit of a probe, probesAtOnce the number of concurrent probes.
const (
	probeTime    = 2 * time.Second
	probesAtOnce = 8
)

// probing reads a row of each table periodically.
func (s *Server) probing(ctx context.Context) {
	tick := time.NewTicker(s.options.ProbeEvery)
	defer tick.Stop()
	for {
		s.probeAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.probes:
		}
	}
}

// probeSoon requests probes before their regular time.
func (s *Server) probeSoon() {
	select {
	case s.probes <- struct{}{}:
	default:
	}
}

func (s *Server) probeAll(ctx context.Context) {
	if _, err := s.held.get(); err != nil { // the log reports that error separately
		for _, r := range s.resources().list {
			r.state.Store(&tableState{problem: failure(ctx, err)})
		}
		return
	}
	var g errgroup.Group
	g.SetLimit(probesAtOnce)
	for _, r := range s.resources().list {
		g.Go(func() error {
			s.probe(ctx, r)
			return nil
		})
	}
	_ = g.Wait() // no probe returns an error
}

// probe reads one row. If it cannot read a row, it asks the master for the state of the table.
func (s *Server) probe(ctx context.Context, r *resource) {
	read, cancel := context.WithTimeoutCause(ctx, probeTime, errDeadline)
	defer cancel()
	_, err := r.table.CurrentModulus(read)
	if err == nil {
		err = r.table.Probe(read)
	}
	if err == nil {
		err = r.fit.recheck(read, s.held, r.table)
	}
	for _, x := range r.indexes {
		if !x.fit.checked.Load() {
			continue
		}
		if _, err := x.rows.Table().CurrentModulus(read); err == nil {
			_ = x.fit.recheck(read, s.held, x.rows.Table()) // requests by the index get the error
		}
	}
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		if before := r.state.Swap(&tableState{}); before != nil && before.problem != nil {
			s.log.Info("table is ready", "job", r.name, "table", r.job.Table)
		}
		return
	}
	p := saltProblem(read, err)
	if p.is(timedOut) || p.is(unavailable) {
		if found := s.state(ctx, r); found != nil {
			p = found
		}
	}
	s.failed(r, p, err)
}

// state asks the master whether a table exists and is enabled.
func (s *Server) state(ctx context.Context, r *resource) *Problem {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	t, err := s.held.Describe(ctx, r.table.Name())
	switch {
	case errors.Is(err, loader.ErrTableNotFound):
		return problem(noTable, "the table of this job does not exist in HBase")
	case err == nil && t.State != loader.Enabled:
		return problem(tableDisabled, "the table of this job is %s", t.State)
	}
	return nil
}

// failed records why a table cannot be read, and logs it once.
func (s *Server) failed(r *resource, p *Problem, err error) {
	before := r.state.Swap(&tableState{problem: p})
	if before == nil || before.problem == nil || before.problem.Type != p.Type {
		s.log.Warn("table cannot be read", "job", r.name, "table", r.job.Table, "problem", p.Type, "error", err)
	}
}

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

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// JobState is the state of a job in the response of /readyz.
type JobState struct {
	Job string `json:"job"`
	// Ready means that the last probe could read the table. Otherwise Problem is the type of the problem, empty
	// before the first probe.
	Ready   bool   `json:"ready"`
	Problem string `json:"problem,omitempty"`
}

// getReady reports whether the service is ready for requests: at least one table can be read, and the service is not
// draining. A disabled table does not make the others unavailable.
func (s *Server) getReady(w http.ResponseWriter, _ *http.Request) error {
	answer := struct {
		Status string       `json:"status"` // ready, draining or unavailable
		Jobs   []JobState   `json:"jobs,omitempty"`
		Ticket *TicketState `json:"ticket,omitempty"`
	}{Status: "unavailable"}
	if s.options.Console != nil { // it answers even while the state cannot be reached
		answer.Status = "ready"
	}
	for _, r := range s.resources().list {
		st := JobState{Job: r.name}
		if state := r.state.Load(); state != nil && state.problem != nil {
			st.Problem = state.problem.Type
		} else if state != nil {
			st.Ready = true
			answer.Status = "ready"
		}
		answer.Jobs = append(answer.Jobs, st)
	}
	if s.options.Admin == nil && s.options.Clients != "" {
		answer.Jobs = nil // the client is not authenticated
	}
	if t := s.ticket.Load(); t.over(time.Now()) {
		answer.Status, answer.Ticket = "unavailable", &TicketState{t.ends.UTC()}
	}
	if s.draining.Load() {
		answer.Status = "draining"
	}
	if answer.Status == "ready" {
		return writeJSON(w, http.StatusOK, answer)
	}
	w.Header().Set("Retry-After", "1")
	return writeJSON(w, http.StatusServiceUnavailable, answer)
}

// writeJSON sends a response that has no rows.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	send(w, status, jsonType, append(b, '\n'))
	return nil
}

// send sends a complete response. On an error of the connection the client is gone.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
