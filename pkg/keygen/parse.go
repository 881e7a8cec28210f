package keygen

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A SyntaxError is an error at a position of a spec, with advice.
type SyntaxError struct {
	Spec string
	Pos  int    // byte position, from 0
	Msg  string // the error there, as text

	value bool // the text is a value, not a key
}

func (e *SyntaxError) Error() string {
	if !e.value {
		return fmt.Sprintf("key spec %q, position %d: %s", e.Spec, e.Pos+1, e.Msg)
	}
	if e.Pos >= len(e.Spec) {
		return fmt.Sprintf("expression, position %d, at the end: %s", e.Pos+1, e.Msg)
	}
	return fmt.Sprintf("expression, position %d, at %q: %s", e.Pos+1, excerpt(e.Spec[e.Pos:]), e.Msg)
}

// Parse reads a key spec. Errors are of type [*SyntaxError].
func Parse(spec string) (Expr, error) {
	p := &parser{s: spec}
	return p.parseAll()
}

func (p *parser) parseAll() (Expr, error) {
	e, err := p.expr(0)
	if err != nil {
		return nil, err
	}
	if p.peek() != 0 || p.at < len(p.s) {
		if p.value {
			return nil, p.fail("unexpected here: an operator is missing or one too many")
		}
		return nil, p.fail("unexpected %q (parts are joined by +)", p.s[p.at:])
	}
	return e, nil
}

// maxDepth bounds nesting, so that hostile specs cannot exhaust the stack.
const maxDepth = 32

type parser struct {
	s     string
	at    int
	value bool   // the text is a value, not a key
	word  string // the word of the language that was read last
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Spec: p.s, Pos: p.at, Msg: fmt.Sprintf(format, args...), value: p.value}
}

// place sets the position of an error about an argument to the position of that argument.
func (p *parser) place(err error, starts []int) error {
	if a, ok := errors.AsType[*argError](err); ok {
		p.at = starts[a.arg]
		return p.fail("%v", err)
	}
	return err
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.s) {
		return 0
	}
	return p.s[p.at]
}

// expr parses a whole key or value, or an expression in parentheses.
func (p *parser) expr(depth int) (Expr, error) {
	if p.value {
		return p.or(depth)
	}
	e, err := p.sum(depth)
	if err == nil {
		err = p.keyOnly()
	}
	return e, err
}

// sum reads parts joined by +.
func (p *parser) sum(depth int) (Expr, error) {
	if depth > maxDepth {
		return nil, p.fail("nested more than %d deep", maxDepth)
	}
	var parts []Expr
	var starts []int
	for {
		p.peek()
		starts = append(starts, p.at)
		e, err := p.part(depth)
		if err != nil {
			return nil, err
		}
		if n := len(Parts(e)); n > 1 {
			starts = append(starts, slices.Repeat(starts[len(starts)-1:], n-1)...)
		}
		parts = append(parts, Parts(e)...)
		if p.peek() != '+' {
			break
		}
		p.at++
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	if p.value {
		if err := checkConcat(parts); err != nil {
			return nil, p.place(err, starts)
		}
	}
	return Concat{Parts: parts}, nil
}

func (p *parser) part(depth int) (Expr, error) {
	switch c := p.peek(); {
	case c == 0:
		return nil, p.fail("a column, a literal or a function is missing at the end")
	case c == '\'' || c == '"':
		return p.literal()
	case c == '`':
		end := strings.IndexByte(p.s[p.at+1:], '`')
		if end <= 0 {
			return nil, p.fail("a column in back quotes is empty or not closed")
		}
		name := p.s[p.at+1 : p.at+1+end]
		p.at += end + 2
		return p.column(name), nil
	case c == '(':
		p.at++
		e, err := p.expr(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.peek() != ')' {
			return nil, p.fail("a closing parenthesis is missing")
		}
		p.at++
		return e, nil
	case isLetter(c), c == '$' && p.at+1 < len(p.s) && isLetter(p.s[p.at+1]):
		start := p.at
		name := p.name()
		if p.value && reserved(name) {
			switch word := strings.ToLower(name); word {
			case "case":
				return p.conditional(depth)
			case "null", "true", "false":
				return Constant{Word: word}, nil
			}
			p.at = start
			return nil, p.fail("a value is missing before %s (a column of this name is written `%s`)", name, name)
		}
		if p.peek() == '(' {
			return p.call(name, start, depth)
		}
		return p.column(name), nil
	case p.value && p.isNumber():
		return p.decimal()
	case isDigit(c):
		return nil, p.fail("a number follows only a function's arguments (for constant bytes write '%s')", p.name())
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.at:])
	return nil, p.fail("unexpected %q", r)
}

func (p *parser) column(name string) Expr {
	return Column{Name: name, word: p.value && reserved(name)}
}

func (p *parser) name() string {
	from := p.at
	if p.at < len(p.s) && p.s[p.at] == '$' {
		p.at++
	}
	for p.at < len(p.s) && (isLetter(p.s[p.at]) || isDigit(p.s[p.at])) {
		p.at++
	}
	return p.s[from:p.at]
}

func (p *parser) call(name string, start, depth int) (Expr, error) {
	f, ok := findFunction(name)
	if p.value {
		if own, found := findValueFunction(name); found {
			f, ok = own, true
		}
	}
	if !ok {
		p.at = start
		return nil, p.unknown(name)
	}
	c := Call{Func: name}
	var starts []int // of the arguments
	p.at++
	for p.peek() != ')' {
		if len(starts) > 0 {
			if p.peek() != ',' {
				return nil, p.fail("a comma or a closing parenthesis is missing in %s(…)", name)
			}
			p.at++
		}
		p.peek()
		starts = append(starts, p.at)
		if p.isNumber() && f.kind == nil {
			n, err := p.number()
			if err != nil {
				return nil, err
			}
			c.Ints = append(c.Ints, n)
			continue
		}
		if len(c.Ints) > 0 {
			return nil, p.fail("numbers come last in %s", f.form)
		}
		e, err := p.expr(depth + 1)
		if err != nil {
			return nil, err
		}
		c.Args = append(c.Args, e)
	}
	end := p.at + 1
	err := error(nil)
	switch {
	case f.kind != nil:
		_, err = f.kind(c)
	default:
		err = f.verify(c)
	}
	if err == nil && p.value && f.kind == nil {
		err = f.verifyValue(c)
	}
	if err != nil {
		p.at = start
		if a, ok := errors.AsType[*argError](err); ok {
			p.at = starts[a.arg]
		}
		return nil, p.fail("%v", err)
	}
	p.at = end
	return c, nil
}

func (p *parser) unknown(name string) error {
	names := functionNames()
	if _, ok := findValueFunction(name); ok {
		return p.fail("a key has no %s(…), which is for cells and filters (%s)", name, cmp.Or(suggest(name, names), "docs/keys.md lists its functions"))
	}
	if !p.value {
		return p.fail("unknown function %q (%s)", name, cmp.Or(suggest(name, names), "known: "+strings.Join(names, ", ")))
	}
	for _, f := range valueFunctions() {
		names = append(names, f.name)
	}
	return p.fail("unknown function %q (%s)", excerpt(name), cmp.Or(suggest(name, names), "docs/mapping.md lists them"))
}
