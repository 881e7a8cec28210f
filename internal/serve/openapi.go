package serve

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// object is a JSON object of the description.
type object = map[string]any

// describe returns the OpenAPI 3.1 document of job files. ways are the ways to authenticate, by the names of their
// schemes.
func describe(rs *resources, l Limits, version string, ways []string) ([]byte, error) {
	version = cmp.Or(version, "0")
	paths, schemas := object{}, object{
		"Problem": object{"type": "object", "required": []string{"type", "title", "status"}, "properties": object{
			"type": object{"type": "string", "format": "uri", "enum": problemTypes()}, "title": object{"type": "string"},
			"status": object{"type": "integer"}, "detail": object{"type": "string"}, "parameter": object{"type": "string"}}},
		"Bytes": object{"description": "Bytes that are not values of the column's type, or no UTF-8.", "type": "object", "required": []string{"base64"},
			"additionalProperties": false, "properties": object{"base64": object{"type": "string", "contentEncoding": "base64"}}},
	}
	paths["/v1/jobs"] = object{"get": operation("jobs", "The jobs whose rows are served", nil, object{"type": "object"})}
	for _, r := range rs.list {
		schemas["row_"+r.name], schemas["page_"+r.name] = rowSchema(r), pageSchema(r)
		page := ref("page_" + r.name)
		var key []any
		properties := object{}
		indexes := indexParameters(r)
		for _, c := range r.columns {
			about := "A value of the query key."
			if len(indexes) > 0 {
				about += " All of them are needed without by."
			}
			key = append(key, parameter(c, len(indexes) == 0, about, object{"type": "string"}))
			properties[c] = object{"anyOf": []any{object{"type": "string"}, ref("Bytes")}}
		}
		paged := []any{
			parameter("limit", false, "The most rows to answer with.", object{"type": "integer", "minimum": 1, "maximum": l.Rows, "default": l.DefaultRows}),
			parameter("page", false, "next_page of the page before, of the same query.", object{"type": "string"}),
			parameter("columns", false, "Columns with commas between them; all by default.", object{"type": "string"}),
		}
		paths["/v1/"+r.name+"/rows"] = object{"get": operation("rows_"+r.name, "Rows of a query key of "+r.name, slices.Concat(key, indexes, paged), page)}
		scan, summary := slices.Concat(rangeParameters(r), paged), "Rows in a range of the original key of "+r.name
		if len(scan) == len(paged) {
			summary = "All rows of " + r.name + ", in the order of their keys"
		}
		paths["/v1/"+r.name+"/scan"] = object{"get": operation("scan_"+r.name, summary, scan, page)}
		batch := operation("batch_"+r.name, "Rows of several query keys of "+r.name, nil, object{"type": "object", "required": []string{"results"}, "properties": object{
			"results": object{"type": "array", "description": "One for each key, in their order.", "items": object{"anyOf": []any{page,
				object{"type": "object", "required": []string{"problem"}, "properties": object{"problem": ref("Problem")}}}}}}})
		batch["requestBody"] = object{"required": true, "content": object{jsonType: object{"schema": object{
			"type": "object", "required": []string{"keys"}, "additionalProperties": false, "properties": object{
				"keys": object{"type": "array", "minItems": 1, "maxItems": l.Keys, "items": object{
					"type": "object", "required": r.columns, "additionalProperties": false, "properties": properties}},
				"columns": object{"type": "array", "minItems": 1, "items": object{"type": "string"}},
				"limit":   object{"type": "integer", "minimum": 1, "maximum": l.Rows, "default": l.DefaultRows},
			}}}}}
		paths["/v1/"+r.name+"/rows:batch"] = object{"post": batch}
	}
	components := object{"schemas": schemas}
	var security []any
	if len(ways) > 0 {
		all := object{"token": object{"type": "http", "scheme": "bearer"}, "basic": object{"type": "http", "scheme": "basic"}, "certificate": object{"type": "mutualTLS"},
			"kerberos": object{"type": "http", "scheme": "negotiate"}}
		schemes := object{}
		for _, way := range ways {
			schemes[way] = all[way]
			security = append(security, object{way: []string{}})
		}
		components["securitySchemes"] = schemes
	}
	description := object{
		"openapi":    "3.1.0",
		"info":       object{"title": "Rows of HBase tables", "version": version, "description": "Read-only. Made of the job files that the service has loaded."},
		"servers":    []any{object{"url": "/"}},
		"paths":      paths,
		"components": components,
	}
	if security != nil {
		description["security"] = security
	}
	return json.Marshal(description)
}

// rangeParameters returns the bounds of a scan, or nil if the key keeps the order of no column.
func rangeParameters(r *resource) (list []any) {
	about := rangeAbout(r)
	if about == "" {
		return nil
	}
	about += "; \\xNN, \\, and \\\\ are bytes, a comma and a backslash."
	for _, p := range []struct{ name, what string }{{"from", "The first key that is wanted: "}, {"to", "The first key that is not wanted: "}, {"prefix", "What keys begin with: "}} {
		list = append(list, parameter(p.name, false, p.what+about, object{"type": "string"}))
	}
	return list
}

// rangeAbout lists the columns of a bound, and the columns whose values must be the same in both bounds. It returns
// "" if there are no ranges.
func rangeAbout(r *resource) string {
	alike, ordered := r.table.Ranges()
	switch {
	case len(ordered) == 0:
		return ""
	case len(alike) == 0:
		return "values of " + strings.Join(ordered, ", ") + ", with commas between them"
	}
	return "values of " + strings.Join(slices.Concat(alike, ordered), ", ") + ", with commas between them. The same " + strings.Join(alike, ", ") + " must be in both bounds, since the key does not keep its order"
}

// indexParameters returns the parameter by and the columns of indexes that are not in the query key.
func indexParameters(r *resource) []any {
	var names, columns []string
	for _, x := range r.indexes {
		if !r.shows(x) {
			continue
		}
		names = append(names, x.name)
		for _, c := range x.columns {
			if !slices.Contains(r.columns, c) && !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
	}
	if names == nil {
		return nil
	}
	list := []any{parameter("by", false, "An index: rows of its query columns' values, in its order.", object{"type": "string", "enum": names})}
	for _, c := range columns {
		list = append(list, parameter(c, false, "A value of a query column of an index.", object{"type": "string"}))
	}
	return list
}

// ways returns the ways to authenticate, or none if authentication is not required.
func (s *Server) ways() []string {
	if s.options.Clients == "" {
		return nil
	}
	ways := []string{"token", "basic"}
	if s.options.TLS != nil && s.options.TLS.ClientCA != "" {
		ways = append(ways, "certificate")
	}
	if s.options.Keytab != "" {
		ways = append(ways, "kerberos")
	}
	return ways
}

func howToAuthenticate(ways []string) string {
	about := map[string]string{"token": "a token (Authorization: Bearer)", "certificate": "the certificate of a client", "kerberos": "a Kerberos ticket (Authorization: Negotiate)"}
	how := []string{}
	for _, way := range ways {
		if about[way] != "" {
			how = append(how, about[way])
		}
	}
	return "send " + strings.Join(how, ", or ")
}

func ref(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

func problemTypes() []string {
	var types []string
	for _, k := range kinds() {
		types = append(types, problemPrefix+k.name)
	}
	return types
}

func parameter(name string, required bool, about string, schema object) object {
	return object{"name": name, "in": "query", "required": required, "description": about, "schema": schema}
}

func operation(id, summary string, parameters []any, schema object) object {
	o := object{"operationId": id, "summary": summary, "responses": object{
		"200": object{"description": "The answer, whole.", "content": object{jsonType: object{"schema": schema}}},
		"default": object{"description": "No answer. With 429 and 503 Retry-After says when to ask again.",
			"content": object{"application/problem+json": object{"schema": ref("Problem")}}},
	}}
	if parameters != nil {
		o["parameters"] = parameters
	}
	return o
}

// rowSchema returns the schema of a row with all its columns; a row of selected columns has only those.
func rowSchema(r *resource) object {
	properties := object{}
	for _, c := range r.shape.Columns {
		value := object{"type": c.Form.Type}
		if c.Form.Format != "" {
			value["format"] = c.Form.Format
		}
		kinds := []any{value, ref("Bytes"), object{"type": "null"}}
		if c.Form.Type == "number" {
			kinds = append(kinds, object{"enum": []string{"NaN", "Infinity", "-Infinity"}})
		}
		properties[c.Name] = object{"anyOf": kinds}
	}
	return object{"type": "object", "properties": properties,
		"additionalProperties": object{"anyOf": []any{object{"type": []string{"string", "null"}}, ref("Bytes")}}}
}

func pageSchema(r *resource) object {
	return object{"type": "object", "required": []string{"rows", "next_page"}, "properties": object{
		"rows":      object{"type": "array", "items": ref("row_" + r.name)},
		"next_page": object{"type": []string{"string", "null"}, "description": "The page token of what follows; null when these are all rows."}}}
}

// openAPIOf returns the description of the requests that a caller may send.
func (s *Server) openAPIOf(r *http.Request) ([]byte, error) {
	jobs := note(r).caller.jobs
	if jobs.openAPI != nil {
		return jobs.openAPI, nil
	}
	return describe(jobs, s.limits, s.options.Version, s.ways())
}

func (s *Server) getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	text, err := s.openAPIOf(r)
	if err != nil {
		return err
	}
	send(w, http.StatusOK, jsonType, text)
	return nil
}
