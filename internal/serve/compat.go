package serve

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/internal/serve/query"
	"bulkload/internal/serve/rowjson"
	"bulkload/pkg/loader"
)

// The envelope of the service that this one replaces. The status is always 200; the envelope has the outcome.
const (
	compatDone   = `{"rtn_sts":"S","rtn_code":"0","rtn_msg":"交易成功","sys_code":"475","data":[`
	compatFailed = `{"rtn_sts":"E","rtn_code":"-1","rtn_msg":"系统查询异常","sys_code":"475","data":null}`
	compatType   = "application/json;charset=UTF-8"
)

func (s *Server) compatRoutes(handle func(string, handler)) {
	handle("GET /hbaseweb/get/{job}", s.ofJob(s.compatGet)) // the old service had no path for a job that is not known
	handle("GET /testweb/list", s.compatList)
	handle("GET /swagger-ui.html", redirect("/docs"))
	handle("GET /v2/api-docs", redirect("/openapi.json"))
}

func redirect(to string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		http.Redirect(w, r, to, http.StatusFound)
		return nil
	}
}

// compatGet responds with all rows of a query key in the envelope, with all values as texts. If there are more rows
// than a response may have, it is an error; rows are never left out.
func (s *Server) compatGet(w http.ResponseWriter, r *http.Request, res *resource) error {
	values, ok := compatValues(r.URL, res.columns)
	note(r).keys, note(r).about = [][]string{values}, compatCaller(r.URL)
	if !ok {
		s.compatRefuse(w, r, problem(badParameter, "no query key"))
		return nil
	}
	err := s.reading(w, r, res, compatType, func(ctx context.Context, a *answer) error {
		q := s.asked(res, query.Query{Values: values, Limit: int64(s.limits.Rows)})
		q.Stored = false
		a.b = append(a.b, compatDone...)
		st, err := a.read(ctx, res.table, q, rowjson.NewEncoder(res.shape.Texts()), replaceBytes)
		if err != nil && failure(ctx, err).is(badQuery) { // no row has a key that cannot be computed from these values
			st, err = &query.ReadStats{}, nil
		}
		if err != nil {
			return err
		}
		if st.Next != "" {
			return problem(answerTooLarge, "there are more rows than an answer may have")
		}
		a.b = append(a.b, "]}"...)
		return nil
	})
	if err != nil {
		s.compatRefuse(w, r, err)
	}
	return nil
}

// compatRefuse responds with the envelope that stands for every error; the log has the problem.
func (s *Server) compatRefuse(w http.ResponseWriter, r *http.Request, err error) {
	if p := asProblem(err); p != nil {
		note(r).problem = p.Type[len(problemPrefix):]
	}
	send(w, http.StatusOK, compatType, []byte(compatFailed))
}

// compatValues returns the values of the query columns, the first value of each. It ignores other parameters. The
// column of a key with one column is required; if a key has several, a missing one is the text null.
func compatValues(u *url.URL, columns []string) ([]string, bool) {
	given, values := u.Query(), make([]string, len(columns))
	for i, c := range columns {
		switch v, ok := given[c]; {
		case ok:
			values[i] = v[0]
		case len(columns) == 1:
			return nil, false
		default:
			values[i] = "null"
		}
	}
	return values, true
}

// compatCaller returns the fields in which the old service's callers identify themselves: branch, teller, date, time,
// serial number, system.
func compatCaller(u *url.URL) map[string]string {
	about, given := map[string]string{}, u.Query()
	for _, name := range []string{"acct_bch", "buss_bch", "tx_user", "tx_dt", "tx_tm", "chnl_tx_no", "sys_code", "chnl_code", "tx_code"} {
		if v := given.Get("req_comm." + name); v != "" {
			about[name] = v[:min(len(v), 64)]
		}
	}
	return about
}

// replaceBytes makes every value valid UTF-8, with U+FFFD for invalid bytes.
func replaceBytes(_ int, row loader.Row) {
	for i := range row.Cells {
		if v := row.Cells[i].Value; !utf8.Valid(v) {
			row.Cells[i].Value = bytes.ToValidUTF8(v, []byte("\ufffd"))
		}
	}
}

// compatList responds with the tables of the job files, one a line.
func (s *Server) compatList(w http.ResponseWriter, r *http.Request) error {
	var tables []string
	for _, r := range note(r).caller.jobs.list {
		tables = append(tables, r.job.Table)
	}
	slices.Sort(tables)
	send(w, http.StatusOK, "text/plain;charset=UTF-8", []byte(strings.Join(slices.Compact(tables), "\n")+"\n"))
	return nil
}
