package serve

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzBatch fuzzes the bodies of batches: an accepted one has whole keys within its limits, any other is a problem.
func FuzzBatch(f *testing.F) {
	for _, body := range []string{
		`{"keys":[{"a":"1","b":"2"}],"columns":["x"],"limit":5}`, `{"keys":[{"b":{"base64":"QQ=="},"a":"\ud83d\ude00"}]}`, `{"keys":[{"a":"\ud800","b":""}]}`,
		`{"keys":[{"a":"1","a":"2"}]}`, `[[[[`, `{"keys":[],"keys":[]}`, `{"limit":1e3}`, "\xff", `{"keys":[{"a":"1","b":"2"}]}{}`,
	} {
		f.Add([]byte(body))
	}
	limits := Limits{Keys: 3}.WithDefaults()
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := parseBatch(body, []string{"a", "b"}, limits)
		if err != nil {
			if asProblem(err) == nil {
				t.Fatalf("%v is not a problem", err)
			}
			return
		}
		if len(b.keys) < 1 || len(b.keys) > 3 || b.limit < 1 || b.limit > limits.Rows || b.columns != nil && len(b.columns) == 0 {
			t.Fatalf("%+v", b)
		}
		for _, k := range b.keys {
			if len(k) != 2 {
				t.Fatalf("%q", k)
			}
		}
	})
}

// FuzzRequest fuzzes the query strings of each reading path: none causes an internal failure of the service or leaks
// memory.
func FuzzRequest(f *testing.F) {
	for _, q := range []string{"check_id=A&limit=1", "check_id=A&page=AZM06_V1PHyYATFj", "from=a%2Cb&to=c", "prefix=%5Cx00", "columns=id,text&check_id=%00", "a;b", "%", "check_id=" + strings.Repeat("A", 70000)} {
		f.Add(q)
	}
	s := checks(f, Options{Compat: true}, 2)
	whole := s.answers.memory.free.Load()
	f.Fuzz(func(t *testing.T, q string) {
		for _, path := range []string{"/v1/check/rows", "/v1/check/scan", "/v1/orders/scan", "/v1/jobs", "/hbaseweb/get/check"} {
			r := httptest.NewRequest("GET", path, nil)
			r.URL = &url.URL{Path: path, RawQuery: q}
			if got := s.do(r); got.status >= 500 {
				t.Fatalf("%s?%s: %d %s", path, q, got.status, got.body)
			}
		}
		if free := s.answers.memory.free.Load(); free != whole || s.gate.in != 0 {
			t.Fatalf("%d bytes and %d places are missing", whole-free, s.gate.in)
		}
	})
}
