package jsonlines

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/pkg/source/span"
)

func compile(t testing.TB, paths ...string) *Plan {
	t.Helper()
	p, err := Compile(paths)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shown returns a row as one text: null is -, other values are in quotes.
func shown(row []*string) string {
	var b strings.Builder
	for i, v := range row {
		if i > 0 {
			b.WriteByte(' ')
		}
		if v == nil {
			b.WriteByte('-')
		} else {
			fmt.Fprintf(&b, "%q", *v)
		}
	}
	return b.String()
}

// TestValues checks the text of each kind of value, and the members that each kind of path finds.
func TestValues(t *testing.T) {
	for _, c := range []struct{ paths, line, want string }{
		{"a b", `{"a":"x","b":""}`, `"x" ""`},
		{"b a", `{"a":1,"b":2}`, `"2" "1"`},
		{"a b c", `{"c":null,"a":true,"x":9,"b":false}`, `"true" "false" -`},
		{"a b c d e", `{"a":100.00,"b":1e5,"c":9223372036854775807,"d":-0,"e":1E+2}`, `"100.00" "1e5" "9223372036854775807" "-0" "1E+2"`},
		{"a b", `{"a":12345678901234567890123456789.10,"b":1e400}`, `"12345678901234567890123456789.10" "1e400"`},
		{"a", `{"a":"\"\\\/\b\f\n\r\t"}`, `"\"\\/\b\f\n\r\t"`},
		{"a b", `{"a":"\u4e2d\u6587 \ud83d\ude00\u0000","b":"中文 😀"}`, `"中文 😀\x00" "中文 😀"`},
		{"a", `{"a":"\\u4e2d"}`, `"\\u4e2d"`},
		{"a", `{"a":"\udbff\udfff\uFFFF\uABcd"}`, `"\U0010ffff\uffffꯍ"`},
		{"a b", `{"a":{"x": [1, "\u4e2d"] } ,"b":[ ]}`, `"{\"x\": [1, \"\\u4e2d\"] }" "[ ]"`},
		{"a.x a a.y", `{"a":{"x":1, "z":2}}`, `"1" "{\"x\":1, \"z\":2}" -`},
		{"a.b.c a.d", `{"a":{"b":{"c":"deep"},"d":"\n"}}`, `"deep" "\n"`},
		{"a.b c", `{"a":null,"c":1}`, `- "1"`},
		{"a.b c", `{"c":1}`, `- "1"`},
		{"a.b c", `{"a":{},"c":1}`, `- "1"`},
		{`a\.b a.b`, `{"a.b":1,"a":{"b":2}}`, `"1" "2"`},
		{`a.b`, `{"a.b":1}`, `"1"`},
		{`a.b`, `{"a.b":null,"c":1}`, `-`},
		{`a.b c`, `{"c":"x","a.b":"\u00e9"}`, `"é" "x"`},
		{`a.b`, `{"a":null,"a.b":1}`, `"1"`},
		{`a.b`, `{"a.b":1,"a":{"c":2}}`, `"1"`},
		{`a.b`, `{"a":"x","a.b":{"c":1}}`, `"{\"c\":1}"`},
		{`a a.b`, `{"a":"x","a.b":"y"}`, `"x" "y"`},
		{`a.b a.c a.d.e`, `{"a":"x","a.b":"y","a.c":null,"a.d.e":5}`, `"y" - "5"`},
		{`a.b a\.b.c`, `{"a.b":{"c":1}}`, `"{\"c\":1}" "1"`},
		{`a\.b`, `{"a":{"b":2}}`, `-`},
		{`a\\b \\\. x.`, `{"a\\b":1,"\\.":2,"x":{"":3}}`, `"1" "2" "3"`},
		{"na\"me", `{"na\"me":1}`, `"1"`},
		{"名称 name", `{"\u540d\u79f0":"甲","n\u0061me":"乙"}`, `"甲" "乙"`},
		{"a", " \t{ \"a\" \r:\n1 , \"b\" : [ ] }\r", `"1"`},
		{"a", `{}`, `-`},
		{"", `{"":"empty name","b":2}`, `"empty name"`},
		{"a", `{"x":{"d":1,"d":2},"a":1}`, `"1"`},
		{"a", `{"a":{"d":1,"d":2}}`, `"{\"d\":1,\"d\":2}"`},
	} {
		paths := strings.Split(c.paths, " ")
		p := compile(t, paths...).NewParser()
		for range 3 { // the parser has learned the names from the second time on
			row, err := parse(t, p, []byte(c.line), len(paths))
			if err != nil {
				t.Errorf("%s of %s: %v", c.paths, c.line, err)
			} else if got := shown(row); got != c.want {
				t.Errorf("%s of %s:\n%s, want\n%s", c.paths, c.line, got, c.want)
			}
		}
	}
}

// TestMet checks that Met reports the fields that some line had, as a member, by its path or as null.
func TestMet(t *testing.T) {
	paths := []string{"a", "b", "o.p", "o.q", "x.y", "none", "o.none", "null"}
	p := compile(t, paths...).NewParser()
	met := func() (names []string) {
		for field, path := range paths {
			if p.Met(field) {
				names = append(names, path)
			}
		}
		return names
	}
	for _, step := range []struct{ line, met string }{
		{`{"p":1,"y":2}`, ""},
		{`{"b":1}`, "b"},
		{`{"null":null,"o":null}`, "b null"},
		{`{"o":{"p":""}}`, "b o.p null"},
		{`{"x.y":1}`, "b o.p x.y null"},
		{`{"a":[]}`, "a b o.p x.y null"},
	} {
		if _, err := parse(t, p, []byte(step.line), len(paths)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(met(), " "); got != step.met {
			t.Errorf("behind %s: %s, want %s", step.line, got, step.met)
		}
	}
}

// TestLearnedNames checks that a learned name is matched only as a valid JSON string, not as its unescaped text in quotes.
func TestLearnedNames(t *testing.T) {
	p := compile(t, `w"`, `v\\`).NewParser()
	for range 2 {
		for _, line := range []string{`{"w\"":1,"v\\":2,"q\"":3}`, `{"q\"":3,"v\u005c":2,"\u0077\"":1}`} {
			if row, err := parse(t, p, []byte(line), 2); err != nil || shown(row) != `"1" "2"` {
				t.Errorf("%s: %v %v", line, row, err)
			}
			for wrong, want := range map[string]fault{`{"w"":1}`: faultColon, `{"q"":1}`: faultColon, `{"v\":1}`: faultEndString, `{"q\"":1,"q\u0022":1}`: faultTwice} {
				_, _ = parse(t, p, []byte(line), 2) // its first name is expected first in the next line
				_, err := parse(t, p, []byte(wrong), 2)
				var e *Error
				if !errors.As(err, &e) || e.Reason != want.String() {
					t.Errorf("%s: %v, want %s", wrong, err, want)
				}
			}
		}
	}
}

// TestLevels checks objects and arrays nested deeper than one word of the stack has bits, and that a wrong bracket at any level is an error.
func TestLevels(t *testing.T) {
	for levels := range 140 {
		var open, end string
		for i := range levels {
			if i%3 == 0 {
				open, end = open+`{"x":`, "}"+end
			} else {
				open, end = open+"[", "]"+end
			}
		}
		p := compile(t, "a").NewParser()
		if row, err := parse(t, p, []byte(`{"a":`+open+"1"+end+"}"), 1); err != nil || shown(row) != fmt.Sprintf("%q", open+"1"+end) {
			t.Fatalf("%d levels: %v %v", levels, row, err)
		}
		for i := range end {
			wrong := []byte(end)
			wrong[i] ^= '}' ^ ']'
			if _, err := parse(t, p, []byte(`{"a":`+open+"1"+string(wrong)+"}"), 1); err == nil {
				t.Fatalf("%d levels: bracket %d may be another", levels, i)
			}
		}
	}
}

// TestNoValueInErrors checks that errors have no part of the line except wanted names.
func TestNoValueInErrors(t *testing.T) {
	const secret = "sesame"
	for _, line := range []string{
		`{"a":"` + secret, `{"a":"` + secret + `\x"}`, secret, `{"` + secret + `":1,"` + secret + `":2}`, `{"a":` + secret + `}`, `{"` + secret + `":tru}`,
	} {
		if _, err := parse(t, compile(t, "a").NewParser(), []byte(line), 1); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestCalls checks the errors for invalid arguments.
func TestCalls(t *testing.T) {
	p := compile(t, "a").NewParser()
	buf, one := []byte(`{"a":1}`), make([]span.Span, 1)
	for _, c := range []struct {
		start, end int
		fields     []span.Span
	}{{0, 8, one}, {-1, 7, one}, {5, 4, one}, {0, 7, nil}, {0, 7, make([]span.Span, 2)}} {
		if grown, err := p.Parse(buf, c.start, c.end, c.fields); err == nil || len(grown) != len(buf) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestManyMembers checks lines whose names are data: the parser forgets them, their number is limited, and repeated names are found.
func TestManyMembers(t *testing.T) {
	p := compile(t, "id").NewParser()
	line := func(from, n int, behind string) []byte {
		b := fmt.Appendf(nil, `{"n%d":0,"id":1`, from)
		for i := range n - 1 {
			b = fmt.Appendf(b, `,"n%d":0`, from+i+1)
		}
		return append(b, behind...)
	}
	for i := range 20 {
		if row, err := parse(t, p, line(i*300, 300, "}"), 1); err != nil || shown(row) != `"1"` {
			t.Fatalf("line %d: %v %v", i, row, err)
		}
		if o := p.objects[0]; len(o.members) > maxLearned+300+1 || len(o.table) > 8*(maxLearned+300) {
			t.Fatalf("line %d: %d names, a table of %d", i, len(o.members), len(o.table))
		}
		if _, err := parse(t, p, line(i*300, 300, fmt.Sprintf(`,"n%d":0}`, i*300+150)), 1); err == nil || !strings.Contains(err.Error(), faultTwice.String()) {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	if _, err := parse(t, p, line(0, maxMembers-1, "}"), 1); err != nil {
		t.Error(err)
	}
	if _, err := parse(t, p, line(0, maxMembers, "}"), 1); err == nil || !strings.Contains(err.Error(), faultMany.String()) {
		t.Error(err)
	}
	if row, err := parse(t, p, line(7, 3, "}"), 1); err != nil || shown(row) != `"1"` {
		t.Error(row, err)
	}
}

func TestBlank(t *testing.T) {
	for line, want := range map[string]bool{"": true, " \t\r\n": true, "x": false, " {}": false, "\x00": false, "\u00a0": false} {
		if Blank([]byte(line)) != want {
			t.Errorf("%q: %t", line, !want)
		}
	}
}

// TestNothingAllocates checks that lines in one or several orders, with members left out and with unwanted names, allocate nothing.
func TestNothingAllocates(t *testing.T) {
	buf, ends := checkLines(50, true, true)
	buf = append(buf, `{"check_id":"1","sub":{"a":"\n","b":[{"c":1}]},"\u540d":null}`...)
	ends = append(ends, len(buf))
	p := compile(t, "remark", "payee", "amount", "sub.a", "sub", "名").NewParser()
	fields := make([]span.Span, 6)
	size := len(buf)
	all := func() {
		buf = buf[:size]
		start := 0
		for _, end := range ends {
			var err error
			if buf, err = p.Parse(buf, start, end, fields); err != nil {
				t.Fatal(err)
			}
			start = end
			if start < size && buf[start] == '\n' {
				start++
			}
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
