package keygen

import (
	"fmt"
	"slices"
	"strings"
)

// Operation is an operator with its operands in a value: and, or, not, = != < <= > >=, in, between, like, matches, is null, the negated
// forms of these words, and case. The arguments of case are pairs of a condition and a value, followed by the value of else, if there is
// one. Keys have no operations.
type Operation struct {
	Name string
	Args []Expr
}

// Number is a decimal number in a value, in its written form.
type Number struct {
	Digits string
}

// Constant is null, true or false in a value.
type Constant struct {
	Word string
}

func (o Operation) columns(names []string) []string { return columns(names, o.Args...) }

func (n Number) columns(names []string) []string   { return names }
func (c Constant) columns(names []string) []string { return names }

func (n Number) String() string   { return n.Digits }
func (c Constant) String() string { return c.Word }

func (o Operation) String() string {
	arg := make([]string, len(o.Args))
	for i, a := range o.Args {
		arg[i] = fmt.Sprint(a)
		if strength(a) <= strength(o) && !(o.Name == "not" && strength(a) == strength(o)) && o.Name != "case" {
			arg[i] = "(" + arg[i] + ")"
		}
	}
	switch o.Name {
	case "and", "or":
		return strings.Join(arg, " "+o.Name+" ")
	case "not":
		return "not " + arg[0]
	case "in", "not in":
		return arg[0] + " " + o.Name + " (" + strings.Join(arg[1:], ", ") + ")"
	case "between", "not between":
		return arg[0] + " " + o.Name + " " + arg[1] + " and " + arg[2]
	case "is null", "is not null":
		return arg[0] + " " + o.Name
	case "case":
		var b strings.Builder
		b.WriteString("case")
		for i := 0; i+1 < len(arg); i += 2 {
			b.WriteString(" when " + arg[i] + " then " + arg[i+1])
		}
		if len(arg)%2 == 1 {
			b.WriteString(" else " + arg[len(arg)-1])
		}
		return b.String() + " end"
	}
	return arg[0] + " " + o.Name + " " + arg[1]
}

// strength returns the binding strength of e: operands that bind weaker than their surroundings are printed in parentheses.
func strength(e Expr) int {
	switch e := e.(type) {
	case Operation:
		switch e.Name {
		case "or":
			return 1
		case "and":
			return 2
		case "not":
			return 3
		case "case":
			return 6
		}
		return 4
	case Concat:
		return 5
	}
	return 6
}

// reserved reports whether a word must be in back quotes to name a column in a value.
func reserved(word string) bool {
	return slices.Contains([]string{"and", "or", "not", "in", "between", "like", "matches", "is", "null", "case", "when", "then", "else", "end", "true", "false"},
		strings.ToLower(word))
}

// comparison returns the operator that s begins with, and its length.
func comparison(s string) (name string, n int) {
	for _, c := range []string{"<>", "<=", ">=", "!=", "=", "<", ">"} {
		if strings.HasPrefix(s, c) {
			if c == "<>" {
				return "!=", 2
			}
			return c, len(c)
		}
	}
	return "", 0
}
