package celltype

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// TestJSONForm checks the JSON form of values that the type's converter made.
func TestJSONForm(t *testing.T) {
	for _, c := range []struct {
		typ        Type
		text, want string
	}{
		{Type{}, `a "b"` + "\n<é>", `"a \"b\"\n<é>"`},
		{Type{}, "\xff", `{"base64":"/w=="}`},
		{Type{}, "", `""`},
		{Type{Type: "short"}, "-7", "-7"},
		{Type{Type: "int", Encoding: "phoenix"}, "-2147483648", "-2147483648"},
		{Type{Type: "long"}, "9223372036854775807", `"9223372036854775807"`},
		{Type{Type: "float"}, "0.1", "0.1"},
		{Type{Type: "double"}, "1e300", "1e+300"},
		{Type{Type: "double", Encoding: "phoenix"}, "-Infinity", `"-Infinity"`},
		{Type{Type: "double"}, "NaN", `"NaN"`},
		{Type{Type: "boolean"}, "yes", "true"},
		{Type{Type: "boolean", Encoding: "phoenix"}, "f", "false"},
		{Type{Type: "decimal"}, "-12.340", `"-12.340"`},
		{Type{Type: "date"}, "2017-09-01", `"2017-09-01"`},
		{Type{Type: "date", Zone: "Asia/Shanghai", Layout: "dd.MM.yyyy"}, "01.09.2017", `"2017-09-01"`},
		{Type{Type: "date", Layout: "yyyy-MM-dd HH:mm"}, "2017-09-01 10:30", `"2017-09-01T10:30:00Z"`},
		{Type{Type: "timestamp", Zone: "Asia/Shanghai"}, "2017-09-01 08:00:00", `"2017-09-01T00:00:00Z"`},
		{Type{Type: "timestamp", Layout: "yyyy-MM-dd HH:mm:ss.SSS"}, "1969-12-31 23:59:59.250", `"1969-12-31T23:59:59.25Z"`},
		{Type{Type: "date", Layout: "unixms"}, "1000", `"1970-01-01T00:00:01Z"`},
	} {
		value := []byte(c.text)
		if convert, err := c.typ.Converter(); err != nil {
			t.Fatal(err)
		} else if convert != nil {
			if value, err = convert(nil, value); err != nil {
				t.Fatalf("%+v: %v", c.typ, err)
			}
		}
		if got := string(c.typ.JSON().Append([]byte("x"), value)); got != "x"+c.want {
			t.Errorf("%+v %q: %s, want x%s", c.typ, c.text, got, c.want)
		}
	}
	day := int64(1504224000000)
	if got := string(Type{Type: "date"}.JSON().Append(nil, appendMillis(nil, day+1, false))); got[0] != '{' {
		t.Errorf("a time within a day is written as the date %s", got)
	}
}

// TestJSONFormAny checks that any bytes of each type become valid JSON: a value of the form's type, or the bytes in
// base64.
func TestJSONFormAny(t *testing.T) {
	types := []string{"text", "short", "int", "long", "float", "double", "boolean", "decimal", "date", "timestamp"}
	testcheck.Check(t, func(t *rapid.T) {
		typ := Type{Type: rapid.SampledFrom(types).Draw(t, "type"), Encoding: rapid.SampledFrom([]string{"", "phoenix"}).Draw(t, "encoding")}
		value := rapid.SliceOfN(rapid.Byte(), 0, 13).Draw(t, "value")
		form := typ.JSON()
		var v any
		if err := json.Unmarshal(form.Append(nil, value), &v); err != nil {
			t.Fatal(err)
		}
		switch v := v.(type) {
		case map[string]any:
			if b, err := base64.StdEncoding.DecodeString(v["base64"].(string)); err != nil || string(b) != string(value) || len(v) != 1 {
				t.Fatalf("%v of %x", v, value)
			}
		case string:
			switch form.Format {
			case "int64":
				if _, err := strconv.ParseInt(v, 10, 64); err != nil {
					t.Fatal(err)
				}
			case "date":
				if _, err := time.Parse(time.DateOnly, v); err != nil {
					t.Fatal(err)
				}
			case "date-time":
				if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
					t.Fatal(err)
				}
			case "float", "double":
				if isFinite(v) {
					t.Fatalf("%q is a string", v)
				}
			}
		case float64:
			if form.Type != "number" && form.Type != "integer" {
				t.Fatalf("%+v gives the number %v", typ, v)
			}
		case bool:
			if form.Type != "boolean" {
				t.Fatalf("%+v gives %v", typ, v)
			}
		}
	})
}

func TestJSONFormAllocs(t *testing.T) {
	dst := make([]byte, 0, 1024)
	for _, typ := range []Type{{}, {Type: "int"}, {Type: "long"}, {Type: "timestamp"}, {Type: "date"}} {
		form := typ.JSON()
		value := []byte("12345678")
		if typ.Type == "int" {
			value = value[:4]
		}
		if typ.Type == "date" || typ.Type == "timestamp" {
			value = appendMillis(nil, 1504224000000, false)
		}
		if n := testing.AllocsPerRun(100, func() { dst = form.Append(dst[:0], value) }); n > 0 {
			t.Errorf("%+v: %v allocations", typ, n)
		}
	}
}
