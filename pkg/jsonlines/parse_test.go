package jsonlines

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"bulkload/pkg/span"
)

func compile(t testing.TB, paths ...string) *Plan {
	t.Helper()
	p, err := Compile(paths)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shown is a row in one text: null is -, other values are in quotes.
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

// TestValues has what each kind of value becomes, and what each kind of path finds.
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

// TestFaults has each fault with its place, and the path of the member.
func TestFaults(t *testing.T) {
	deep := strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)
	for _, c := range []struct {
		line   string
		want   fault
		offset int
		path   string
	}{
		{"", faultBlank, 0, ""},
		{" \t\r", faultBlank, 3, ""},
		{"[", faultWholeFile, 0, ""},
		{"[ \r", faultWholeFile, 0, ""},
		{`[{"a":1},`, faultWholeFile, 0, ""},
		{`[ {"a":1}]`, faultWholeFile, 0, ""},
		{"{", faultWholeFile, 1, ""},
		{"{ \r", faultWholeFile, 3, ""},
		{"[1,2]", faultArray, 0, ""},
		{"[]", faultArray, 0, ""},
		{`  "a"`, faultScalar, 2, ""},
		{`-1.5e3 `, faultScalar, 0, ""},
		{`null`, faultScalar, 0, ""},
		{`  "a": 1,`, faultNoObject, 2, ""},
		{`}`, faultNoObject, 0, ""},
		{"\xef\xbb\xbf{}", faultMark, 0, ""},
		{`{"a":1}x`, faultBehind, 7, ""},
		{`{"a":1} {"a":2}`, faultBehind, 8, ""},
		{`{"a":1`, faultEnd, 6, ""},
		{`{"a":`, faultEnd, 5, "a"},
		{`{"a"`, faultEnd, 4, ""},
		{`{"a":1,`, faultEnd, 7, ""},
		{`{"x":[1`, faultEnd, 7, ""},
		{`{"x":[1,`, faultEnd, 8, ""},
		{`{"x":{"y"`, faultEnd, 9, ""},
		{`{"x":{"y":`, faultEnd, 10, ""},
		{`{"x":{`, faultEnd, 6, ""},
		{`{"a":"`, faultEndString, 6, "a"},
		{`{"a":"\`, faultEndString, 7, "a"},
		{`{"a`, faultEndString, 3, ""},
		{`{a:1}`, faultName, 1, ""},
		{`{"x":{1:1}}`, faultName, 6, ""},
		{`{'a':1}`, faultName, 1, ""},
		{`{"a":1,,"b":2}`, faultName, 7, ""},
		{`{"a" 1}`, faultColon, 5, ""},
		{`{"x":{"a",}}`, faultColon, 9, ""},
		{`{"a":1 "b":2}`, faultComma, 7, ""},
		{`{"a":1]`, faultComma, 6, ""},
		{`{"x":{"a":1]}`, faultComma, 11, ""},
		{`{"x":[1 2]}`, faultCommaArray, 8, ""},
		{`{"x":[1}`, faultCommaArray, 7, ""},
		{`{"a":1,}`, faultLastComma, 7, ""},
		{`{"x":[1,]}`, faultLastComma, 8, ""},
		{`{"x":{"y":1,}}`, faultLastComma, 12, ""},
		{`{"a":}`, faultValue, 5, "a"},
		{`{"a":+1}`, faultValue, 5, "a"},
		{`{"a":.5}`, faultValue, 5, "a"},
		{`{"a":NaN}`, faultValue, 5, "a"},
		{`{"a":'x'}`, faultValue, 5, "a"},
		{"{\"a\":\xff}", faultValue, 5, "a"},
		{`{"x":[,1]}`, faultValue, 6, ""},
		{`{"a":nul}`, faultWord, 5, "a"},
		{`{"a":tru`, faultWord, 5, "a"},
		{`{"a":falsy}`, faultWord, 5, "a"},
		{`{"a":nulls}`, faultComma, 9, ""},
		{`{"a":-}`, faultMinus, 6, "a"},
		{`{"a":-x}`, faultMinus, 6, "a"},
		{`{"a":012}`, faultZero, 6, "a"},
		{`{"a":-00}`, faultZero, 7, "a"},
		{`{"a":1.}`, faultFraction, 7, "a"},
		{`{"a":1.e5}`, faultFraction, 7, "a"},
		{`{"a":1e}`, faultExponent, 7, "a"},
		{`{"a":1e+}`, faultExponent, 8, "a"},
		{`{"a":0x10}`, faultComma, 6, ""},
		{"{\"a\":\"tab\there\"}", faultControl, 9, "a"},
		{"{\"a\":\"\x00\"}", faultControl, 6, "a"},
		{"{\"x\":\"0123456789\n\"}", faultControl, 16, ""},
		{`{"a":"x\y"}`, faultEscape, 7, "a"},
		{`{"a":"\'"}`, faultEscape, 6, "a"},
		{`{"a":"\U0041"}`, faultEscape, 6, "a"},
		{`{"a":"\u00g0"}`, faultHex, 6, "a"},
		{`{"a":"\u12"}`, faultHex, 6, "a"},
		{`{"a":"\ud800\u12"}`, faultHex, 12, "a"},
		{`{"a":"\ud800"}`, faultSurrogate, 6, "a"},
		{`{"a":"\udc00\ud800"}`, faultSurrogate, 6, "a"},
		{`{"a":"\ud800\ud800"}`, faultSurrogate, 6, "a"},
		{`{"a":"\udc00\udc00"}`, faultSurrogate, 6, "a"},
		{`{"a":"\ud800x"}`, faultSurrogate, 6, "a"},
		{`{"x":["\ud800\n"]}`, faultSurrogate, 7, ""},
		{"{\"a\":\"ok \xe4\xb8\xad \xe4\xb8\"}", faultUTF8, 13, "a"},
		{"{\"a\":\"\xc0\x80\"}", faultUTF8, 6, "a"},         // overlong
		{"{\"a\":\"\xed\xa0\x80\"}", faultUTF8, 6, "a"},     // a surrogate in UTF-8
		{"{\"a\":\"\xf4\x90\x80\x80\"}", faultUTF8, 6, "a"}, // above U+10FFFF
		{"{\"a\xff\":1}", faultUTF8, 3, ""},
		{"{\"x\":{\"y\":\"\xd6\xd0\"}}", faultUTF8, 11, ""}, // GBK
		{`{"a":1,"a":1}`, faultTwice, 7, "a"},
		{`{"x":1,"b":2,"x":1}`, faultTwice, 13, ""},
		{`{"a":1,"\u0061":1}`, faultTwice, 7, "a"},
		{`{"o":{"p":1,"p":1}}`, faultTwice, 12, "o.p"},
		{`{"o":{"q":1,"q":1}}`, faultTwice, 12, "o"},
		{`{"o":{"p":tru}}`, faultWord, 10, "o.p"},
		{`{"o":{"p":1;}}`, faultComma, 11, "o"},
		{`{"o":[]}`, faultThrough, 5, "o"},
		{`{"o":"text"}`, faultThrough, 5, "o"},
		{`{"o":"\x"}`, faultEscape, 6, "o"},
		{`{"o.p":1,"o":{"p":2}}`, faultBoth, 7, "o.p"},
		{`{"o":{"p":null},"o.p":null}`, faultBoth, 22, "o.p"},
		{`{"o":1,"o.q":2}`, faultThrough, 5, "o"},
		{`{"x":[` + deep + `]}`, faultDeep, 5 + maxDepth - 1, ""},
		{`{"o":{"p":` + deep + `}}`, faultDeep, 10 + maxDepth - 2, "o.p"},
	} {
		p := compile(t, "a", "b", "o.p").NewParser()
		for range 2 {
			_, err := parse(t, p, []byte(c.line), 3)
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%s: %v", c.line, err)
				break
			}
			if e.Reason != c.want.String() || e.Offset != c.offset || e.Path != c.path {
				t.Errorf("%.60s: %v, want byte %d, %q, %s", c.line, err, c.offset, c.path, c.want)
			}
			if errors.Is(err, ErrWholeFile) != (c.want == faultWholeFile) {
				t.Errorf("%s: ErrWholeFile of %v", c.line, err)
			}
			_, _ = parse(t, p, []byte(`{"a":1,"b":2,"o":{"p":3}}`), 3)
		}
	}
	if _, err := parse(t, compile(t, "a").NewParser(), []byte(`{"a":`+deep+`}`), 1); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
}

// TestMet has which fields some line had, as a member, by its path or with null.
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

// TestLearnedNames has names that were met with escapes, whose text in quotes is no string of JSON.
func TestLearnedNames(t *testing.T) {
	p := compile(t, `w"`, `v\\`).NewParser()
	for range 2 {
		for _, line := range []string{`{"w\"":1,"v\\":2,"q\"":3}`, `{"q\"":3,"v\u005c":2,"\u0077\"":1}`} {
			if row, err := parse(t, p, []byte(line), 2); err != nil || shown(row) != `"1" "2"` {
				t.Errorf("%s: %v %v", line, row, err)
			}
			for wrong, want := range map[string]fault{`{"w"":1}`: faultColon, `{"q"":1}`: faultColon, `{"v\":1}`: faultEndString, `{"q\"":1,"q\u0022":1}`: faultTwice} {
				_, _ = parse(t, p, []byte(line), 2) // its first name is the one expected
				_, err := parse(t, p, []byte(wrong), 2)
				var e *Error
				if !errors.As(err, &e) || e.Reason != want.String() {
					t.Errorf("%s: %v, want %s", wrong, err, want)
				}
			}
		}
	}
}

// TestLevels has objects and arrays in turn within each other, deeper than one word of the stack has bits, and each of them
// closed by the other's bracket.
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

// TestNoValueInErrors has errors without a part of the line but its wanted names.
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

// TestCalls has calls that are wrong, not lines.
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

// TestManyMembers has lines whose names are data: the parser forgets them, the bound holds, and names twice are found.
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

// TestNothingAllocates reads lines in one order, in several, with members left out and with names that nobody wants.
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
