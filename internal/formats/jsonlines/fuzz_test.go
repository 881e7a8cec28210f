package jsonlines

import (
	"encoding/json"
	"strings"
	"testing"

	"bulkload/pkg/source/span"

	"github.com/valyala/fastjson"
)

// cases are lines like those of JSON's test suites, on which parsers of other programs disagree.
var cases = []string{
	`{"a":1}`, `{"a":{"b":"x","c":[1,{"d":null}]},"a.b":"y"}`, `{"a":"\u4e2d\ud83d\ude00","b":"中"}`, `{"b":1e5,"a":-0.0}`,
	`{"a":[1,2`, `[{"a":1}]`, `[`, `{`, `"a"`, "\"\xf5\"", `{"a":1}{"a":2}`, `{"a":1,}`, `{"a":"` + "\t" + `"}`, `{"a":"\x"}`, `{"a":"\ud800"}`,
	`{"a":"\ud800\u0041"}`, `{"a":"\udc00"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", `{"a":1,"a":2}`, `{"c":1,"\u0063":2}`,
	`{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.1}`, `{"a":1e}`, `{"a":1E+}`, `{"a":0x1}`, `{"a":Infinity}`, `{"a":-NaN}`, `{"a":1_000}`,
	`{"a":"\u00A"}`, `{"a":"\u{41}"}`, `{"a":'b'}`, `{a:1}`, `{"a":1 /* c */}`, `{"a":1}#`, "{\"a\":\"\u2028\"}", `{"a":"\u0000"}`,
	`{"a":True}`, `{"a":truefalse}`, `{"":{"":[]}}`, `{"a":[,]}`, `{"a":[1,,2]}`, `{"a":["x"`, `{"a":{]}`, `{"a":[}`, `{"a"::1}`,
	`{"a":1e99999999999999999999}`, `{"a":123456789012345678901234567890}`, "\ufeff{}", "{\"a\"\x00:1}", "{\"a\":1}\x00", "{\"a\":\f1}",
	strings.Repeat(`{"a":`, 520) + `1` + strings.Repeat(`}`, 520), `{"a":` + strings.Repeat(`[`, 600) + strings.Repeat(`]`, 600) + `}`,
	`{"a":` + strings.Repeat(`[`, 3000), "{\"a\":\"\x7f\"}", `{"a":"\/"}`, "{\"a\":\"\u0085\ufffd\"}", "{\"a\":\"\xf0\x9f\x98\"}", " {} \r",
}

// fuzzWanted returns the wanted members of fuzzed lines.
func fuzzWanted() [][]string {
	return [][]string{{"a"}, {"b"}, {"a", "b"}, {"a.b"}, {"c", "d", "e"}, {""}}
}

// FuzzParse compares a line with jsontext and encoding/json, for several lists of wanted members and for none. The
// result must not depend on lines that the parser has read before.
func FuzzParse(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c))
	}
	for _, file := range []string{"jq-ascii.jsonl", "spark-nested.jsonl", "pandas.jsonl"} {
		for _, line := range readLines(f, file)[:12] {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, wanted := range [][][]string{fuzzWanted(), fuzzWanted()[3:], {{"a"}}, nil} {
			tree, paths := wishes(wanted)
			p := compile(t, paths...).NewParser()
			judge(t, p, line, tree, len(paths))
			for _, other := range cases[:4] {
				_, _ = parse(t, p, []byte(other), len(paths))
			}
			judge(t, p, line, tree, len(paths))
			judge(t, p, line, tree, len(paths))
		}
		listMembers(t, line)
	})
}

// listMembers compares the names of a line with a parser of all of these members.
func listMembers(t *testing.T, line []byte) {
	t.Helper()
	members, err := Names(line)
	if _, bad := parse(t, compile(t).NewParser(), line, 0); bad != nil && err == nil {
		t.Fatalf("%q: names of a line with a fault: %v", line, bad)
	}
	if err != nil {
		return
	}
	var paths []string
	for _, m := range members {
		paths = append(paths, m.Path)
	}
	row, err := parse(t, compile(t, paths...).NewParser(), line, len(paths))
	if err != nil {
		t.Fatalf("%q: %v of all of %q", line, err, paths)
	}
	for i, m := range members {
		if (row[i] == nil) != (m.Kind == Null) {
			t.Fatalf("%q, %s: %v is %s", line, m.Path, row[i], m.Kind)
		}
	}
}

// TestFastjsonIsLenient shows why valyala/fastjson does not read the rows: it accepts lines that encoding/json refuses,
// and changes values. The lines that fastjson's own validation, which halves its speed, also refuses are marked.
func TestFastjsonIsLenient(t *testing.T) {
	for _, c := range []struct {
		line      string
		validates bool // fastjson.Validate refuses it
	}{
		{`{"a":1.}`, true}, {`{"a":--1e}`, true}, {`{"a":nan}`, true}, {`{"a":012}`, true}, {`{"a":"\x"}`, true}, {"{\"a\":\"\t\"}", true},
		{"{\"a\":\"\xff\"}", false}, {`{"a":"\ud800"}`, false}, {`{"a":1,"a":2}`, false},
	} {
		var p fastjson.Parser
		if _, err := p.Parse(c.line); err != nil {
			t.Errorf("%s: fastjson refuses it: %v", c.line, err)
		}
		if (fastjson.Validate(c.line) != nil) != c.validates {
			t.Errorf("%s: fastjson.Validate: %v", c.line, fastjson.Validate(c.line))
		}
		if c.validates && json.Valid([]byte(c.line)) {
			t.Errorf("%s: encoding/json takes it", c.line)
		}
		if _, err := compile(t, "a").NewParser().Parse([]byte(c.line), 0, len(c.line), make([]span.Span, 1)); err == nil {
			t.Errorf("%s: taken", c.line)
		}
	}
}
