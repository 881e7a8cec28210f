package yamlfile

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
)

// TestNesting checks that values that are nested deep are refused before they are parsed, however they are written, and that brackets, dashes and quotes in
// texts do not count.
func TestNesting(t *testing.T) {
	many := func(text string) string { return strings.Repeat(text, 3000) }
	var steps, lists strings.Builder
	for i := range 300 {
		steps.WriteString(strings.Repeat(" ", i) + "a:\n")
		lists.WriteString(strings.Repeat(" ", 50*i) + strings.Repeat("- ", 25) + "\n")
	}
	for name, text := range map[string]string{
		"brackets": "a: " + many("[") + many("]"), "braces": "a: " + many("{a: "), "on lines": "a: [\n" + many("[\n"), "dashes": "a:\n  " + many("- "), "keys": many("? "),
		"both": many("- ") + many("["), "columns": steps.String(), "columns of lists": lists.String(), "after texts": "a: |\n  x\nb: \"y\n  z\" # [\nc: 'it''s'\nd: >-\n x\n" + "e: " + many("["),
		"after a name": "a: &b " + many("["), "after a document's beginning": "--- " + many("["), "behind a quote in a text": "a: b\n  'c\nd: " + many("["), "in a list": "- a: |\n  b: " + many("["),
		"behind a text in a list": "- - a: |\n    b: " + many("["), "after a key in quotes": "\"a\": " + many("["), "line ends of old": "a: 1\rb: " + many("["),
		"text in brackets": "a: [b\n 'c, " + many("["), "quotes on lines": "a: " + many("[\"x\n]\", "),
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a long list": "a:\n" + many("- b: [1, {c: 2}]\n  d:\n  - 1\n"), "texts": many("- 'it''s [' # [[\n- \"\\\"[\"\n- a[b{ 'c\n- |\n  [\n   - - [\n"), "expressions": many("- expr: position('[', a)\n  b: \"[\"\n"),
		"lists of columns": "a: [" + many("b, ") + "c]", "quotes over lines": "a: \"b\n  [c\n  - d\"\n" + "b: 1", "no space": "a: " + many("-"),
		"depth of 90": strings.Repeat("[", 90) + strings.Repeat("]", 90),
	} {
		if err := checkNesting(lexer.Tokenize(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
