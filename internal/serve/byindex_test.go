package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
)

const dayKey = "'d' + day + '|' + id"

// indexed returns a service of a table with an index: n rows of the day 17, about 100 bytes each, and a stale entry.
func indexed(t *testing.T, o Options, n int) *service {
	t.Helper()
	return indexedBy(t, o, n, dayKey)
}

// indexedBy is indexed with the key of the index.
func indexedBy(t *testing.T, o Options, n int, key string) *service {
	t.Helper()
	job := "table: check\nkey: " + checkKey + "\nquery: [check_id]\ncolumns: [id, check_id, day, text]\ntables:\n- index: by_day\n  table: check_by_day\n  key: >-\n    " + key + "\n  query: [day]\n"
	s := open(t, o, map[string]string{"check": job, "orders": orderJob})
	add := func(id, day, now string) {
		before := len(s.fake.rows)
		s.fake.put(t, checkKey, 10, "id", id, "check_id", "A", "day", now, "text", strings.Repeat("x", 100))
		var row string
		for _, r := range s.fake.rows {
			if strings.HasSuffix(string(r.Key), id) && !strings.Contains(string(r.Key), "|") {
				row = string(r.Key)
			}
		}
		s.fake.put(t, key, 10, "id", id, "day", day, spec.RowCell, row)
		if len(s.fake.rows) != before+2 {
			t.Fatal("rows were not added")
		}
	}
	for i := range n {
		add(fmt.Sprintf("%04d", i), "17", "17")
	}
	add("9999", "17", "18")
	return s
}

// TestRowsByAnIndex checks that the rows with the value are returned, each once, in pages that end by the limit or because the
// answer is full; an entry whose row has another value now is skipped.
func TestRowsByAnIndex(t *testing.T) {
	const rows = 600 // more than the number of entries read at a time
	var want []string
	for i := range rows {
		want = append(want, fmt.Sprintf("%04d", i))
	}
	for name, c := range map[string]struct {
		limits Limits
		limit  int
	}{"limit": {Limits{}, 77}, "full": {Limits{Bytes: 8 << 10}, 500}} {
		t.Run(name, func(t *testing.T) {
			s := indexed(t, Options{Limits: c.limits}, rows)
			got := s.all(t, "/v1/check/rows?by=by_day&day=17&columns=id&", c.limit, func(int) {})
			if c.limits.Bytes > 0 { // with all columns pages are short
				got = s.all(t, "/v1/check/rows?by=by_day&day=17&", c.limit, func(page int) {
					if page > rows {
						t.Fatal("no end of pages")
					}
				})
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d: %.200q", len(got), len(want), got)
			}
		})
	}
	s := indexed(t, Options{}, 3)
	if got := s.all(t, "/v1/check/rows?by=by_day&day=18&", 5, func(int) {}); len(got) != 0 {
		t.Errorf("by a day without an entry come %q", got)
	}
}

// TestIndexPagesWithoutMemory takes memory away, step by step, and reads the rows of a day through an index with a salt: an answer is a
// refusal, has all rows, or has a page token, with which the rows after it are found.
func TestIndexPagesWithoutMemory(t *testing.T) {
	const rows = 600 // more than twice the number of entries read at a time
	path := fmt.Sprintf("/v1/check/rows?by=by_day&day=17&limit=%d", rows)
	s := indexedBy(t, Options{Limits: Limits{Deadline: time.Minute}}, rows, "salt(id, 16) + "+dayKey) // so many scans take more than their own memory
	whole := s.answers.memory.free.Load()
	all := strings.Fields(s.get(path).ids())
	refused, early := 0, 0
	for leave := int64(64 << 10); leave <= 1<<20; leave += 48 << 10 {
		if !s.answers.memory.take(whole - leave) {
			t.Fatal("no memory")
		}
		r := s.get(path)
		s.answers.memory.force(leave - whole)
		ids := strings.Fields(r.ids())
		switch {
		case r.status != http.StatusOK:
			r.refuses(t, fmt.Sprintf("%d KiB", leave>>10), overloaded)
			refused++
		case r.Next != nil:
			ids = append(ids, strings.Fields(s.get(path+"&page="+*r.Next).ids())...)
			early++
			fallthrough
		default:
			if !slices.Equal(ids, all) {
				t.Errorf("with %d KiB: %d rows of %d, page token %t", leave>>10, len(ids), rows, r.Next != nil)
			}
		}
	}
	if len(all) != rows || refused == 0 || early == 0 {
		t.Errorf("%d rows; %d answers are refused, %d end early", len(all), refused, early)
	}
}

// keep removes the other cells of the entries of an index.
func (f *fake) keep(column string) {
	for i, r := range f.rows {
		if bytes.IndexByte(r.Key, '|') >= 0 {
			f.rows[i].Cells = slices.DeleteFunc(slices.Clone(r.Cells), func(c loader.Cell) bool { return string(c.Qualifier) != column })
		}
	}
}

// TestSaltsOfAnIndexChange checks that the salts of an index are compared again when its regions have changed, as those of the job's table are.
func TestSaltsOfAnIndexChange(t *testing.T) {
	for _, covers := range []string{"", "  covers: [day]\n"} {
		t.Run(covers, func(t *testing.T) { saltsOfAnIndexChange(t, covers) })
	}
}

func saltsOfAnIndexChange(t *testing.T, covers string) {
	t.Helper()
	const key = "salt(day) + " + dayKey
	s := open(t, Options{}, map[string]string{"check": "table: check\nkey: " + checkKey + "\nquery: [check_id]\ncolumns: [id, check_id, day]\ntables:\n- index: by_day\n  table: by_day\n" +
		"  key: >-\n    " + key + "\n  query: [day]\n" + covers})
	write := func(salts int) {
		s.fake.rows = nil
		s.fake.put(t, checkKey, 10, "id", "0000", "check_id", "A")
		for _, day := range []string{"17", "18", "19"} {
			s.fake.put(t, key, salts, "id", "0000", "day", day, spec.RowCell, "gone")
			if covers == "" {
				s.fake.keep(spec.RowCell)
			}
		}
	}
	check := s.resources().byName["check"]
	write(10)
	if r := s.get("/v1/check/rows?by=by_day&day=17"); r.status != 200 {
		t.Fatal(r.body)
	}
	write(7)
	s.fake.salted(10, 2)
	s.probe(t.Context(), check)
	for range 2 {
		s.get("/v1/check/rows?by=by_day&day=17").refuses(t, "entries with other salts", tableUnfit)
	}
	if r := s.get("/v1/check/rows?check_id=A"); r.ids() != "0000" {
		t.Errorf("the job's table: %s", r.body)
	}
	write(10)
	if r := s.get("/v1/check/rows?by=by_day&day=17"); r.status != 200 {
		t.Errorf("entries with the right salts: %s", r.body)
	}
}

// TestIndexWithoutAModulus checks that an index whose regions do not show the number of its salts is a problem of the table, which the log has.
func TestIndexWithoutAModulus(t *testing.T) {
	var log bytes.Buffer
	s := open(t, Options{Log: textLog(&log)}, map[string]string{"check": "table: check\nkey: id + '|' + check_id\nquery: [id]\ncolumns: [id, check_id, day]\ntables:\n- index: by_day\n  table: by_day\n" +
		"  key: >-\n    salt(day) + " + dayKey + "\n  query: [day]\n"})
	s.fake.regions = []loader.Region{{Name: []byte("one"), End: []byte("m")}, {Name: []byte("two"), Start: []byte("m")}}
	s.get("/v1/check/rows?by=by_day&day=17").refuses(t, "no modulus", tableUnfit)
	if !strings.Contains(log.String(), "are not split by salt") {
		t.Errorf("log: %s", log.String())
	}
}

// TestIndexRequestsThatAreRefused checks the problems of invalid requests.
func TestIndexRequestsThatAreRefused(t *testing.T) {
	s := indexed(t, Options{}, 3)
	for path, say := range map[string]string{
		"/v1/check/rows?by=by_night&day=17":         "this job has no such index; those are: by_day",
		"/v1/orders/rows?by=by_day&day=17":          "this job has no index",
		"/v1/check/rows?by=by_day":                  "a query key is made of day",
		"/v1/check/rows?by=by_day&check_id=A":       "known: day, by, limit, page, columns",
		"/v1/check/rows?by=by_day&day=17&by=by_day": "given 2 times",
		"/v1/check/scan?by=by_day&from=1":           "unknown parameter",
		"/v1/jobs?by=by_day":                        "unknown parameter; known: none",
		"/v1/check/rows?by=by_day&day=17&page=AAAA": "the token is invalid, or belongs to another job file",
	} {
		if r := s.get(path); r.status != 400 || !strings.Contains(r.Detail, say) {
			t.Errorf("%s: %d %s, want %q", path, r.status, r.body, say)
		}
	}
	page := s.get("/v1/check/rows?by=by_day&day=17&limit=1").Next
	if page == nil {
		t.Fatal("no page token")
	}
	if r := s.get("/v1/check/rows?check_id=A&page=" + *page); r.status != 400 {
		t.Errorf("an index's page token of the table: %d %s", r.status, r.body)
	}
}

// TestIndexOfHiddenColumns checks that a client without access to a column finds nothing by it, and sees no index.
func TestIndexOfHiddenColumns(t *testing.T) {
	s := indexed(t, Options{}, 3)
	res, err := s.resources().byName["check"].only([]string{"id", "check_id", "text"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := res.index("by_day"); asProblem(err) == nil || !asProblem(err).is(forbidden) {
		t.Errorf("an index of a hidden column: %v", err)
	}
	if list := indexParameters(res); list != nil {
		t.Errorf("the description of hidden indexes: %v", list)
	}
}

// TestIndexesAreDescribed checks the list of jobs, the OpenAPI document and the search page, whose form returns rows.
func TestIndexesAreDescribed(t *testing.T) {
	s := indexed(t, Options{}, 3)
	if r := s.get("/v1/jobs"); !strings.Contains(r.body, `"indexes":[{"name":"by_day","query":["day"]}]`) {
		t.Errorf("%s", r.body)
	}
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name     string `json:"name"`
					Required bool   `json:"required"`
				} `json:"parameters"`
			} `json:"get"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(s.get("/openapi.json").body), &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range doc.Paths["/v1/check/rows"].Get.Parameters {
		names = append(names, fmt.Sprintf("%s %t", p.Name, p.Required))
	}
	if want := []string{"check_id false", "by false", "day false", "limit false", "page false", "columns false"}; !slices.Equal(names, want) {
		t.Errorf("parameters %q, want %q", names, want)
	}
	if r := s.get("/search/check"); !strings.Contains(r.body, `action="/search/check?by=by_day"`) || !strings.Contains(r.body, `<input name="day" value=""`) {
		t.Errorf("no form of the index: %s", r.body)
	}
	r := httptest.NewRequest(http.MethodPost, "/search/check?by=by_day", strings.NewReader("day=17&limit=2"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if r := s.do(r); r.status != 200 || !strings.Contains(r.body, "first 2 rows") || !strings.Contains(r.body, `<form method="post" action="/search/check?by=by_day">`) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestLargeRowsByAnIndex checks that a row that an index leads to counts by the columns that are asked for, that the rows before one that is too large are
// given, and that not more of it is read than of any other row.
func TestLargeRowsByAnIndex(t *testing.T) {
	s := indexed(t, Options{Limits: Limits{Bytes: 4 << 10}}, 3)
	const path = "/v1/check/rows?by=by_day&day=17"
	at := slices.IndexFunc(s.fake.rows, func(r loader.Row) bool {
		return strings.HasSuffix(string(r.Key), "0001") && !strings.Contains(string(r.Key), "|")
	})
	for i, c := range s.fake.rows[at].Cells {
		if string(c.Qualifier) == "text" {
			s.fake.rows[at].Cells[i].Value = bytes.Repeat([]byte("x"), 5000)
		}
	}
	if r := s.get(path + "&columns=id"); r.status != 200 || r.ids() != "0000 0001 0002" || r.Next != nil {
		t.Errorf("a column: %d %s", r.status, r.body)
	}
	r := s.get(path)
	if r.status != 200 || r.ids() != "0000" || r.Next == nil {
		t.Fatalf("before the large row: %d %s", r.status, r.body)
	}
	s.get(path+"&page="+*r.Next).refuses(t, "the large row", answerTooLarge)
	if r := s.get(path + "&columns=check_id,id&page=" + *r.Next); r.ids() != "0001 0002" {
		t.Errorf("from the large row on: %d %s", r.status, r.body)
	}
	for i, c := range s.fake.rows[at].Cells {
		if string(c.Qualifier) == "day" {
			s.fake.rows[at].Cells[i].Value = []byte("18")
		}
	}
	if r := s.get(path); r.status != 200 || r.ids() != "0000 0002" || r.Next != nil {
		t.Errorf("a large row of another day: %d %s", r.status, r.body)
	}
}

// TestExamplesAreAnswered checks that the requests that the page of the description shows as examples are valid.
func TestExamplesAreAnswered(t *testing.T) {
	s := indexed(t, Options{}, 1)
	page := s.get("/docs").body
	for _, path := range []string{"/v1/check/rows?check_id=VALUE&limit=10", "/v1/check/scan?prefix=VALUE,VALUE&limit=10", "/v1/orders/rows?user=VALUE&limit=10", "/v1/orders/scan?prefix=VALUE&limit=10"} {
		if !strings.Contains(page, strings.ReplaceAll(path, "&", "&amp;")) {
			t.Errorf("not shown: %s", path)
		}
		if r := s.get(path); r.status != 200 {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}
