package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// docsPage is the readable form of the API description.
type docsPage struct {
	At, Job  string
	Jobs     []string
	Version  string
	About    string
	Security string // ways to authenticate; empty: not required
	Requests []docsRequest
	Problems []docsProblem
}

type docsProblem struct {
	Type   string
	Status int
	Title  string
}

type docsRequest struct {
	Method, Path, Summary string
	Example               string // a request's path and query
	Parameters            []docsParameter
	Body, Answer          string // JSON Schema
}

type docsParameter struct {
	Name, About, Values string
	Required            bool
}

// example returns an example request of the rows of a query key or of a range, or one with the required parameters. res is the job of the path, or nil.
func (q *docsRequest) example(res *resource) string {
	if q.Method != "GET" {
		return ""
	}
	given := []string{}
	for _, p := range q.Parameters {
		switch {
		case p.Name == "prefix" && res != nil: // the columns that must be alike are complete, the next one begins so
			alike, _ := res.table.Ranges()
			given = append(given, "prefix=VALUE"+strings.Repeat(",VALUE", len(alike)))
		case p.Required || res != nil && slices.Contains(res.columns, p.Name):
			given = append(given, p.Name+"=VALUE")
		case p.Name == "limit": // it follows the others
			given = append(given, "limit=10")
		}
	}
	if len(given) == 0 {
		return q.Path
	}
	return q.Path + "?" + strings.Join(given, "&")
}

// values describes the valid values of a parameter.
func values(raw json.RawMessage) string {
	var s struct {
		Type                      string
		Enum                      []string
		Minimum, Maximum, Default *int64
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	text := map[string]string{"string": "any text", "integer": "a whole number"}[s.Type]
	if len(s.Enum) > 0 {
		text = strings.Join(s.Enum, ", ")
	}
	if s.Minimum != nil && s.Maximum != nil {
		text += fmt.Sprintf(", %d to %d", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		text += fmt.Sprintf("; %d by default", *s.Default)
	}
	return text
}

// openAPIPart is the part of the description that the page shows.
type openAPIPart struct {
	Info struct {
		Version     string
		Description string
	}
	Security []any
	Paths    map[string]map[string]struct {
		Summary    string
		Parameters []struct {
			Name, Description string
			Required          bool
			Schema            json.RawMessage
		}
		RequestBody struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema json.RawMessage }
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

// getDocs shows the OpenAPI document that the caller receives.
func (p *pages) getDocs(w http.ResponseWriter, r *http.Request) error {
	text, err := p.server.openAPIOf(r)
	if err != nil {
		return err
	}
	var d openAPIPart
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	page := &docsPage{At: "docs", Version: d.Info.Version, About: d.Info.Description}
	if len(d.Security) > 0 {
		page.Security = howToAuthenticate(p.server.ways())
	}
	for _, res := range note(r).caller.jobs.list {
		page.Jobs = append(page.Jobs, res.name)
	}
	for _, k := range kinds() {
		page.Problems = append(page.Problems, docsProblem{problemPrefix + k.name, k.status, k.title})
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for method, o := range d.Paths[path] {
			q := docsRequest{Method: strings.ToUpper(method), Path: path, Summary: o.Summary, Body: d.schema(o.RequestBody.Content[jsonType].Schema), Answer: d.schema(o.Responses["200"].Content[jsonType].Schema)}
			for _, a := range o.Parameters {
				q.Parameters = append(q.Parameters, docsParameter{a.Name, a.Description, values(a.Schema), a.Required})
			}
			var of *resource
			if name, ok := strings.CutPrefix(path, "/v1/"); ok {
				of = note(r).caller.jobs.byName[strings.Split(name, "/")[0]]
			}
			q.Example = q.example(of)
			page.Requests = append(page.Requests, q)
		}
	}
	return p.server.sendPage(w, r, p.docs, page)
}

// schema formats a schema. It resolves a reference to the description's schemas, one level deep.
func (d *openAPIPart) schema(raw json.RawMessage) string {
	var named struct {
		Ref string `json:"$ref"`
	}
	if json.Unmarshal(raw, &named) == nil && named.Ref != "" {
		raw = d.Components.Schemas[strings.TrimPrefix(named.Ref, "#/components/schemas/")]
	}
	if len(raw) == 0 {
		return ""
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil || len(out) < 80 {
		return string(raw)
	}
	return string(out)
}
