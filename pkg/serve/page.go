package serve

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"html/template"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/pkg/loader"
	"bulkload/pkg/query"
	"bulkload/pkg/rowjson"
	"bulkload/pkg/rowkey"
)

// contentPolicy lets pages have the service's own style and nothing else: no script at all.
const contentPolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pageBytes and pageRows bound what a page shows.
const (
	pageBytes = 1 << 20
	pageRows  = 100
)

//go:embed page
var pageFiles embed.FS

// searchPage is what the page shows.
type searchPage struct {
	Jobs   []string
	Job    string
	Table  string
	Fields []pageField
	Limit  string
	Asked  bool // with the rows below
	Names  []string
	Rows   []pageRow
	Next   string
	JSON   string
	Where  *pageWhere
	Error  *Problem
	Took   string
	MaxRow int
}

type pageField struct{ Name, Value string }

type pageRow struct {
	Key    string
	Values []pageValue
}

type pageValue struct {
	Text string
	Null bool
	Raw  bool // base64
}

type pageWhere struct {
	Parts  []pageField // part and bytes as HBase prints them
	Start  string
	Salts  int
	Region loader.Region
	From   string
	To     string
}

func (s *Server) pageRoutes(handle func(string, func(http.ResponseWriter, *http.Request) error)) {
	// the template is the program's own, which a test parses
	page := template.Must(template.ParseFS(pageFiles, "page/search.html"))
	handle("GET /{$}", func(w http.ResponseWriter, _ *http.Request) error { return sendPage(w, page, s.newPage(nil)) })
	handle("GET /page.css", func(w http.ResponseWriter, r *http.Request) error {
		http.ServeFileFS(w, r, pageFiles, "page/page.css")
		return nil
	})
	handle("GET /search/{job}", func(w http.ResponseWriter, r *http.Request) error {
		res, err := s.resource(r)
		if err != nil {
			return err
		}
		return sendPage(w, page, s.newPage(res))
	})
	handle("POST /search/{job}", func(w http.ResponseWriter, r *http.Request) error { return s.postSearch(w, r, page) })
}

func (s *Server) newPage(res *resource) *searchPage {
	p := &searchPage{MaxRow: min(pageRows, s.limits.Rows)}
	for _, r := range s.jobs.Load().list {
		p.Jobs = append(p.Jobs, r.name)
	}
	if res == nil {
		return p
	}
	p.Job, p.Table, p.Limit = res.name, res.job.Table, strconv.Itoa(min(20, p.MaxRow))
	for _, c := range res.columns {
		p.Fields = append(p.Fields, pageField{Name: c})
	}
	return p
}

// postSearch shows the rows of a form. Keys come in its body, since addresses
// are kept in the logs of those between.
func (s *Server) postSearch(w http.ResponseWriter, r *http.Request, tmpl *template.Template) error {
	res, err := s.resource(r)
	if err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return problem(badMedia, "the form sends application/x-www-form-urlencoded")
	}
	body, free, err := s.body(w, r)
	if err != nil {
		return err
	}
	defer free()
	began := time.Now()
	page := s.newPage(res)
	given, err := pairs(string(body), append(slices.Clone(res.columns), "limit", "page"))
	if err == nil {
		for i := range page.Fields {
			page.Fields[i].Value = given[page.Fields[i].Name]
		}
		if given["limit"] != "" {
			page.Limit = given["limit"]
		}
		err = s.search(r, res, given, page)
	}
	page.Took = time.Since(began).Round(100 * time.Microsecond).String()
	if page.Error = asProblem(err); page.Error != nil {
		note(r).problem = page.Error.Type[len(problemPrefix):]
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(page.Error.Status)
		return tmpl.Execute(w, page)
	}
	if err != nil {
		return err
	}
	return sendPage(w, tmpl, page)
}

// search fills in the rows.
func (s *Server) search(r *http.Request, res *resource, given map[string]string, page *searchPage) error {
	lim := s.limits
	lim.Rows = page.MaxRow
	lim.DefaultRows = min(20, lim.Rows)
	limit, err := lim.limit(given)
	if err != nil {
		return err
	}
	values, err := keyValues(given, res.columns)
	if err != nil {
		return err
	}
	var keys []string
	var b bytes.Buffer
	q := s.asked(res, query.Query{Values: values, Limit: int64(limit), Page: given["page"]})
	err = s.reading(&bodyOnly{b: &b}, r, jsonType, func(ctx context.Context, a *answer) error {
		if err := s.ready(ctx, res); err != nil {
			return err
		}
		where, err := res.table.Explain(ctx, values)
		if err != nil {
			return err
		}
		page.Where = wherePage(where)
		a.most = min(a.most, pageBytes)
		a.b = append(a.b, '{')
		if err := a.page(ctx, res, q, res.shape, func(i int, row loader.Row) { keys = append(keys[:i], rowkey.String(row.Key)) }); err != nil {
			return err
		}
		a.b = append(a.b, "}\n"...)
		return nil
	})
	if err != nil {
		return err
	}
	page.Asked = true
	return page.fill(b.Bytes(), res.shape, keys)
}

func wherePage(w *query.Where) *pageWhere {
	p := &pageWhere{Salts: w.Salts, Region: w.Region, From: rowkey.String(w.Region.Start), To: rowkey.String(w.Region.End)}
	for _, part := range w.Parts {
		text := "any"
		if part.Bytes != nil {
			text = rowkey.String(part.Bytes)
		}
		p.Parts = append(p.Parts, pageField{part.Part, text})
	}
	if w.Start != nil {
		p.Start = rowkey.String(w.Start)
	}
	return p
}

// fill makes the table of the JSON of an answer, so that both are the same.
func (p *searchPage) fill(body []byte, shape *rowjson.Shape, keys []string) error {
	var answer struct {
		Rows []map[string]json.RawMessage `json:"rows"`
		Next *string                      `json:"next_page"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	for _, c := range shape.Columns {
		p.Names = append(p.Names, c.Name)
	}
	known := len(p.Names)
	for _, row := range answer.Rows {
		for name := range row {
			if !slices.Contains(p.Names, name) {
				p.Names = append(p.Names, name)
			}
		}
	}
	slices.Sort(p.Names[known:])
	for i, row := range answer.Rows {
		r := pageRow{Key: keys[i]}
		for _, name := range p.Names {
			r.Values = append(r.Values, newPageValue(row[name]))
		}
		p.Rows = append(p.Rows, r)
	}
	if answer.Next != nil {
		p.Next = *answer.Next
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		return err
	}
	p.JSON = pretty.String()
	return nil
}

func newPageValue(raw json.RawMessage) pageValue {
	var text string
	var base64 struct {
		Text string `json:"base64"`
	}
	switch {
	case raw == nil || string(raw) == "null":
		return pageValue{Null: true}
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return pageValue{Text: text}
	case raw[0] == '{' && json.Unmarshal(raw, &base64) == nil:
		return pageValue{Text: base64.Text, Raw: true}
	}
	return pageValue{Text: strings.TrimSpace(string(raw))}
}

func sendPage(w http.ResponseWriter, tmpl *template.Template, page *searchPage) error {
	var b bytes.Buffer
	if err := tmpl.Execute(&b, page); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_, _ = w.Write(b.Bytes()) // whoever asked has gone
	return nil
}

// bodyOnly takes the body of an answer.
type bodyOnly struct {
	headerOnly
	b *bytes.Buffer
}

func (w *bodyOnly) Header() http.Header         { return http.Header{} }
func (w *bodyOnly) Write(b []byte) (int, error) { return w.b.Write(b) }
