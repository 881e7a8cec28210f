package serve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/engine/status"
	"bulkload/internal/serve/console"
	"bulkload/pkg/setting"
)

// Content security policies of the console. Its pages have one script, which is part of the service. A report, which a job has written,
// has no scripts and no origin.
const (
	consolePolicy = contentPolicy + "; script-src 'self'; connect-src 'self'"
	reportPolicy  = "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

const (
	consoleMemory = 4 << 20 // memory to build a page
	consoleRows   = 500     // jobs of a page; the JSON has all of them
)

// consolePages are the pages of a state directory or table.
type consolePages struct {
	server    *Server
	place     *console.Place
	key       []byte // key of the form tokens
	list, job *template.Template
}

func (s *Server) consoleRoutes(callers, anybody func(string, handler)) {
	parse := func(name string) *template.Template {
		return template.Must(template.New(name).Funcs(template.FuncMap{"number": setting.Thousands, "span": console.Span, "moment": momentOf}).ParseFS(pageFiles, "page/console.html", "page/"+name))
	}
	c := &consolePages{server: s, place: s.options.Console, key: make([]byte, sha256.Size), list: parse("joblist.html"), job: parse("job.html")}
	_, _ = rand.Read(c.key) // crypto/rand has no error
	shown := func(pattern string, h handler) { callers(pattern, c.bounded(h)) }
	shown("GET /{$}", c.getList)
	shown("GET /jobs.json", c.getJSON)
	shown("GET /jobs/{job}", c.getJob)
	shown("GET /jobs/{job}/report", c.getReport)
	shown("POST /jobs/{job}/{action}", c.postAction)
	for _, file := range []string{"page.css", "console.css", "console.js"} {
		anybody("GET /"+file, func(w http.ResponseWriter, r *http.Request) error {
			http.ServeFileFS(w, r, pageFiles, "page/"+file)
			return nil
		})
	}
}

// bounded runs a handler within the limits of concurrency, time and memory of a page.
func (c *consolePages) bounded(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeoutCause(r.Context(), c.server.limits.Deadline, errDeadline)
		defer cancel()
		caller := note(r).caller
		if err := c.server.gate.enter(ctx, caller); err != nil {
			return failure(ctx, err)
		}
		defer c.server.gate.leave(caller)
		size, memory := min(consoleMemory, c.server.limits.Bytes), c.server.answers.memory.of(caller)
		if !memory.take(size) {
			return noMemory()
		}
		defer memory.give(size)
		w.Header().Set("Content-Security-Policy", consolePolicy)
		return h(w, r.WithContext(ctx))
	}
}

// sees reports whether a caller may see a job: the caller must have access to all of the job's tables. A job whose table is not known yet
// is visible to callers with access to all tables.
func (c *caller) sees(s *status.State) bool {
	if slices.Contains(c.tables, "*") {
		return true
	}
	return slices.Contains(c.tables, s.Table) && !slices.ContainsFunc(s.Tables, func(t history.TableState) bool { return !slices.Contains(c.tables, t.Table) })
}

// mayAct reports whether a caller may perform an action. If clients are not named, no caller may.
func (c *caller) mayAct(a console.Action) bool {
	return c.name != "" && (slices.Contains(c.control, "*") || slices.Contains(c.control, a))
}

// look returns the view of the place, with the jobs that the caller may see.
func (c *consolePages) look(r *http.Request) console.View {
	v := c.place.Look(r.Context())
	caller := note(r).caller
	v.Jobs = slices.DeleteFunc(slices.Clone(v.Jobs), func(s *status.State) bool { return !caller.sees(s) })
	return v
}

// find returns the job that a request's path names, and the view.
func (c *consolePages) find(r *http.Request, name string) (*status.State, console.View, error) {
	s, v := c.place.Job(r.Context(), name)
	if s == nil || !note(r).caller.sees(s) {
		if !v.Away.IsZero() && v.Seen.IsZero() {
			return nil, v, problem(stateAway, "no job was seen yet: %s", v.Why)
		}
		return nil, v, problem(noState, "no job of this name has state here, or the client may not see it")
	}
	note(r).state = s.Job
	return s, v, nil
}

func (c *consolePages) getList(w http.ResponseWriter, r *http.Request) error {
	return c.server.sendPage(w, r, c.list, newListPage(c.look(r), r.URL.Query().Get("state"), r.URL.Query().Get("table"), isLive(r)))
}

// isLive reports whether a page refreshes itself: live=off in its address disables that.
func isLive(r *http.Request) bool { return r.URL.Query().Get("live") != "off" }

// consoleJSON is the view of the place for programs. Jobs have the form of the output of status.
type consoleJSON struct {
	Schema int             `json:"schema"` // version of this form: 1
	Place  string          `json:"place"`
	Seen   time.Time       `json:"seen,omitzero"`
	Away   time.Time       `json:"away_since,omitzero"`
	Why    string          `json:"why,omitempty"`
	More   int             `json:"more,omitempty"` // number of older jobs that are left out
	Jobs   []*status.State `json:"jobs"`
}

func (c *consolePages) getJSON(w http.ResponseWriter, r *http.Request) error {
	v := c.look(r)
	answer := consoleJSON{1, v.Name, v.Seen, v.Away, v.Why, v.More, []*status.State{}}
	for _, s := range v.Jobs {
		short := *s
		short.Attempts, short.Result, short.Log = nil, nil, nil // as in the list of status; the page of a job has them
		answer.Jobs = append(answer.Jobs, &short)
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (c *consolePages) getJob(w http.ResponseWriter, r *http.Request) error {
	name, asJSON := strings.CutSuffix(r.PathValue("job"), ".json")
	s, v, err := c.find(r, name)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(w, http.StatusOK, s)
	}
	page := c.newJobPage(r, s, v)
	if did := console.Action(r.URL.Query().Get("did")); slices.Contains(console.Actions(), did) {
		page.Did = did
	}
	return c.server.sendPage(w, r, c.job, page)
}

func (c *consolePages) getReport(w http.ResponseWriter, r *http.Request) error {
	s, _, err := c.find(r, r.PathValue("job"))
	if err != nil {
		return err
	}
	b, err := c.place.Report(r.Context(), s)
	if errors.Is(err, console.ErrNoReport) {
		return problem(noPath, "%s", err)
	}
	if err != nil {
		return problem(stateAway, "the report cannot be read: %s", err)
	}
	w.Header().Set("Content-Security-Policy", reportPolicy)
	send(w, http.StatusOK, htmlType, b)
	return nil
}

// postAction performs the action of a form. If that fails, the job's page shows the reason.
func (c *consolePages) postAction(w http.ResponseWriter, r *http.Request) error {
	action := console.Action(r.PathValue("action"))
	if !slices.Contains(console.Actions(), action) {
		return problem(noPath, "actions are pause, resume, stop, start and clean")
	}
	note(r).action = string(action)
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return problem(foreign, "forms of the console alone act on jobs")
	}
	s, v, err := c.find(r, r.PathValue("job"))
	if err != nil {
		return err
	}
	if !c.place.Control() || !note(r).caller.mayAct(action) {
		return problem(forbidden, "this client may not %s jobs here", action)
	}
	form, err := c.form(w, r)
	if err != nil {
		return err
	}
	if action == console.Clean && form["confirm"] != "yes" {
		note(r).action = "preview"
	}
	page := c.newJobPage(r, s, v)
	page.Live = false // it is the answer to a form: its address gives no page
	if !isBearer(r) && !hmac.Equal([]byte(form["token"]), []byte(c.token(r, s.Job))) {
		page.Error = problem(foreign, "the page is older than the console or is another client's: reload it, and try again")
		return c.server.sendPage(w, r, c.job, page)
	}
	switch {
	case !v.Away.IsZero():
		err = problem(stateAway, "nothing is done about a job that is not seen now: %s", v.Why)
	case action == console.Clean:
		page.Cleaning, err = c.place.Clean(r.Context(), s, form["confirm"] == "yes")
	default:
		err = c.place.Do(r.Context(), s, action)
	}
	if err != nil {
		if page.Error = asProblem(err); page.Error == nil {
			page.Error = problem(refused, "%s", strings.TrimSpace(err.Error()))
		}
		if _, ok := errors.AsType[*console.Refusal](err); !ok {
			c.server.log.Warn("an action about a job failed", "job", s.Job, "action", action, "error", err)
		}
	}
	if err == nil && (page.Cleaning == nil || page.Cleaning.Removed) {
		c.server.log.Info("a client acts on a job", "job", s.Job, "action", action, "client", note(r).caller.name)
	}
	if err != nil || action == console.Clean {
		return c.server.sendPage(w, r, c.job, page)
	}
	http.Redirect(w, r, "/jobs/"+s.Job+"?did="+string(action), http.StatusSeeOther)
	return nil
}

// isBearer reports whether a request has a token that browsers never send on their own, so that no page of another
// site can have sent it.
func isBearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

func (c *consolePages) form(w http.ResponseWriter, r *http.Request) (map[string]string, error) {
	body, free, err := c.server.formBody(w, r)
	if err != nil {
		return nil, err
	}
	defer free()
	return pairs(string(body), []string{"token", "confirm"})
}

// token returns the token that a form about a job must return: pages of other origins do not have it.
func (c *consolePages) token(r *http.Request, job string) string {
	h := hmac.New(sha256.New, c.key)
	_, _ = h.Write([]byte(note(r).caller.key() + "\x00" + job)) // a hash returns no error
	return hex.EncodeToString(h.Sum(nil))
}
