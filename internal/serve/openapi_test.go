package serve

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const typedJob = `table: "ns:typed"
key: salt(acct, biz, 4) + md5hex(acct, biz) + id
query: [acct, biz]
columns: [id, acct, biz, n, big, amount, rate, ok, day, at, note]
cells:
- {column: n, type: int}
- {column: big, type: long}
- {column: amount, type: decimal}
- {column: rate, type: double, family: g}
- {column: ok, type: boolean}
- {column: day, type: date}
- {column: at, type: timestamp, zone: Asia/Shanghai}
- {rest: true}
`

func unmarshal(t testing.TB, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// described validates the service's description with the schema of OpenAPI documents, and returns a compiler that
// knows the description.
func described(t testing.TB, s *service) *jsonschema.Compiler {
	t.Helper()
	f, err := os.ReadFile("testdata/openapi-3.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://spec.openapis.org/oas/3.1/schema", unmarshal(t, string(f))); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("https://spec.openapis.org/oas/3.1/schema")
	if err != nil {
		t.Fatal(err)
	}
	r := s.get("/openapi.json")
	doc := unmarshal(t, r.body)
	if err := schema.Validate(doc); err != nil || r.status != 200 {
		t.Fatalf("%d: %v", r.status, err)
	}
	if err := schema.Validate(unmarshal(t, strings.Replace(r.body, `"in":"query"`, `"in":"nowhere"`, 1))); err == nil {
		t.Fatal("the schema takes everything")
	}
	if err := c.AddResource("https://service/openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

// conforms validates a text with a schema of the description.
func conforms(t testing.TB, c *jsonschema.Compiler, pointer, text string) error {
	t.Helper()
	schema, err := c.Compile("https://service/openapi.json#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(unmarshal(t, text))
}

// TestOpenAPI validates the description with its standard, and the service's responses with the description.
func TestOpenAPI(t *testing.T) {
	s := checks(t, Options{}, 3)
	s.write(t, "typed", typedJob)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.fake.put(t, "salt(acct, biz, 4) + md5hex(acct, biz) + id", 4, "acct", "1", "biz", "2", "id", "x", "n", "\x00\x00\x00\x07", "big", "12345678", "ok", "\xff", "note", "\xfe", "other", "o",
		"at", "\x00\x00\x01\x5e\x3a\x1b\x00\x00", "day", "12345678")
	c := described(t, s)
	const page = "/components/schemas/page_"
	for path, schema := range map[string]string{
		"/v1/check/rows?check_id=A&limit=2":      page + "check",
		"/v1/check/rows?check_id=A&columns=id":   page + "check",
		"/v1/orders/scan":                        page + "orders",
		"/v1/typed/rows?acct=1&biz=2":            page + "typed",
		"/v1/typed/rows?acct=1&biz=2&columns=at": page + "typed",
	} {
		r := s.get(path)
		if err := conforms(t, c, schema, r.body); err != nil || r.status != 200 || len(r.Rows) == 0 && !strings.Contains(path, "orders") {
			t.Errorf("%s: %d %s: %v", path, r.status, r.body, err)
		}
	}
	r := s.post("/v1/typed/rows:batch", `{"keys":[{"acct":"1","biz":"2"},{"acct":"\u0000","biz":"2"}]}`)
	if err := conforms(t, c, "/paths/~1v1~1typed~1rows:batch/post/responses/200/content/application~1json/schema", r.body); err != nil {
		t.Errorf("%s: %v", r.body, err)
	}
	const asked = "/paths/~1v1~1typed~1rows:batch/post/requestBody/content/application~1json/schema"
	if err := conforms(t, c, asked, `{"keys":[{"acct":"1","biz":{"base64":"QQ=="}}],"columns":["n"],"limit":7}`); err != nil {
		t.Error(err)
	}
	if conforms(t, c, asked, `{"keys":[{"acct":"1"}]}`) == nil {
		t.Error("half of a key conforms")
	}
	for _, path := range []string{"/v1/check/rows", "/v1/nope/rows", "/nope"} {
		if err := conforms(t, c, "/components/schemas/Problem", s.get(path).body); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if conforms(t, c, page+"typed", `{"rows":[{"n":"7"}],"next_page":null}`) == nil {
		t.Error("a text conforms to an integer")
	}
	if !bytes.Contains([]byte(s.get("/v1/jobs").body), []byte(`{"name":"g:rate","type":"number","format":"double"}`)) {
		t.Error(s.get("/v1/jobs").body)
	}
}
