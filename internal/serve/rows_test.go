package serve

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/pkg/loader"

	"pgregory.net/rapid"
)

func TestRows(t *testing.T) {
	s := checks(t, Options{}, 5)
	r := s.get("/v1/check/rows?check_id=B")
	if r.status != 200 || r.ids() != "0000 0001 0002 0003 0004" || r.Next != nil || !strings.Contains(r.body, `"next_page":null`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r.header.Get("Content-Length") != fmt.Sprint(len(r.body)) || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", r.header)
	}
	if r := s.get("/v1/check/rows?check_id=none"); r.status != 200 || r.body != `{"rows":[],"next_page":null}`+"\n" {
		t.Errorf("an unknown key: %d %s", r.status, r.body)
	}
	if r := s.get("/v1/check/rows?check_id=A&columns=text,id&limit=1"); !strings.HasPrefix(r.body, `{"rows":[{"text":"","id":"0000"}],"next_page":"`) {
		t.Errorf("columns: %s", r.body)
	}
	// Bytes of a key are the bytes of the parameter, whatever they are.
	s.fake.put(t, checkKey, 10, "id", "1", "check_id", "é&=% \x00", "text", "")
	if r := s.get("/v1/check/rows?check_id=%C3%A9%26%3D%25+%00"); r.ids() != "1" {
		t.Errorf("a key of bytes: %s", r.body)
	}
}

// TestPages walks pages of every size and finds each row once, in order.
func TestPages(t *testing.T) {
	s := checks(t, Options{}, 17)
	for limit := 1; limit <= 18; limit++ {
		var all []string
		for page := ""; ; {
			r := s.get(fmt.Sprintf("/v1/check/rows?check_id=C&limit=%d%s", limit, page))
			if r.status != 200 || len(r.Rows) > limit {
				t.Fatalf("%d rows, limit %d: %s", len(r.Rows), limit, r.body)
			}
			all = append(all, r.ids())
			if r.Next == nil {
				break
			}
			page = "&page=" + *r.Next
		}
		if got := strings.Join(all, " "); strings.Count(got, " ") != 16 || !strings.HasPrefix(got, "0000 0001 ") || !strings.HasSuffix(got, "0015 0016") {
			t.Fatalf("limit %d: %s", limit, got)
		}
	}
}

// TestPageTokens checks that a token is for one job file and one query.
func TestPageTokens(t *testing.T) {
	s := checks(t, Options{}, 5)
	s.write(t, "twin", checkJob)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	token := *s.get("/v1/check/rows?check_id=A&limit=2").Next
	if r := s.get("/v1/check/rows?check_id=A&limit=1&columns=id&page=" + token); r.ids() != "0002" {
		t.Errorf("other columns and another limit: %s", r.body)
	}
	for what, path := range map[string]string{
		"another key":      "/v1/check/rows?check_id=B&page=" + token,
		"another job file": "/v1/twin/rows?check_id=A&page=" + token,
		"a scan":           "/v1/check/scan?page=" + token,
		"none":             "/v1/check/rows?check_id=A&page=xyz",
		"an empty one":     "/v1/check/rows?check_id=A&page=",
		"one cut off":      "/v1/check/rows?check_id=A&page=" + token[:8],
	} {
		s.get(path).refuses(t, what, badPage)
	}
	s.write(t, "check", checkJob+"family: f\n")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.get("/v1/check/rows?check_id=A&page="+token).refuses(t, "a changed job file", badPage)
}

func TestScan(t *testing.T) {
	s := open(t, Options{}, map[string]string{"orders": orderJob, "check": checkJob})
	for _, user := range []string{"ann", "bob", "cid"} {
		for i := range 3 {
			s.fake.put(t, orderKey, 3, "user", user, "ts", fmt.Sprint(i), "text", "t")
		}
	}
	keys := func(r reply) string {
		var all []string
		for _, row := range r.Rows {
			all = append(all, fmt.Sprint(row["user"], row["ts"]))
		}
		return strings.Join(all, " ")
	}
	for query, want := range map[string]string{
		"":                      "ann0 ann1 ann2 bob0 bob1 bob2 cid0 cid1 cid2",
		"from=bob":              "bob0 bob1 bob2 cid0 cid1 cid2",
		"to=bob":                "ann0 ann1 ann2",
		"from=bob,1&to=cid":     "bob1 bob2",
		"prefix=b":              "bob0 bob1 bob2",
		`prefix=\x62ob`:         "bob0 bob1 bob2",
		"from=ann&to=b&limit=2": "ann0 ann1",
	} {
		if r := s.get("/v1/orders/scan?" + strings.ReplaceAll(query, `\`, "%5C")); keys(r) != want {
			t.Errorf("%s: %s, want %s", query, r.body, want)
		}
	}
	s.get("/v1/orders/scan?from=a&prefix=b").refuses(t, "two ranges", badQuery)
	s.get("/v1/orders/scan?from=%5C").refuses(t, "a wrong escape", badParameter)
	s.get("/v1/orders/scan?from=b&to=a").refuses(t, "an empty range", badQuery)
	s.get("/v1/check/scan?from=a").refuses(t, "a hashed key", badQuery)
}

// TestScanOfKeys checks that a range whose rows could only be found by the order of their keys, which is not that of the values, is refused.
func TestScanOfKeys(t *testing.T) {
	s := open(t, Options{}, map[string]string{"byuser": "table: t\nkey: user + '|' + ts\ncolumns: [user, ts, id]\nskip: [user]\n"})
	s.fake.put(t, "user + '|' + ts", 10, "user", "R1", "ts", "1", "id", "a")
	s.get("/v1/byuser/scan?from=R1&to=R10").refuses(t, "a range", badQuery)
	for _, path := range []string{"prefix=R1%7C", "prefix=R1", ""} {
		if r := s.get("/v1/byuser/scan?" + path); r.status != 200 || r.ids() != "a" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// TestStrict checks that unknown parts of a request are refused by name.
func TestStrict(t *testing.T) {
	s := checks(t, Options{}, 1)
	for path, want := range map[string]string{
		"check_id=A&limit=0": "limit", "check_id=A&limit=1001": "limit", "check_id=A&limit=%2B1": "limit", "check_id=A&limit=01": "limit", "check_id=A&limit=": "limit",
		"check_id=A&limit=99999999999999999999": "limit", "check_id=A&columns=": "columns", "check_id=A&check_id=A": "check_id", "check_id=A&x=1": "x",
		"check_id=A&by=x": "by", "": "check_id", "checkid=A": "checkid", "check_id=A&columns=id,,text": "", "check_id=A&columns=id,id": "id", "check_id=A&columns=nope": "nope", "check_id=A&columns=f:nope": "f:nope",
		"check_id=%zz": "", "check_id=A;limit=1": "",
	} {
		r := s.get("/v1/check/rows?" + path)
		if r.status != 400 || r.Parameter != want {
			t.Errorf("%s: %d %s, want the parameter %q", path, r.status, r.body, want)
		}
	}
	s.get("/v1/nope/rows?a=b").refuses(t, "no such job", noJob)
	s.get("/v2").refuses(t, "no such path", noPath)
	s.get("/hbaseweb/get/check?check_id=A").refuses(t, "compat that was not asked for", noPath)
	r := s.do(httptest.NewRequest("DELETE", "/v1/check/rows?check_id=A", nil))
	r.refuses(t, "a method", badMethod)
	if r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow %q", r.header.Get("Allow"))
	}
	if r := s.get("/v1/check/rows?" + url.Values{strings.Repeat("n", 5000): {"v"}}.Encode()); len(r.body) > 1000 {
		t.Errorf("the problem repeats %d bytes of the request", len(r.body))
	}
}

func TestHosts(t *testing.T) {
	s := checks(t, Options{Hosts: []string{"localhost", "127.0.0.1"}}, 1)
	for host, ok := range map[string]bool{"localhost:8091": true, "127.0.0.1": true, "LOCALHOST:8091": true, "localhost.": true, "evil.example": false, "localhost.evil.example:80": false, "": false} {
		r := httptest.NewRequest("GET", "/healthz", nil)
		r.Host = host
		if got := s.do(r); (got.status == 200) != ok {
			t.Errorf("%q: %d", host, got.status)
		}
	}
}

func TestBatch(t *testing.T) {
	s := checks(t, Options{Limits: Limits{Keys: 3, Body: 1 << 10}}, 3)
	r := s.post("/v1/check/rows:batch", `{"keys":[{"check_id":"C"},{"check_id":"none"},{"check_id":{"base64":"QQ=="}}],"columns":["check_id","id"],"limit":1}`)
	first := s.get("/v1/check/rows?check_id=C&columns=check_id,id&limit=1")
	third := s.get("/v1/check/rows?check_id=A&columns=check_id,id&limit=1")
	if want := `{"results":[` + strings.TrimSpace(first.body) + `,{"rows":[],"next_page":null},` + strings.TrimSpace(third.body) + "]}\n"; r.status != 200 || r.body != want {
		t.Errorf("%d %s\nwant %s", r.status, r.body, want)
	}
	for body, k := range map[string]kind{
		``: badBody, `[]`: badBody, `{}`: badBody, `{"keys":[]}`: badBody, `{"keys":[{}]}`: badBody, `{"keys":[{"check_id":1}]}`: badBody,
		`{"keys":[{"check_id":"A","check_id":"B"}]}`: badBody, `{"keys":[{"check_id":"A","x":"B"}]}`: badBody, `{"keys":[{"check_id":"A"}],"keys":[]}`: badBody,
		`{"keys":[{"check_id":"A"}]} x`: badBody, `{"keys":[{"check_id":"A"}],"limit":"1"}`: badBody, `{"keys":[{"check_id":"A"}],"limit":0}`: badParameter,
		`{"keys":[{"check_id":"A"}],"columns":[]}`: badBody, `{"keys":[{"check_id":"A"}],"columns":["nope"]}`: badColumn, `{"keys":[{"check_id":"\ud800"}]}`: badBody,
		"{\"keys\":[{\"check_id\":\"\xff\"}]}": badBody, `{"keys":[{"check_id":{"base64":"Q"}}]}`: badBody, `{"keys":[{"check_id":{"base64":"QQ==","x":""}}]}`: badBody,
		`{"keys":[{"check_id":"A"},{"check_id":"A"},{"check_id":"A"},{"check_id":"A"}]}`: badBody,
		`{"keys":` + strings.Repeat("[", 900):                                            badBody,
		`{"keys":[{"check_id":"` + strings.Repeat("A", 1<<10) + `"}]}`:                   tooLarge,
	} {
		s.post("/v1/check/rows:batch", body).refuses(t, body, k)
	}
	plain := httptest.NewRequest("POST", "/v1/check/rows:batch", strings.NewReader(`{}`))
	s.do(plain).refuses(t, "no media type", badMedia)
	for _, header := range [][2]string{{"Content-Type", "application/json; charset=utf-16"}, {"Content-Encoding", "gzip"}} {
		r := httptest.NewRequest("POST", "/v1/check/rows:batch", strings.NewReader(`{"keys":[{"check_id":"A"}]}`))
		r.Header.Set("Content-Type", "application/json; charset=UTF-8")
		if answer := s.do(r); answer.status != 200 {
			t.Errorf("in UTF-8: %d %s", answer.status, answer.body)
		}
		r = httptest.NewRequest("POST", "/v1/check/rows:batch", strings.NewReader(`{"keys":[{"check_id":"A"}]}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(header[0], header[1])
		s.do(r).refuses(t, header[1], badMedia)
	}
	if free := s.answers.memory.free.Load(); free != s.limits.answers() {
		t.Errorf("%d bytes are missing of the memory", s.limits.answers()-free)
	}
}

// TestHostile checks that the response to any request is one of the service's own, and that no memory is lost.
func TestHostile(t *testing.T) {
	s := checks(t, Options{Compat: true}, 2)
	segments := []string{"", "v1", "check", "rows", "scan", "rows:batch", "jobs", "..", "%2e", "hbaseweb", "get", "search", "openapi.json", "{job}", "\x00"}
	names := []string{"check_id", "limit", "page", "columns", "from", "to", "prefix", "by", "x"}
	testcheck.Check(t, func(t *rapid.T) {
		path := ""
		for _, seg := range rapid.SliceOfN(rapid.SampledFrom(segments), 1, 5).Draw(t, "segments") {
			path += "/" + seg
		}
		if rapid.Bool().Draw(t, "known") {
			path = rapid.SampledFrom([]string{"/v1/check/rows", "/v1/check/scan", "/v1/orders/scan", "/v1/check/rows:batch", "/hbaseweb/get/check", "/search/check"}).Draw(t, "path")
		}
		var query []string
		for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "names") {
			query = append(query, n+"="+rapid.OneOf(rapid.Just("A"), rapid.Just("1"), rapid.Map(rapid.String(), url.QueryEscape), rapid.StringMatching(`[%&=;+a-z0-9]{0,9}`)).Draw(t, "value"))
		}
		method := rapid.SampledFrom([]string{"GET", "POST", "HEAD", "PUT", "OPTIONS", "get"}).Draw(t, "method")
		r := httptest.NewRequest(method, "/", strings.NewReader(rapid.OneOf(rapid.String(), rapid.StringMatching(`\{"keys":\[\{"check_id":"A"\}\](,"limit":[0-9]{1,3})?\}?`)).Draw(t, "body")))
		r.URL = &url.URL{Path: path, RawQuery: strings.Join(query, "&")}
		r.Header.Set("Content-Type", rapid.SampledFrom([]string{"application/json", "application/x-www-form-urlencoded", "x"}).Draw(t, "type"))
		got := s.do(r)
		if got.status == 0 || got.status >= 500 {
			t.Fatalf("%s %s?%s: %d %s", method, path, r.URL.RawQuery, got.status, got.body)
		}
		if got.status >= 400 && got.header.Get("Content-Type") != "application/problem+json" && !strings.HasPrefix(path, "/search/") {
			t.Fatalf("%s %s: %d is not a problem: %s", method, path, got.status, got.body)
		}
	})
	if free := s.answers.memory.free.Load(); free != s.limits.answers() {
		t.Errorf("%d bytes are missing of the memory", s.limits.answers()-free)
	}
	if s.gate.in != 0 || len(s.gate.clients) != 0 {
		t.Errorf("%d requests are still counted", s.gate.in)
	}
}

// TestProblemsDocumented checks that docs/reading.md has each kind with its status, and marks those that may be
// retried.
func TestProblemsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/reading.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		status := fmt.Sprintf("| %d", k.status)
		if k.retry > 0 {
			status += ", marked"
		}
		found := false
		for _, line := range strings.Split(string(b), "\n") {
			names, rest, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			found = found || slices.Contains(strings.Split(names, ", "), k.name) && strings.HasPrefix(strings.TrimSpace(rest)+" |", strings.TrimPrefix(status, "| ")+" |")
		}
		if !found {
			t.Errorf("docs/reading.md has no %s with %q", k.name, status)
		}
	}
}

// TestOtherFamiliesAreNotServed checks that no request has cells of a family that the job file does not have, though it says nothing about the columns.
func TestOtherFamiliesAreNotServed(t *testing.T) {
	s := open(t, Options{}, map[string]string{"o": "table: t\nkey: user\ncells: [{rest: true}]\n"})
	s.fake.put(t, "user", 1, "user", "AB")
	s.fake.rows[0].Cells = append(s.fake.rows[0].Cells, loader.Cell{Family: []byte("secret"), Qualifier: []byte("ssn"), Value: []byte("123")})
	for _, column := range []string{"secret:ssn", "nofamily:x", ":ssn", "user,secret:ssn"} {
		for _, path := range []string{"/v1/o/rows?user=AB&columns=", "/v1/o/scan?columns="} {
			s.get(path+column).refuses(t, path+column, badColumn)
		}
		names, _ := json.Marshal(strings.Split(column, ","))
		s.post("/v1/o/rows:batch", `{"keys":[{"user":"AB"}],"columns":`+string(names)+`}`).refuses(t, "a batch of "+column, badColumn)
	}
	if r := s.get("/v1/o/rows?user=AB&columns=any,user"); r.status != 200 || !strings.Contains(r.body, `{"any":null,"user":"AB"}`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if _, err := s.resources().byName["o"].only([]string{"user", "secret:ssn"}); err == nil {
		t.Error("a client may be granted a column of another family")
	}
}

// TestEscapesOfABatch checks that each text of a batch is taken by its own escapes: half of a pair is refused, whatever other texts have.
func TestEscapesOfABatch(t *testing.T) {
	for text, want := range map[string]string{
		`{"check_id":"\ufffd"}`: "\ufffd", `{"check_id":"` + "\ufffd" + `"}`: "\ufffd", `{"check_id":"\uFFFD\ud83d\ude00"}`: "\ufffd\U0001f600", `{ "check_id" : "\\ud800" }`: `\ud800`,
		`{"\u0063heck_id":"\n\"\\"}`: "\n\"\\", `{"check_id":{"base64":"\u0051Q=="}}`: "A",
		`{"check_id":"\ud800"}`: "", `{"check_id":"\ud800\ud800\udc00"}`: "", `{"check_id":"\udc00"}`: "", `{"check_id":"\udc00\ud800"}`: "", `{"check_id":"x\uD800x"}`: "", `{"check_id":"\ud800\\udc00"}`: "",
		`{"check_id":"\ufffd\ud800"}`: "", `{"check_id":"` + "\ufffd" + `\ud800"}`: "", `{"check_id":{"base64":"\ud800"}}`: "", `{"\ud800":"A"}`: "",
	} {
		for _, other := range []string{"B", `\ufffd`, "\ufffd", `\uFFFD`} {
			b, err := parseBatch([]byte(`{"keys":[{"check_id":"`+other+`"}, `+text+`]}`), []string{"check_id"}, Limits{Keys: 9})
			if (err == nil) != (want != "") || err == nil && b.keys[1][0] != want {
				t.Errorf("%s after %s: %+v, %v, want %q", text, other, b, err, want)
			}
		}
	}
}
