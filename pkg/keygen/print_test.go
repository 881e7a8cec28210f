package keygen

import (
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"

	"pgregory.net/rapid"
)

// exprs draws texts of values and of keys.
type exprs struct {
	*rapid.T
	value bool
}

func (x exprs) one(list ...string) string { return rapid.SampledFrom(list).Draw(x.T, "one") }

// list draws one to three texts, joined.
func (x exprs) list(by string, draw func(int) string, depth int) string {
	var all []string
	for range rapid.IntRange(1, 3).Draw(x.T, "length") {
		all = append(all, draw(depth))
	}
	return strings.Join(all, by)
}

// text draws an expression, often in parentheses.
func (x exprs) text(depth int) string {
	e := x.bare(depth)
	for rapid.IntRange(0, 2).Draw(x.T, "parentheses") == 0 {
		e = "(" + e + ")"
	}
	return e
}

func (x exprs) bare(depth int) string {
	choices := 5
	if x.value {
		choices = 11
	}
	choice := rapid.IntRange(0, choices).Draw(x.T, "form")
	if depth == 0 {
		choice = min(choice, 1)
	}
	depth--
	switch choice {
	case 0:
		if x.value {
			return x.one("0", "-7", "100", "2.50", "null", "''", "true")
		}
		return x.one("'x'", `"\x00"`)
	case 1:
		return x.one("a", "b", "`end`", "`a b`", "$row", "'1'", `'\''`, "`7`", "salt")
	case 2:
		return x.list(" + ", x.text, depth)
	case 3:
		return x.one("md5hex", "spread", "salt", "hash", "crc32", "bytesalt", "concat", "coalesce") + "(" + x.list(", ", x.text, depth) + x.one("", ", 2", ", 100", ", (2)") + ")"
	case 4:
		return x.one("pad", "mod", "substr", "revtime", "abs") + "(" + x.text(depth) + x.one("", ", 2", ", 11") + ")"
	case 5:
		return x.one("hex", "upper", "trim", "number", "length", "reverse", "longbytes") + "(" + x.text(depth) + ")"
	case 6:
		return x.text(depth) + x.one(" = ", " <> ", " <= ") + x.text(depth)
	case 7:
		return x.list(x.one(" and ", " or "), x.text, depth)
	case 8:
		return "not " + x.text(depth)
	case 9:
		return x.text(depth) + x.one(" is null", " is not null", " like 'x%'", " in (1, (2), 'x')", " not in (a)", " not between 1 and (a + 'x')")
	case 10:
		return "case when " + x.text(depth) + " then " + x.text(depth) + x.one("", " else "+x.text(depth)) + " end"
	}
	return x.one("least", "add", "nullif", "lpad", "round") + "(" + x.text(depth) + ", " + x.text(depth) + ")"
}

// TestPrintedMeansTheSame checks that the text of an expression is parsed as an equal expression: a journal keeps filters and keys as such texts.
func TestPrintedMeansTheSame(t *testing.T) {
	accepted := 0
	testcheck.Check(t, func(t *rapid.T) {
		x := exprs{t, rapid.Bool().Draw(t, "value")}
		parse := Parse
		if x.value {
			parse = ParseValue
		}
		for range 50 { // most texts are no expressions
			text := x.text(3)
			e, err := parse(text)
			if err != nil {
				continue
			}
			accepted++
			again, err := parse(e.String())
			if err != nil || !reflect.DeepEqual(again, e) {
				t.Fatalf("%s is printed as %s, which is %#v, %v", text, e, again, err)
			}
		}
	})
	t.Logf("%d expressions", accepted)
}

// TestPrintedNumbers checks that a number that begins an argument does not become one of the function's own.
func TestPrintedNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"md5hex((1 + a))": "md5hex((1 + a))", "spread(a, (2))": "spread(a, (2))", "spread(a, ((2)), 7)": "spread(a, (2), 7)", "pad((0 + a), 3)": "pad((0 + a), 3)",
		"hex(((-7)))": "hex((-7))", "salt((1 + a), 5)": "salt((1 + a), 5)", "coalesce((1), add(2, 3))": "coalesce(1, add(2, 3))", "abs((-1))": "abs(-1)", "md5hex(a + 1)": "md5hex(a + 1)",
	} {
		e, err := ParseValue(text)
		if err != nil || e.String() != want {
			t.Errorf("%s is printed as %v, %v; want %s", text, e, err, want)
		}
	}
}
