package serve

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

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
