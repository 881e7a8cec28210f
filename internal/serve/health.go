package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
	"bulkload/pkg/loader"

	"golang.org/x/sync/errgroup"
)

// tableState is the result of the last probe of a table; no problem means that a row was read, or that the table is empty.
type tableState struct {
	problem *Problem
}

// probeTime bounds a probe, and probesAtOnce how many are under way.
const (
	probeTime    = 2 * time.Second
	probesAtOnce = 8
)

// probing reads a row of each table over and over.
func (s *Server) probing(ctx context.Context) {
	tick := time.NewTicker(s.o.ProbeEvery)
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

// probeSoon asks for probes without waiting for their time.
func (s *Server) probeSoon() {
	select {
	case s.probes <- struct{}{}:
	default:
	}
}

func (s *Server) probeAll(ctx context.Context) {
	if _, err := s.held.get(); err != nil { // which is in the log by itself
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
	_ = g.Wait() // none has an error
}

// probe reads one row. If no row can be read, it asks the master about the table.
func (s *Server) probe(ctx context.Context, r *resource) {
	read, cancel := context.WithTimeoutCause(ctx, probeTime, errDeadline)
	defer cancel()
	_, err := r.table.Modulus(read)
	if err == nil {
		_, err = r.table.Read(read, query.Query{Raw: true, Limit: 1, Memory: spec.Size(s.limits.ScanMemory), Stored: true}, func(loader.Row) error { return nil })
	}
	if err == nil {
		err = r.fit.again(read, s.held, r)
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

// state asks the master whether a table is there and in service.
func (s *Server) state(ctx context.Context, r *resource) *Problem {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	name, err := loader.ParseTableName(r.job.Table)
	if err != nil {
		return nil
	}
	t, err := s.held.Describe(ctx, name)
	switch {
	case errors.Is(err, loader.ErrTableNotFound):
		return problem(noTable, "the table of this job does not exist in HBase")
	case err == nil && t.State != loader.Enabled:
		return problem(tableDisabled, "the table of this job is %s", t.State)
	}
	return nil
}

// failed notes what keeps a table from being read, and logs it once.
func (s *Server) failed(r *resource, p *Problem, err error) {
	before := r.state.Swap(&tableState{problem: p})
	if before == nil || before.problem == nil || before.problem.Type != p.Type {
		s.log.Warn("table cannot be read", "job", r.name, "table", r.job.Table, "problem", p.Type, "error", err)
	}
}

func (s *Server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// JobState is a job as /readyz reports it.
type JobState struct {
	Job string `json:"job"`
	// Ready says that the last probe could read the table; Problem is the type of what kept it from that, empty before the first probe.
	Ready   bool   `json:"ready"`
	Problem string `json:"problem,omitempty"`
}

// getReady reports whether requests should be sent here: at least one table can
// be read, and the service is not about to end. A table that is out of service
// does not take the others with it.
func (s *Server) getReady(w http.ResponseWriter, _ *http.Request) error {
	answer := struct {
		Status string       `json:"status"` // ready, draining or unavailable
		Jobs   []JobState   `json:"jobs,omitempty"`
		Ticket *TicketState `json:"ticket,omitempty"`
	}{Status: "unavailable"}
	if s.o.Console != nil { // it answers, also while the place of the state does not
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
	if s.o.Admin == nil && s.o.Clients != "" {
		answer.Jobs = nil // the client is not known
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

// writeJSON sends what is not made of rows.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client is gone
	return nil
}
