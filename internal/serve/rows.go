package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"bulkload/internal/model/keyrange"
	"bulkload/internal/model/spec"
	"bulkload/internal/serve/query"
)

const (
	jsonType = "application/json"
	htmlType = "text/html; charset=utf-8"
)

// ofJob returns the handler of requests about the job that their path names.
func (s *Server) ofJob(h func(w http.ResponseWriter, r *http.Request, res *resource) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("job")
		res := note(r).caller.jobs.byName[name]
		switch {
		case res != nil:
			note(r).job = res.name
			return h(w, r, res)
		case s.resources().byName[name] != nil:
			return problem(forbidden, "this client may not read the job")
		}
		return problem(noJob, "the path names no job file of this service; /v1/jobs lists them")
	}
}

// getRows responds with the rows of a query key, or with those that an index refers to.
func (s *Server) getRows(w http.ResponseWriter, r *http.Request, res *resource) error {
	var from source = res.table
	columns, known := res.columns, []string{"limit", "page", "columns"}
	if by := r.URL.Query()["by"]; len(by) > 0 {
		x, err := res.index(by[0])
		if err != nil {
			return err
		}
		from, columns, known = x, x.columns, append([]string{"by"}, known...)
	}
	given, err := parameters(r, slices.Concat(columns, known)...)
	if err != nil {
		return err
	}
	values, err := keyValues(given, columns)
	if err != nil {
		return err
	}
	note(r).keys = [][]string{values}
	return s.getPage(w, r, res, from, given, query.Query{Values: values})
}

func (s *Server) getScan(w http.ResponseWriter, r *http.Request, res *resource) error {
	given, err := parameters(r, "from", "to", "prefix", "limit", "page", "columns")
	if err != nil {
		return err
	}
	var q query.Query
	if err := rangeOf(given, &q); err != nil {
		return err
	}
	note(r).keys = [][]string{{given["from"], given["to"], given["prefix"]}}
	return s.getPage(w, r, res, res.table, given, q)
}

func rangeOf(given map[string]string, q *query.Query) error {
	for name, dst := range map[string]*[]string{"from": &q.From, "to": &q.To, "prefix": &q.Prefix} {
		text, ok := given[name]
		if !ok {
			continue
		}
		var err error
		if *dst, err = keyrange.ParseValues(text); err != nil {
			return problem(badParameter, "%s", err).withParameter(name)
		}
	}
	return nil
}

// getPage evaluates the parameters of pages, and responds with a page.
func (s *Server) getPage(w http.ResponseWriter, r *http.Request, res *resource, from source, given map[string]string, q query.Query) error {
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
			return problem(badPage, "it is empty").withParameter("page")
		}
		q.Page = page
	}
	q.Limit = int64(limit)
	return s.reading(w, r, res, jsonType, func(ctx context.Context, a *answer) error {
		err := a.page(ctx, from, s.asked(res, q), shape, nil)
		a.b = append(a.b, '\n')
		return err
	})
}

// asked returns a query with the settings of all queries of the service.
func (s *Server) asked(res *resource, q query.Query) query.Query {
	q.Memory, q.Stored, q.Steady, q.Bound, q.RowBytes = spec.Size(s.limits.ScanMemory), true, true, res.bound, s.limits.Bytes
	q.ByValue = true // an answer has no warnings
	if q.Columns == nil {
		q.Columns = res.granted
	}
	return q
}

// ready returns the known reason why a table cannot be read. Before the first rows of a job it determines the job's
// salts and compares them with rows.
func (s *Server) ready(ctx context.Context, res *resource) error {
	if st := res.state.Load(); st != nil && st.problem != nil && (st.problem.is(noTable) || st.problem.is(tableDisabled) || st.problem.is(tableUnfit)) {
		return st.problem
	}
	if _, err := s.held.get(); err != nil {
		return err
	}
	return s.fits(ctx, res, repeatCheck)
}

// fits compares the salts of a table that has rows, see [fit.check].
func (s *Server) fits(ctx context.Context, res *resource, within time.Duration) error {
	_, err := res.table.Modulus(ctx)
	if err == nil {
		err = res.fit.check(ctx, res.table, within)
	}
	if err != nil {
		p := saltProblem(ctx, err)
		if !errors.Is(ctx.Err(), context.Canceled) { // a caller that hangs up says nothing about the table
			s.failed(res, p, err)
		}
		return p
	}
	return nil
}

// saltProblem returns the problem for an error of a job's salts: the job does not fit the table, independent of the
// request.
func saltProblem(ctx context.Context, err error) *Problem {
	p := failure(ctx, err)
	if p.is(badQuery) {
		p = problem(tableUnfit, "the job does not say the modulus of its salt, and the table does not show it")
	}
	return p
}

// reading builds an answer about a job within a request's deadline, place and memory, and sends it when it is complete.
func (s *Server) reading(w http.ResponseWriter, r *http.Request, res *resource, contentType string, fill func(ctx context.Context, a *answer) error) error {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.limits.Deadline, errDeadline)
	defer cancel()
	n := note(r)
	began := time.Now()
	err := s.gate.enter(ctx, n.caller)
	n.wait = time.Since(began)
	if err != nil {
		return failure(ctx, err)
	}
	leave := sync.OnceFunc(func() { s.gate.leave(n.caller) })
	defer leave()
	a, err := s.answers.begin(n.caller)
	if err != nil {
		return err
	}
	defer s.answers.end(a)
	began = time.Now()
	if err = s.ready(ctx, res); err == nil {
		err = fill(ctx, a)
	}
	if err == nil && a.rows == 0 && res.fit.doubtful() {
		err = s.fits(ctx, res, emptyCheck)
	}
	n.read, n.encode = time.Since(began), a.encode
	if a.rereads > 0 {
		s.metrics.rereads.WithLabelValues(n.job).Add(float64(a.rereads))
	}
	leave() // a client that receives slowly does not delay others
	if err != nil {
		p := failure(ctx, err)
		if p.serverFault() && asProblem(err) == nil {
			s.log.Warn("request failed", "request", n.id, "job", n.job, "error", err)
		}
		if p.is(noTable) || p.is(tableDisabled) {
			s.failed(res, p, err) // further requests are refused at once until a probe finds the table enabled
		}
		if p.is(timedOut) || p.is(unavailable) || p.is(noTable) || p.is(tableDisabled) {
			s.probeSoon()
		}
		return p
	}
	n.rows = a.rows
	send(w, http.StatusOK, contentType, a.b)
	return nil
}

// The service's own parameters. If a query column has one of these names, its job is refused.
var ownParameters = []string{"limit", "page", "columns", "by", "from", "to", "prefix"}

// parameters parses a query string. Each parameter may be given once. Unknown parameters are errors.
func parameters(r *http.Request, known ...string) (map[string]string, error) {
	return pairs(r.URL.RawQuery, known)
}

// pairs parses name=value pairs that are separated by &.
func pairs(text string, known []string) (map[string]string, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, problem(badParameter, "the query string is not one: pairs name=value with & between them and %%XX for bytes")
	}
	given := make(map[string]string, len(values))
	for name, v := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, problem(badParameter, "unknown parameter; known: %s", cmp.Or(strings.Join(known, ", "), "none")).withParameter(name)
		case len(v) > 1:
			return nil, problem(badParameter, "the parameter is given %d times", len(v)).withParameter(name)
		}
		given[name] = v[0]
	}
	return given, nil
}

func (l Limits) limit(given map[string]string) (int, error) {
	text, ok := given["limit"]
	if !ok {
		return l.DefaultRows, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || text != strconv.Itoa(n) || n < 1 || n > l.Rows {
		return 0, problem(badParameter, "the limit is a number from 1 to %d", l.Rows).withParameter("limit")
	}
	return n, nil
}

func columnList(given map[string]string) ([]string, error) {
	text, ok := given["columns"]
	if !ok {
		return nil, nil
	}
	if text == "" {
		return nil, problem(badParameter, "no column is named").withParameter("columns")
	}
	return strings.Split(text, ","), nil
}

func keyValues(given map[string]string, columns []string) ([]string, error) {
	values := make([]string, len(columns))
	for i, c := range columns {
		v, ok := given[c]
		if !ok {
			return nil, problem(badParameter, "the parameter is missing: a query key is made of %s", strings.Join(columns, ", ")).withParameter(c)
		}
		values[i] = v
	}
	return values, nil
}

// asProblem returns the problem that an error wraps, or nil.
func asProblem(err error) *Problem {
	p, _ := errors.AsType[*Problem](err)
	return p
}
