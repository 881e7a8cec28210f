package jsonlines

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// faultyLine is a line with its fault, the position of the fault and the path of the member.
type faultyLine struct {
	line   string
	want   fault
	offset int
	path   string
}

// TestFaults checks the position of each fault, and the path of the member.
func TestFaults(t *testing.T) {
	for _, c := range slices.Concat(wholeFaults(), endFaults(), shapeFaults(), valueFaults(), stringFaults(), memberFaults()) {
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
	if _, err := parse(t, compile(t, "a").NewParser(), []byte(`{"a":`+deepest()+`}`), 1); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
}

// deepest returns an array of the greatest allowed depth.
func deepest() string {
	return strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)
}

// wholeFaults returns lines that are not an object.
func wholeFaults() []faultyLine {
	return []faultyLine{
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
	}
}

// endFaults returns lines that end within an object.
func endFaults() []faultyLine {
	return []faultyLine{
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
	}
}

// shapeFaults returns lines with faults of names, colons and commas.
func shapeFaults() []faultyLine {
	return []faultyLine{
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
		{`{"a":nulls}`, faultComma, 9, ""},
		{`{"a":0x10}`, faultComma, 6, ""},
		{`{"o":{"p":1;}}`, faultComma, 11, "o"},
	}
}

// valueFaults returns lines with faults of words and numbers.
func valueFaults() []faultyLine {
	return []faultyLine{
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
		{`{"a":-}`, faultMinus, 6, "a"},
		{`{"a":-x}`, faultMinus, 6, "a"},
		{`{"a":012}`, faultZero, 6, "a"},
		{`{"a":-00}`, faultZero, 7, "a"},
		{`{"a":1.}`, faultFraction, 7, "a"},
		{`{"a":1.e5}`, faultFraction, 7, "a"},
		{`{"a":1e}`, faultExponent, 7, "a"},
		{`{"a":1e+}`, faultExponent, 8, "a"},
		{`{"o":{"p":tru}}`, faultWord, 10, "o.p"},
	}
}

// stringFaults returns lines with faults in the characters of strings.
func stringFaults() []faultyLine {
	return []faultyLine{
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
		{`{"o":"\x"}`, faultEscape, 6, "o"},
	}
}

// memberFaults returns lines with faults of repeated names, of paths and of depth.
func memberFaults() []faultyLine {
	return []faultyLine{
		{`{"a":1,"a":1}`, faultTwice, 7, "a"},
		{`{"x":1,"b":2,"x":1}`, faultTwice, 13, ""},
		{`{"a":1,"\u0061":1}`, faultTwice, 7, "a"},
		{`{"o":{"p":1,"p":1}}`, faultTwice, 12, "o.p"},
		{`{"o":{"q":1,"q":1}}`, faultTwice, 12, "o"},
		{`{"o":[]}`, faultThrough, 5, "o"},
		{`{"o":"text"}`, faultThrough, 5, "o"},
		{`{"o.p":1,"o":{"p":2}}`, faultBoth, 7, "o.p"},
		{`{"o":{"p":null},"o.p":null}`, faultBoth, 22, "o.p"},
		{`{"o":1,"o.q":2}`, faultThrough, 5, "o"},
		{`{"x":[` + deepest() + `]}`, faultDeep, 5 + maxDepth - 1, ""},
		{`{"o":{"p":` + deepest() + `}}`, faultDeep, 10 + maxDepth - 2, "o.p"},
	}
}
