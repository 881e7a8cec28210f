package keygen

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestValueErrors checks the messages for texts that are not values.
func TestValueErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "position 1, at the end: a column",
		"a =":                                    "position 4, at the end: a column",
		"a = 1 = 2":                              "position 7, at \"= 2\": unexpected here",
		"foo(a)":                                 `position 1, at "foo(a)": unknown function "foo"`,
		"uper(a)":                                "did you mean upper?",
		"salt(a) = '1'":                          "position 1, at \"salt(a) = '1'\": salt needs its n",
		"a and b = '1'":                          "position 1, at \"a and b = '1'\": a is text, not a condition",
		"b = '1' or 2":                           "position 12, at \"2\": 2 is a number, not a condition",
		"not a":                                  "position 5, at \"a\": a is text, not a condition",
		"1 + length(a)":                          "position 5, at \"length(a)\": + joins texts: write add(…)",
		"a + (b = 'x')":                          "position 5, at \"(b = 'x')\": + takes text, and this is a condition",
		"a = (b = 'x')":                          "position 5, at \"(b = 'x')\": = cannot compare text with a condition",
		"true < false":                           "position 1, at \"true < false\": < has no order for conditions",
		"upper(a = 'x')":                         "position 7, at \"a = 'x')\": upper takes text",
		"upper(a, b)":                            "position 10, at \"b)\": upper(e) takes one argument, not 2",
		"coalesce()":                             "coalesce has 0 arguments: it is written coalesce(a, …)",
		"coalesce(a, b = 'x')":                   "position 13, at \"b = 'x')\": coalesce cannot give both text and a condition",
		"nullif(a, true)":                        "position 11, at \"true)\": nullif cannot compare text with a condition",
		"round(a, b)":                            "position 10, at \"b)\": b is not a whole number",
		"divide(a, b, -1)":                       "position 14, at \"-1)\": -1 is not a whole number of 0 to 1000",
		"lpad(a, 3, '')":                         "position 12, at \"'')\"",
		"now(1)":                                 "now() has no arguments",
		"json(a, b)":                             "position 9, at \"b)\": the path is a text in quotes",
		"a like b":                               "position 8, at \"b\": the pattern of like is a text in quotes",
		"a matches '('":                          "position 11, at \"'('\": not a regular expression of RE2",
		"a between 'x'":                          "between x is followed by and y",
		"a in 'x'":                               "a list in parentheses follows in",
		"a in ('x'":                              "a comma or a closing parenthesis is missing",
		"a is 'x'":                               "null or not null follows is",
		"a not 'x'":                              "in, between, like or matches follows not",
		"case a when 'x' then 1":                 "when is missing after case",
		"case when a = 'x' end":                  "then is missing",
		"case when a = 'x' then 1":               "end is missing",
		"case when a = 'x' then 1 else true end": "case cannot give both a number and a condition",
		"end":                                    "a column of this name is written `end`",
		"12abc":                                  "not a number",
		"1.":                                     "not a number",
		strings.Repeat("(", 100):                 "nested more than 32 deep",
		strings.Repeat("not ", 99):               "nested more than 32 deep",
	} {
		_, err := ParseValue(text)
		var s *SyntaxError
		if !errors.As(err, &s) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestKeysRefuseValues checks that the error for an operator that keys do not support names it, and that its words can still be names of columns.
func TestKeysRefuseValues(t *testing.T) {
	for spec, want := range map[string]string{
		"a = b": "a key has no =", "a <> b": "a key has no !=", "md5hex(a and b)": "a key has no and", "a is null": "a key has no is", "a like 'x'": "a key has no like",
		"case when a": "a key has no when", "lpad(a, 2)": "did you mean pad?", "coalesce(a, b)": "a key has no coalesce(…), which is for cells and filters (docs/keys.md", "'' + a": "a literal is empty",
	} {
		if _, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
	for _, spec := range []string{"end + id", "null", "case + in + is", "md5hex(and, or)", "true"} {
		e, err := Parse(spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if e.String() != spec {
			t.Errorf("%s is written %s", spec, e)
		}
	}
}

// TestUnknownColumnOfValue checks the error about a column that records lack. It has no position, because blanks and bytes of the text are not known any more.
func TestUnknownColumnOfValue(t *testing.T) {
	e, err := ParseValue("upper(name)    =    '北京' and nme is null")
	if err != nil {
		t.Fatal(err)
	}
	err = CheckValue(e, []string{"id", "name"})
	if !errors.Is(err, ErrUnknownColumn) || err.Error() != `unknown column "nme" (did you mean name?)` {
		t.Error(err)
	}
	if err := CheckValue(e, []string{"nme", "name"}); err != nil {
		t.Error(err)
	}
}

// FuzzParseValue checks that the parser never panics, that its errors are short, and that a printed expression is parsed as an equal expression of
// the same kind.
func FuzzParseValue(f *testing.F) {
	for _, text := range []string{
		"a", "upper(trim(name)) = 'X' and not (b > 1 or c is not null)", "case when a in ('x', 'y') then 1 else coalesce(b, -2.50) end", "a between 'x' and 'y'",
		`d not like '50\\%' or matches matches '^x'`, "`end` + $row + ''", "nullif(nullif(a, b), null)", "divide(add(a, 1), 3, 2) <= least(b, c)", "true and null", "json(a, '$.b')",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseValue(text)
		if err != nil {
			if n := utf8.RuneCountInString(err.Error()); n > 160 {
				t.Fatalf("an error of %d characters: %v", n, err)
			}
			return
		}
		again, err := ParseValue(e.String())
		if err != nil || !reflect.DeepEqual(again, e) || KindOf(again) != KindOf(e) {
			t.Fatalf("%q parses as %s, which gives %v, %v", text, e, again, err)
		}
		if err := CheckValue(e, Columns(e)); err != nil {
			t.Fatal(err)
		}
	})
}
