package serve

import (
	"context"
	"net"
	"net/http"
	"slices"

	"bulkload/pkg/query"
	"bulkload/pkg/rowjson"
	"bulkload/pkg/spec"
)

const jsonType = "application/json"

// resource is the job of a request's path.
func (s *Server) resource(r *http.Request) (*resource, error) {
	res := s.jobs.Load().byName[r.PathValue("job")]
	if res == nil {
		return nil, problem(noJob, "the path names no job file of this service; /v1/jobs lists them")
	}
	note(r).job = res.name
	return res, nil
}

// getRows answers with the rows of a query key.
func (s *Server) getRows(w http.ResponseWriter, r *http.Request) error {
	res, err := s.resource(r)
	if err != nil {
		return err
	}
	given, err := parameters(r, append(slices.Clone(res.columns), "limit", "page", "columns")...)
	if err != nil {
		return err
	}
	values, err := keyValues(given, res.columns)
	if err != nil {
		return err
	}
	return s.getPage(w, r, res, given, query.Query{Values: values})
}

// getScan answers with the rows of a range of the original key.
func (s *Server) getScan(w http.ResponseWriter, r *http.Request) error {
	res, err := s.resource(r)
	if err != nil {
		return err
	}
	given, err := parameters(r, "from", "to", "prefix", "limit", "page", "columns")
	if err != nil {
		return err
	}
	var q query.Query
	for name, dst := range map[string]*[]string{"from": &q.From, "to": &q.To, "prefix": &q.Prefix} {
		text, ok := given[name]
		if !ok {
			continue
		}
		if *dst, err = query.ParseValues(text); err != nil {
			return problem(badParameter, "%s", err).about(name)
		}
	}
	return s.getPage(w, r, res, given, q)
}

// getPage reads what the parameters of pages say, and answers.
func (s *Server) getPage(w http.ResponseWriter, r *http.Request, res *resource, given map[string]string, q query.Query) error {
	limit, err := s.limits.limit(given)
	if err != nil {
		return err
	}
	if q.Columns, err = columnList(given); err != nil {
		return err
	}
	shape, err := res.shapeOf(q.Columns)
	if err != nil {
		return err
	}
	if page, ok := given["page"]; ok {
		if page == "" {
			return problem(badPage, "it is empty").about("page")
		}
		q.Page = page
	}
	q.Limit = int64(limit)
	return s.reading(w, r, jsonType, func(ctx context.Context, a *answer) error {
		return s.onePage(ctx, a, res, q, shape)
	})
}

// onePage makes the answer of one query.
func (s *Server) onePage(ctx context.Context, a *answer, res *resource, q query.Query, shape *rowjson.Shape) error {
	if err := s.ready(ctx, res); err != nil {
		return err
	}
	a.b = append(a.b, '{')
	if err := a.page(ctx, res, s.asked(res, q), shape, nil); err != nil {
		return err
	}
	a.b = append(a.b, "}\n"...)
	return nil
}

// asked is a query with what all queries of the service have.
func (s *Server) asked(res *resource, q query.Query) query.Query {
	q.Memory, q.Stored, q.Steady, q.Bound = spec.Size(s.limits.ScanMemory), true, true, res.bound
	return q
}

// ready says what is known to keep a table from being read, and decides its salts if that was not done.
func (s *Server) ready(ctx context.Context, res *resource) error {
	if st := res.state.Load(); st != nil && st.problem != nil && (st.problem.is(noTable) || st.problem.is(tableDisabled)) {
		return st.problem
	}
	if _, err := s.held.get(); err != nil {
		return err
	}
	if _, err := res.table.Modulus(ctx); err != nil {
		p := failure(ctx, err)
		if p.is(badQuery) { // the job does not fit the table, whatever the caller asks
			p = problem(tableUnfit, "the job does not say the modulus of its salt, and the table does not show it")
		}
		s.failed(res, p, err)
		return p
	}
	return nil
}

// reading makes an answer within a request's deadline, place and memory, and
// sends it when it is whole.
func (s *Server) reading(w http.ResponseWriter, r *http.Request, contentType string, fill func(ctx context.Context, a *answer) error) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.limits.Deadline, errDeadline)
	defer cancel()
	client := clientOf(r)
	if err := s.gate.enter(ctx, client); err != nil {
		return failure(ctx, err)
	}
	a, err := s.answers.begin()
	if err != nil {
		s.gate.leave(client)
		return err
	}
	defer s.answers.end(a)
	err = func() error {
		defer s.gate.leave(client) // whoever takes the answer slowly keeps nobody waiting
		return fill(ctx, a)
	}()
	if err != nil {
		p := failure(ctx, err)
		if p.ours() && asProblem(err) == nil {
			s.log.Warn("request failed", "job", note(r).job, "error", err)
		}
		if p.is(timedOut) || p.is(unavailable) || p.is(noTable) {
			s.probeSoon()
		}
		return p
	}
	note(r).rows = a.rows
	a.write(w, contentType)
	return nil
}

// clientOf is who a request is counted for: the address that it is from.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
