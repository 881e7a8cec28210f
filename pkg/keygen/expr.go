package keygen

import (
	"fmt"
	"slices"
	"strings"
)

// Expr is a parsed key spec or a part of one. Its String parses to an equal Expr.
type Expr interface {
	fmt.Stringer
	// columns appends the names of the columns that the part reads.
	columns(names []string) []string
}

// Column is a field's bytes.
type Column struct {
	Name string
	word bool // the name is a word of the value language, where it must be in back quotes
}

// Literal is a sequence of constant bytes.
type Literal struct {
	Bytes []byte
}

// Concat joins parts, at least two.
type Concat struct {
	Parts []Expr
}

// Call is a call of a function with expressions and, after them, integers. Constant texts, such as the layout of a date, are literals among
// the arguments.
type Call struct {
	Func string
	Args []Expr
	Ints []int
}

// Columns returns the names of the columns that e reads, each once, in order of appearance.
func Columns(e Expr) []string {
	var names []string
	for _, n := range columns(nil, e) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// Calls reports whether an expression calls a function.
func Calls(e Expr, name string) bool {
	args := Parts(e)
	switch e := e.(type) {
	case Call:
		if args = e.Args; e.Func == name {
			return true
		}
	case Operation:
		args = e.Args
	case Concat:
	default:
		return false
	}
	return slices.ContainsFunc(args, func(a Expr) bool { return Calls(a, name) })
}

// Parts returns the parts that a spec joins at its top level.
func Parts(e Expr) []Expr {
	if c, ok := e.(Concat); ok {
		return c.Parts
	}
	return []Expr{e}
}

// columns appends the names of the columns that parts read; a nil part reads none.
func columns(names []string, parts ...Expr) []string {
	for _, p := range parts {
		if p != nil {
			names = p.columns(names)
		}
	}
	return names
}

func (c Column) columns(names []string) []string  { return append(names, c.Name) }
func (l Literal) columns(names []string) []string { return names }
func (c Concat) columns(names []string) []string  { return columns(names, c.Parts...) }
func (c Call) columns(names []string) []string    { return columns(names, c.Args...) }

func (c Column) String() string {
	if isIdentifier(c.Name) && !c.word {
		return c.Name
	}
	return "`" + c.Name + "`"
}

func (l Literal) String() string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range l.Bytes {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func (c Concat) String() string {
	s := make([]string, len(c.Parts))
	for i, p := range c.Parts {
		s[i] = fmt.Sprint(p) // also of nil
		if strength(p) < strength(c) {
			s[i] = "(" + s[i] + ")"
		}
	}
	return strings.Join(s, " + ")
}

func (c Call) String() string {
	var s []string
	_, own := findValueFunction(c.Func)
	for _, a := range c.Args {
		text := fmt.Sprint(a)
		if p := (&parser{s: text}); !own && p.isNumber() { // without parentheses it is one of the function's integers
			text = "(" + text + ")"
		}
		s = append(s, text)
	}
	for _, n := range c.Ints {
		s = append(s, fmt.Sprint(n))
	}
	return c.Func + "(" + strings.Join(s, ", ") + ")"
}

// isIdentifier reports whether a name can be written without back quotes. A leading $ marks a name that is not a column of a record, such
// as the old key of a row that gets a new one.
func isIdentifier(s string) bool {
	s = strings.TrimPrefix(s, "$")
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
