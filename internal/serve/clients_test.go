package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// clientsText names loans, which may read everything, and web, which may read two columns of check.
func clientsText() string {
	return fmt.Sprintf(`clients:
- name: loans
  token_sha256: [%s, %s]
  jobs: ["*"]
- name: web
  token_sha256: [%s]
  jobs: [check]
  columns: {check: [id, check_id]}
  in_flight: 1
`, digest("secret-of-loans"), digest("next-secret-of-loans"), digest("secret-of-web"))
}

// known returns the service of checks with clients.
func known(t testing.TB, o Options) *service {
	t.Helper()
	o.Clients = filepath.Join(t.TempDir(), "clients.yaml")
	if err := os.WriteFile(o.Clients, []byte(clientsText()), 0o600); err != nil {
		t.Fatal(err)
	}
	return checks(t, o, 3)
}

func (s *service) as(token, path string) reply {
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return s.do(r)
}

// TestWhoMayAsk checks that a token gives access to its client's grants only; health needs no token.
func TestWhoMayAsk(t *testing.T) {
	s := known(t, Options{})
	for _, path := range []string{"/", "/docs", "/v1/jobs", "/v1/check/rows?check_id=A", "/v1/orders/scan", "/v1/none/rows", "/openapi.json", "/metrics", "/search/check"} {
		r := s.get(path)
		r.refuses(t, "nobody, "+path, unauthenticated)
		if h := r.header["Www-Authenticate"]; len(h) != 2 || !strings.HasPrefix(h[0], "Bearer ") || !strings.HasPrefix(h[1], "Basic ") {
			t.Errorf("%s: %q", path, h)
		}
		s.as("secret-of-nobody", path).refuses(t, "a wrong token, "+path, unauthenticated)
		s.as("", path).refuses(t, "an empty token, "+path, unauthenticated)
	}
	for _, path := range []string{"/healthz", "/page.css"} {
		if r := s.get(path); r.status != 200 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if r := s.get("/readyz"); strings.Contains(r.body, "check") {
		t.Errorf("the jobs are shown to unknown clients: %s", r.body)
	}
	for _, token := range []string{"secret-of-loans", "next-secret-of-loans"} {
		if r := s.as(token, "/v1/check/rows?check_id=A"); r.status != 200 || len(r.Rows) != 3 || len(r.Rows[1]) != 3 {
			t.Errorf("%s: %d %s", token, r.status, r.body)
		}
	}
	if r := s.as("secret-of-loans", "/v1/orders/scan"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	basic := func(name, token string) reply {
		r := httptest.NewRequest("GET", "/search/check", nil)
		r.SetBasicAuth(name, token)
		return s.do(r)
	}
	if r := basic("loans", "secret-of-loans"); r.status != 200 {
		t.Errorf("in a browser: %d", r.status)
	}
	basic("web", "secret-of-loans").refuses(t, "another's token", unauthenticated)
}

// TestGrants checks that a client sees only its jobs and columns, in every place where they are shown.
func TestGrants(t *testing.T) {
	s := known(t, Options{})
	const web = "secret-of-web"
	s.as(web, "/v1/orders/scan").refuses(t, "another job", forbidden)
	s.as(web, "/v1/check/rows?check_id=A&columns=id,text").refuses(t, "another column", forbidden)
	s.as(web, "/v1/check/rows?check_id=A&columns=none").refuses(t, "no column", badColumn)
	s.as(web, "/v1/none/scan").refuses(t, "no job", noJob)
	for _, path := range []string{"/v1/check/rows?check_id=A", "/v1/check/scan"} {
		if r := s.as(web, path); r.status != 200 || len(r.Rows) == 0 || len(r.Rows[0]) != 2 || strings.Contains(r.body, "text") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	post := func(path, media, body string) reply {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		r.Header.Set("Authorization", "Bearer "+web)
		return s.do(r)
	}
	if r := post("/v1/check/rows:batch", jsonType, `{"keys":[{"check_id":"C"}]}`); r.status != 200 || strings.Contains(r.body, "text") || strings.Count(r.body, "check_id") != 3 {
		t.Errorf("%d %s", r.status, r.body)
	}
	post("/v1/check/rows:batch", jsonType, `{"keys":[{"check_id":"C"}],"columns":["text"]}`).refuses(t, "a column of a batch", forbidden)
	for _, r := range []reply{
		post("/search/check", "application/x-www-form-urlencoded", url.Values{"check_id": {"C"}}.Encode()),
		s.as(web, "/v1/jobs"), s.as(web, "/docs"), s.as(web, "/search/check"), s.as(web, "/openapi.json"),
	} {
		if r.status != 200 || strings.Contains(r.body, "orders") || strings.Contains(r.body, ">text<") || strings.Contains(r.body, `"text"`) {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if r := s.as("secret-of-loans", "/openapi.json"); !strings.Contains(r.body, `"text"`) || !strings.Contains(r.body, `"scheme":"bearer"`) || strings.Contains(r.body, "mutualTLS") {
		t.Errorf("%s", r.body)
	}
}

// TestClientsFile checks that an invalid file is refused as a whole, and that the previous clients stay in use.
func TestClientsFile(t *testing.T) {
	s := known(t, Options{})
	d := digest("x")
	for text, want := range map[string]string{
		"clients: []": "0 clients",
		"clients: [{name: a, jobs: [check], token_sha256: [abc]}]":                                                            "64 hexadecimal digits",
		"clients: [{name: a, jobs: [none], token_sha256: [" + d + "]}]":                                                       `no job file "none"`,
		"clients: [{name: a, jobs: [check]}]":                                                                                 "neither token_sha256 nor certificates",
		"clients: [{name: a, token_sha256: [" + d + "]}]":                                                                     "jobs: it has none",
		"clients: [{name: a, jobs: [check], token_sha256: [" + digest("") + "]}]":                                             "empty token",
		"clients: [{name: a, jobs: [check], token_sha256: [" + d + "]}, {name: b, jobs: [check], token_sha256: [" + d + "]}]": "stands twice",
		"clients: [{name: a, jobs: [check], token_sha256: [" + d + "]}, {name: a, jobs: [check], certificates: [x]}]":         "is invalid or used twice",
		"clients: [{name: a, jobs: [check], certificates: [x], columns: {check: [text]}}]":                                    "part of the row key",
		"clients: [{name: a, jobs: [check], certificates: [x], columns: {check: [id, check_id, none]}}]":                      `"none": rows of this job`,
		"clients: [{name: a, jobs: [check], certificates: [x], columns: {orders: [user]}}]":                                   `"orders" is not a job`,
		"clients: [{name: a, jobs: [check], certificates: [x], in_flight: -1}]":                                               "below 0",
		"clients: [{name: a, jobs: [check], certificates: [x], in_flight: 2.5}]":                                              `in_flight takes an integer, not "2.5"`,
		"clients: [{name: a, jobs: [check], certificates: [x], token: " + d + "}]":                                            "token",
		"clients: [{name: a, jobs: [check], certificates: [x]}]\n---\nclients: [{name: b, jobs: [check], certificates: [y]}]": "line 2: a second document begins",
	} {
		if err := os.WriteFile(s.options.Clients, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), d) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if r := s.as("secret-of-web", "/v1/check/rows?check_id=A"); r.status != 200 {
		t.Errorf("the clients before: %s", r.body)
	}
	files := s.fingerprint()
	if err := os.WriteFile(s.options.Clients, []byte("clients: [{name: a, jobs: [check], token_sha256: ["+d+"]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.fingerprint() == files {
		t.Error("the change is not seen")
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.as("secret-of-web", "/v1/check/rows?check_id=A").refuses(t, "a client of before", unauthenticated)
}

// TestQueryColumnsOfAClient checks that a client needs the columns by whose values it finds rows, also those that are not in the key: their values could be
// found by trying. Columns without a cell are not compared.
func TestQueryColumnsOfAClient(t *testing.T) {
	s := open(t, Options{}, map[string]string{"o": "table: o\nkey: user\nquery: [user, pin]\ncolumns: [user, pin, text]\n",
		"rest":    "table: r\nkey: user\nquery: [user, pin]\ncells: [{rest: true}]\n",
		"renamed": "table: n\nkey: user\nquery: [user, pin]\ncells: [{column: user}, {column: pin, qualifier: number, type: int}, {column: text}]\n",
		"none":    "table: m\nkey: user\nquery: [user, pin]\ncells: [{column: user}, {column: text}]\n"})
	for name, columns := range map[string]string{"o": "pin", "rest": "pin", "renamed": "number", "none": ""} {
		r := s.resources().byName[name]
		_, err := r.only([]string{"user", "text"})
		if columns != "" && (err == nil || !strings.Contains(err.Error(), columns+" is a column of the query key")) || columns == "" && err != nil {
			t.Errorf("%s without the query column: %v", name, err)
		}
		granted := []string{"user"}
		if columns != "" {
			granted = append(granted, columns)
		}
		if _, err := r.only(granted); err != nil {
			t.Errorf("%s with the query column: %v", name, err)
		}
	}
}

// TestAudit checks that there is a line for each request of a job, with the client and amounts; keys are hashed, and
// values are never included.
func TestAudit(t *testing.T) {
	var b, log bytes.Buffer
	s := known(t, Options{Audit: &b, Compat: true, Log: textLog(&log)})
	s.as("secret-of-web", "/v1/check/rows?check_id=A")
	s.as("secret-of-nobody", "/v1/check/rows?check_id=A")
	s.as("secret-of-web", "/v1/orders/scan?from=u1")
	s.as("secret-of-web", "/v1/jobs")
	s.as("secret-of-loans", "/hbaseweb/get/check?check_id=C&req_comm.tx_user=teller7")
	r := httptest.NewRequest("POST", "/v1/check/rows:batch", strings.NewReader(`{"keys":[{"check_id":"A"},{"check_id":"B"}]}`))
	r.Header = http.Header{"Content-Type": {jsonType}, "Authorization": {"Bearer secret-of-loans"}}
	s.do(r)
	sum := sha256.Sum256([]byte("A\x00"))
	keyA := hex.EncodeToString(sum[:8])
	var lines []auditLine
	for text := range strings.Lines(b.String()) {
		var l auditLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Address != "192.0.2.1" || len(l.Request) != 16 || l.Time.IsZero() {
			t.Errorf("%s", text)
		}
		lines = append(lines, l)
	}
	if len(lines) != 5 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for i, want := range []struct {
		client, job, keys, problem string
		rows, status               int
	}{
		{"web", "check", keyA, "", 3, 200}, {"", "check", "", "unauthenticated", 0, 401}, {"web", "orders", "", "forbidden", 0, 403},
		{"loans", "check", "*", "", 3, 200}, {"loans", "check", keyA + " *", "", 6, 200},
	} {
		l := lines[i]
		keys := strings.Join(l.Keys, " ")
		if l.Client != want.client || l.Job != want.job || l.Problem != want.problem || l.Rows != want.rows || l.Status != want.status || !strings.HasPrefix(keys, strings.TrimRight(want.keys, "*")) || want.keys == "" != (keys == "") {
			t.Errorf("line %d: %+v, want %+v", i, l, want)
		}
	}
	if lines[3].Caller["tx_user"] != "teller7" {
		t.Errorf("%+v", lines[3])
	}
	for _, text := range []string{log.String(), b.String()} {
		if strings.Contains(text, "secret") || strings.Contains(text, "xx") || strings.Contains(text, `"A"`) {
			t.Errorf("keys, values or tokens are in it: %s", text)
		}
	}
	if got := ClearKeys.key([]string{"a", "b"}); got != "a,b" {
		t.Errorf("in clear: %s", got)
	}
}

// TestAuditInClear checks that different keys differ in the audit log, whatever their bytes.
func TestAuditInClear(t *testing.T) {
	var b bytes.Buffer
	s := checks(t, Options{Audit: &b, AuditKeys: ClearKeys}, 1)
	for _, key := range []string{"%FF%01", "%FE%01", "A", "A%2CB", "A%5C", "%EF%BF%BD%01"} {
		s.get("/v1/check/rows?check_id=" + key)
	}
	var got []string
	for text := range strings.Lines(b.String()) {
		var l auditLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l.Keys...)
	}
	if want := []string{`\xFF` + "\x01", `\xFE` + "\x01", "A", `A\,B`, `A\\`, "\ufffd\x01"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a, b := ClearKeys.key([]string{"a,b", "c"}), ClearKeys.key([]string{"a", "b,c"}); a == b {
		t.Errorf("two keys are %s", a)
	}
}

// TestAuditBroken checks that a failed write is counted, and reported once.
func TestAuditBroken(t *testing.T) {
	var log bytes.Buffer
	s := checks(t, Options{Audit: noWriter{}, Log: textLog(&log)}, 1)
	for range 3 {
		if r := s.get("/v1/check/rows?check_id=A"); r.status != 200 {
			t.Error(r.body)
		}
	}
	if n := strings.Count(log.String(), "audit log cannot be written"); n != 1 {
		t.Errorf("%d lines", n)
	}
	if r := s.get("/metrics"); !strings.Contains(r.body, "bulkload_serve_audit_failures_total 3") {
		t.Errorf("%s", r.body)
	}
}

type noWriter struct{}

func (noWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestMetrics checks the metrics of requests by route, job and status, and of the stages of their time.
func TestMetrics(t *testing.T) {
	s := checks(t, Options{}, 2)
	s.get("/v1/check/rows?check_id=A")
	s.get("/v1/check/rows?check_id=A&secret=1")
	s.get("/no/such/path")
	r := s.get("/metrics")
	for _, want := range []string{
		`bulkload_serve_requests_total{job="check",route="GET /v1/{job}/rows",status="200"} 1`,
		`bulkload_serve_requests_total{job="check",route="GET /v1/{job}/rows",status="400"} 1`,
		`bulkload_serve_requests_total{job="",route="none",status="404"} 1`,
		`bulkload_serve_rows_total{job="check"} 2`,
		`bulkload_serve_stage_seconds_count{route="GET /v1/{job}/rows",stage="hbase"} 1`,
		`bulkload_serve_stage_seconds_count{route="GET /v1/{job}/rows",stage="encode"} 1`,
		`bulkload_serve_stage_seconds_count{route="GET /v1/{job}/rows",stage="wait"} 1`,
		`bulkload_serve_request_seconds_count{route="GET /v1/{job}/rows"} 2`,
		`bulkload_serve_table_ready{job="check"} 0`, "bulkload_serve_in_flight 0", "bulkload_serve_draining 0", `bulkload_serve_reloads_total{result="done"} 1`,
	} {
		if !strings.Contains(r.body, want+"\n") {
			t.Errorf("no %s in\n%s", want, r.body)
		}
	}
	if strings.Contains(r.body, "secret") || strings.Contains(r.body, "such") {
		t.Error("what callers write is in labels")
	}
	s.probeAll(t.Context())
	if r := s.get("/metrics"); !strings.Contains(r.body, `bulkload_serve_table_ready{job="check"} 1`) {
		t.Errorf("%s", r.body)
	}
}

// TestRate checks that the limit of requests a second is separate for each client.
func TestRate(t *testing.T) {
	s := known(t, Options{Limits: Limits{Rate: 0.001}})
	if r := s.as("secret-of-web", "/v1/jobs"); r.status != 200 {
		t.Errorf("%s", r.body)
	}
	s.as("secret-of-web", "/v1/jobs").refuses(t, "a second one", tooManyRequests)
	if r := s.as("secret-of-loans", "/v1/jobs"); r.status != 200 {
		t.Errorf("another client: %s", r.body)
	}
	if r := s.get("/healthz"); r.status != 200 {
		t.Errorf("%s", r.body)
	}
	rs := newRates(1)
	for i := range maxRates + 10 {
		rs.allow(fmt.Sprint(i))
	}
	if len(rs.by) > maxRates {
		t.Errorf("%d callers are remembered", len(rs.by))
	}
}

// TestPanic checks that a panic is a problem of one request, in the log and in metrics.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	s := checks(t, Options{Log: textLog(&log)}, 1)
	s.mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("a defect") })
	s.get("/panic").refuses(t, "a panic", internalError)
	if !strings.Contains(log.String(), "a defect") || !strings.Contains(log.String(), "status=500") {
		t.Errorf("%s", log.String())
	}
}

// TestGrantsOfRenamedColumns checks that a column of the row key is one whatever its cell is called: a client whose page tokens have its values must
// be granted it. An index is available to a client that may read the cells of its columns, whatever they are called.
func TestGrantsOfRenamedColumns(t *testing.T) {
	for name, c := range map[string]struct {
		cells   string // of the job; the key is made of check_id and id
		columns []string
		key     string // the column that must be granted; empty: the client is taken
		index   bool
	}{
		"not renamed":                 {`[{rest: true}]`, []string{"check_id", "text"}, "id", false},
		"renamed":                     {`[{column: id, qualifier: secret_id}, {rest: true}]`, []string{"check_id", "text"}, "secret_id", false},
		"in another family":           {`[{column: id, family: g}, {rest: true}]`, []string{"check_id", "text"}, "g:id", false},
		"another column has its name": {`[{column: id, qualifier: secret_id}, {column: text, qualifier: id}, {rest: true}]`, []string{"check_id", "id"}, "secret_id", false},
		"renamed, and granted":        {`[{column: id, qualifier: secret_id}, {rest: true}]`, []string{"check_id", "secret_id"}, "", false},
		"one of two cells":            {`[{column: id, qualifier: a}, {column: id, qualifier: b}, {rest: true}]`, []string{"check_id", "b"}, "", false},
		"a computed cell":             {`[{expr: upper(id), qualifier: id}, {column: id, qualifier: b}, {rest: true}]`, []string{"check_id", "id"}, "b", false},
		"a computed cell alone":       {`[{expr: upper(id), qualifier: id}, {columns: [check_id, day, text]}]`, []string{"check_id", "text"}, "id", false},
		"not in the table":            {`[{columns: [check_id, day, text]}]`, []string{"check_id", "text"}, "", false},
		"the index's, renamed":        {`[{column: day, qualifier: d}, {column: id, family: g}, {rest: true}]`, []string{"check_id", "d", "g:id"}, "", true},
		"one of the index is hidden":  {`[{column: day, qualifier: d}, {column: id, family: g}, {rest: true}]`, []string{"check_id", "text", "g:id"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			index := "tables:\n- index: by_day\n  table: check_by_day\n  key: day + id\n  query: [day]\n"
			if !strings.Contains(c.cells, "day") || strings.Contains(c.cells, "columns") {
				index = ""
			}
			s := open(t, Options{}, map[string]string{"check": "table: check\nkey: " + checkKey + "\nquery: [check_id]\ncolumns: [id, check_id, day, text]\ncells: " + c.cells + "\n" + index})
			res, err := s.resources().byName["check"].only(c.columns)
			if c.key != "" {
				if err == nil || !strings.Contains(err.Error(), ": "+c.key+" is a part of the row key") {
					t.Errorf("%v, want %s", err, c.key)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range res.indexes {
				if res.shows(x) != c.index {
					t.Errorf("the index is shown: %t", !c.index)
				}
			}
		})
	}
}
