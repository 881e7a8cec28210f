package serve

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/serve/query"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
)

// contentPolicy allows pages only the service's own style, and no scripts.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pageBytes and pageRows limit the contents of a page; pageMemory is the memory to build one.
const (
	pageBytes  = 1 << 20
	pageRows   = 100
	pageMemory = 12 * pageBytes
)

//go:embed page
var pageFiles embed.FS

// pages are the templates, which are part of the program: a test parses them.
type pages struct {
	server       *Server
	search, docs *template.Template
}

func (s *Server) pageRoutes(callers, anybody func(string, handler)) {
	p := &pages{server: s,
		search: template.Must(template.ParseFS(pageFiles, "page/layout.html", "page/search.html")),
		docs:   template.Must(template.ParseFS(pageFiles, "page/layout.html", "page/docs.html")),
	}
	callers("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		return s.sendPage(w, r, p.search, p.newPage(r, nil))
	})
	callers("GET /docs", p.getDocs)
	callers("GET /search/{job}", s.ofJob(func(w http.ResponseWriter, r *http.Request, res *resource) error {
		return s.sendPage(w, r, p.search, p.newPage(r, res))
	}))
	callers("POST /search/{job}", s.ofJob(p.postSearch))
	anybody("GET /page.css", func(w http.ResponseWriter, r *http.Request) error {
		http.ServeFileFS(w, r, pageFiles, "page/page.css")
		return nil
	})
}

// newPage returns the page of a job before a query, or of no job.
func (p *pages) newPage(r *http.Request, res *resource) *searchPage {
	page := &searchPage{MaxRow: min(pageRows, p.server.limits.Rows), At: "search"}
	for _, r := range note(r).caller.jobs.list {
		page.Jobs = append(page.Jobs, r.name)
	}
	if res == nil {
		return page
	}
	page.Job, page.Table, page.Key, page.Limit = res.name, res.job.Table, res.job.Key(), strconv.Itoa(min(20, page.MaxRow))
	for _, c := range res.columns {
		page.Fields = append(page.Fields, pageField{Name: c})
	}
	for _, x := range res.indexes {
		if !res.shows(x) {
			continue
		}
		form := pageIndex{Name: x.name}
		for _, c := range x.columns {
			form.Fields = append(form.Fields, pageField{Name: c})
		}
		page.Indexes = append(page.Indexes, form)
	}
	page.Range = rangeAbout(res)
	page.Bounds = []pageField{{Name: "from"}, {Name: "to"}, {Name: "prefix"}}
	return page
}

// postSearch shows the rows of a form's query key or range. The keys are in the body, since intermediaries log
// addresses.
func (p *pages) postSearch(w http.ResponseWriter, r *http.Request, res *resource) error {
	s := p.server
	body, free, err := s.formBody(w, r)
	if err != nil {
		return err
	}
	defer free()
	size, memory := min(pageMemory, s.limits.Bytes+s.limits.Body), s.answers.memory.of(note(r).caller)
	if !memory.take(size) {
		return noMemory()
	}
	defer memory.give(size)
	page := p.newPage(r, res)
	known := append(slices.Clone(res.columns), "limit", "page")
	var x *index
	if page.Scan = r.URL.RawQuery == "scan"; page.Scan {
		known = []string{"from", "to", "prefix", "limit", "page"}
	} else if by, ok := strings.CutPrefix(r.URL.RawQuery, "by="); ok {
		if by, err = url.QueryUnescape(by); err != nil {
			return problem(badParameter, "%s", err).withParameter("by")
		}
		if x, err = res.index(by); err != nil {
			return err
		}
		page.By, known = x.name, append(slices.Clone(x.columns), "limit", "page")
	} else if r.URL.RawQuery != "" {
		return problem(badParameter, "the form's address has none, scan, or an index as by")
	}
	given, err := pairs(string(body), known)
	if err == nil {
		page.keep(given)
		err = p.find(r, res, x, given, page)
	}
	if page.Error = asProblem(err); err != nil && page.Error == nil {
		return err
	}
	return s.sendPage(w, r, p.search, page)
}

// find fills in the rows; x is the index that the form uses, or nil.
func (p *pages) find(r *http.Request, res *resource, x *index, given map[string]string, page *searchPage) error {
	s := p.server
	lim := s.limits
	lim.Rows = page.MaxRow
	lim.DefaultRows = min(20, lim.Rows)
	limit, err := lim.limit(given)
	if err != nil {
		return err
	}
	q := query.Query{Limit: int64(limit), Page: given["page"]}
	var from source = res.table
	columns := res.columns
	if x != nil {
		from, columns = x, x.columns
	}
	if page.Scan {
		for name, text := range given {
			if text == "" { // an empty field means no bound
				delete(given, name)
			}
		}
		err = rangeOf(given, &q)
		note(r).keys = [][]string{{given["from"], given["to"], given["prefix"]}}
	} else {
		q.Values, err = keyValues(given, columns)
		note(r).keys = [][]string{q.Values}
	}
	if err != nil {
		return err
	}
	var keys []string
	var b bytes.Buffer
	began := time.Now()
	err = s.reading(&bodyOnly{b: &b}, r, res, jsonType, func(ctx context.Context, a *answer) error {
		if !page.Scan && x == nil {
			where, err := res.table.Explain(ctx, q.Values)
			if err != nil {
				return err
			}
			page.Where = wherePage(where)
		}
		a.most = min(a.most, pageBytes)
		each := func(i int, row loader.Row) { keys = append(keys[:i], rowkey.String(row.Key)) }
		err := a.page(ctx, from, s.asked(res, q), res.shape, each)
		a.b = append(a.b, '\n')
		return err
	})
	if err != nil {
		return err
	}
	page.Asked = true
	page.times(note(r), time.Since(began))
	return page.fill(b.Bytes(), res.shape, keys)
}

// sendPage builds a complete page before it sends it. A page with a problem has the problem's status.
func (s *Server) sendPage(w http.ResponseWriter, r *http.Request, t *template.Template, page any) error {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page", page); err != nil {
		return err
	}
	status := http.StatusOK
	if failed, ok := page.(interface{ problem() *Problem }); ok && failed.problem() != nil {
		p := failed.problem()
		note(r).problem = p.Type[len(problemPrefix):]
		status = p.Status
		if p.retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(p.retry))
		}
	}
	send(w, status, htmlType, b.Bytes())
	return nil
}

// bodyOnly captures the body of a response.
type bodyOnly struct {
	headerOnly
	b *bytes.Buffer
}

func (w *bodyOnly) Header() http.Header         { return http.Header{} }
func (w *bodyOnly) Write(b []byte) (int, error) { return w.b.Write(b) }
