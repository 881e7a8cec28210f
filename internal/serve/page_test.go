package serve

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func (s *service) form(path string, values url.Values) reply {
	r := httptest.NewRequest("POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(r)
}

// wellFormed checks the nesting of a page's tags, with HTML's void elements.
func wellFormed(t testing.TB, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, page)
		}
	}
}

// TestRanges checks that ranges are offered for keys that keep the order of columns, which are named; other keys are
// scanned as a whole.
func TestRanges(t *testing.T) {
	job := func(key, query string) string {
		return "table: t\nkey: " + key + "\nquery: [" + query + "]\ncolumns: [id, user, ts]\nsalt_buckets: 3\n"
	}
	s := open(t, Options{}, map[string]string{"hashed": job("salt(id) + md5hex(id)", "id"), "time": job("salt(ts) + ts + id", "ts"), "user": job("salt(user) + md5hex(user) + ts + reverse(id)", "user")})
	docs := s.get("/docs").body
	var api struct {
		Paths map[string]map[string]struct {
			Summary    string
			Parameters []struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal([]byte(s.get("/openapi.json").body), &api); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"hashed": "",
		"time":   "values of ts, id, with commas between them",
		"user":   "values of user, ts, with commas between them. The same user must be in both bounds, since the key does not keep its order",
	} {
		scan := api.Paths["/v1/"+name+"/scan"]["get"]
		var from string
		for _, p := range scan.Parameters {
			if p.Name == "from" {
				from = p.Description
			}
		}
		if !strings.Contains(from, want) || (from == "") != (want == "") || strings.Contains(scan.Summary, "range") == (want == "") {
			t.Errorf("%s: %q, %q", name, scan.Summary, from)
		}
		page := s.get("/search/" + name).body
		wellFormed(t, page)
		if strings.Contains(page, `id="byrange"`) == (want == "") || !strings.Contains(page, want) {
			t.Errorf("%s: %s", name, page)
		}
	}
	wellFormed(t, docs)
	for _, want := range []string{"<td>a whole number, 1 to 1000; 100 by default</td>", "<td>any text</td>", "Example: <code>/v1/time/rows?ts=VALUE&amp;limit=10</code>"} {
		if !strings.Contains(docs, want) {
			t.Errorf("no %s in %s", want, docs)
		}
	}
	if strings.Contains(docs, `{&#34;type&#34;:&#34;string&#34;}`) {
		t.Error("a parameter has a schema")
	}
}

// TestPage checks that a search works by a form only, and that values are always text.
func TestPage(t *testing.T) {
	s := checks(t, Options{}, 3)
	const hostile = `<script>alert(1)</script>"'&` + "\n\x00"
	s.fake.put(t, checkKey, 10, "id", "1", "check_id", hostile, "text", hostile, hostile, "\xff")
	r := s.get("/")
	if r.status != 200 || !strings.Contains(r.body, `href="/search/check"`) || strings.Contains(r.body, "<script") || strings.Contains(r.body, "http://") || strings.Contains(r.body, "https://") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if csp := r.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") {
		t.Errorf("policy %q", csp)
	}
	wellFormed(t, r.body)
	r = s.get("/search/check")
	if !strings.Contains(r.body, `name="check_id"`) || !strings.Contains(r.body, "<label>check_id") {
		t.Errorf("%s", r.body)
	}
	r = s.form("/search/check", url.Values{"check_id": {"A"}, "limit": {"2"}})
	for _, want := range []string{"first 2 rows", "Next page", "<td class=\"word\">0000</td>", "<td class=\"word\">xx</td>", `name="page" value="`, "md5hex(check_id)", "salt(check_id)", "row keys begin with"} {
		if strings.Contains(want, "xx") { // on the next page
			continue
		}
		if !strings.Contains(r.body, want) {
			t.Errorf("no %s in %s", want, r.body)
		}
	}
	wellFormed(t, r.body)
	_, token, _ := strings.Cut(r.body, `name="page" value="`)
	token, _, _ = strings.Cut(token, `"`)
	r = s.form("/search/check", url.Values{"check_id": {"A"}, "limit": {"2"}, "page": {token}})
	if !strings.Contains(r.body, "<td class=\"word\">xx</td>") || strings.Contains(r.body, "Next page") {
		t.Errorf("the next page: %s", r.body)
	}
	r = s.form("/search/check", url.Values{"check_id": {hostile}})
	if r.status != 200 || strings.Contains(r.body, "<script") || !strings.Contains(r.body, "&lt;script&gt;") || !strings.Contains(r.body, `class="raw"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	wellFormed(t, r.body)
	if r := s.form("/search/check", url.Values{"check_id": {"none"}}); !strings.Contains(r.body, "No row has this key.") {
		t.Errorf("%s", r.body)
	}
	for what, form := range map[string]url.Values{"no key": {}, "a limit": {"check_id": {"A"}, "limit": {"101"}}, "a parameter": {"check_id": {"A"}, "<b>": {"1"}}} {
		r := s.form("/search/check", form)
		if r.status != 400 || !strings.Contains(r.body, `role="alert"`) || strings.Contains(r.body, "<b>") {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
		wellFormed(t, r.body)
	}
	if r := s.get("/page.css"); r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), "text/css") {
		t.Errorf("style: %d %v", r.status, r.header)
	}
}

// TestPageByAnIndex checks that the form of an index finds its rows, whatever the index is called.
func TestPageByAnIndex(t *testing.T) {
	action := regexp.MustCompile(`action="(/search/check\?by=[^"]*)"`)
	for _, name := range []string{"by_day", "by day", "by:day", "nach-täg", "50%", "a+b", "a&b=c"} {
		job := fmt.Sprintf("table: check\nkey: %s\nquery: [check_id]\ncolumns: [id, check_id, day]\ntables: [{index: %q, table: check_by_day, key: day + id, query: [day]}]\n", checkKey, name)
		s := open(t, Options{}, map[string]string{"check": job})
		found := action.FindStringSubmatch(s.get("/search/check").body)
		if found == nil {
			t.Fatalf("%s: no form", name)
		}
		if r := s.form(html.UnescapeString(found[1]), url.Values{"day": {"17"}}); r.status != 200 || !strings.Contains(r.body, "No row has these values.") {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		s.form("/search/check?by="+url.QueryEscape(name)+"&by=x", url.Values{"day": {"17"}}).refuses(t, "two indexes", badParameter)
	}
}
