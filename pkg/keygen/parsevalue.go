package keygen

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// ParseValue parses an expression of a cell or a filter. In addition to the features of keys, expressions have comparisons, conditions, numbers
// and NULL. The kinds of their parts must match. Errors are of type [*SyntaxError].
func ParseValue(text string) (Expr, error) {
	p := &parser{s: text, value: true}
	return p.parseAll()
}

// CheckValue rejects an expression if the records lack one of its columns. The error wraps [ErrUnknownColumn].
func CheckValue(e Expr, columns []string) error {
	for _, name := range Columns(e) {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("%w %q (%s)", ErrUnknownColumn, excerpt(name), cmp.Or(suggest(name, columns), fmt.Sprintf("the input has %d others", len(columns))))
		}
	}
	return nil
}

// or parses conditions, starting with the operator that binds weakest.
func (p *parser) or(depth int) (Expr, error) {
	return p.chain("or", depth, func(depth int) (Expr, error) { return p.chain("and", depth, p.not) })
}

// chain reads operands with a word between them.
func (p *parser) chain(word string, depth int, operand func(depth int) (Expr, error)) (Expr, error) {
	if depth > maxDepth {
		return nil, p.fail("nested more than %d deep", maxDepth)
	}
	var args []Expr
	for {
		p.peek()
		start := p.at
		e, err := operand(depth)
		if err != nil {
			return nil, err
		}
		more := p.take(word)
		if more || len(args) > 0 {
			if err := p.condition(e, start); err != nil {
				return nil, err
			}
		}
		if o, ok := e.(Operation); ok && o.Name == word {
			args = append(args, o.Args...)
		} else {
			args = append(args, e)
		}
		if !more {
			break
		}
	}
	if len(args) == 1 {
		return args[0], nil
	}
	return Operation{Name: word, Args: args}, nil
}

// condition rejects expressions other than true or false.
func (p *parser) condition(e Expr, start int) error {
	if k := KindOf(e); k != KindBoolean && k != KindNull {
		p.at = start
		return p.fail("%s is %s, not a condition: compare it with something", excerpt(e.String()), k)
	}
	return nil
}

func (p *parser) not(depth int) (Expr, error) {
	if !p.take("not") {
		return p.predicate(depth)
	}
	if depth > maxDepth {
		return nil, p.fail("nested more than %d deep", maxDepth)
	}
	p.peek()
	start := p.at
	e, err := p.not(depth + 1)
	if err != nil {
		return nil, err
	}
	return Operation{Name: "not", Args: []Expr{e}}, p.condition(e, start)
}

// predicate parses a value and the predicate on it.
func (p *parser) predicate(depth int) (Expr, error) {
	p.peek()
	starts := []int{p.at}
	left, err := p.sum(depth)
	if err != nil {
		return nil, err
	}
	o := Operation{Args: []Expr{left}}
	operand := func() error {
		p.peek()
		starts = append(starts, p.at)
		e, err := p.sum(depth)
		o.Args = append(o.Args, e)
		return err
	}
	p.peek()
	if name, n := comparison(p.s[p.at:]); n > 0 {
		p.at += n
		o.Name = name
		err = operand()
		return p.checkArguments(o, starts, err)
	}
	if p.take("is") {
		o.Name = "is null"
		if p.take("not") {
			o.Name = "is not null"
		}
		if !p.take("null") {
			return nil, p.fail("null or not null follows is")
		}
		return o, nil
	}
	not := ""
	if p.take("not") {
		not = "not "
	}
	switch {
	case p.take("in"):
		o.Name = not + "in"
		err = p.list(operand)
	case p.take("between"):
		o.Name = not + "between"
		if err = operand(); err == nil && !p.take("and") {
			err = p.fail("between x is followed by and y")
		}
		if err == nil {
			err = operand()
		}
	case p.take("like"), p.take("matches"):
		o.Name = not + p.word
		if err = operand(); err == nil {
			err = checkPattern(o)
		}
	case not != "":
		return nil, p.fail("in, between, like or matches follows not")
	default:
		return left, nil
	}
	return p.checkArguments(o, starts, err)
}

// checkArguments returns the operation, if its arguments match.
func (p *parser) checkArguments(o Operation, starts []int, err error) (Expr, error) {
	if err == nil {
		err = checkOperation(o)
	}
	if err != nil {
		return nil, p.place(err, starts)
	}
	return o, nil
}

// list parses the operand of in: values in parentheses.
func (p *parser) list(operand func() error) error {
	if p.peek() != '(' {
		return p.fail("a list in parentheses follows in")
	}
	for {
		p.at++
		if err := operand(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
		case ')':
			p.at++
			return nil
		default:
			return p.fail("a comma or a closing parenthesis is missing after in (…")
		}
	}
}

func (p *parser) conditional(depth int) (Expr, error) {
	o := Operation{Name: "case"}
	start := p.at
	value := func() error {
		e, err := p.or(depth + 1)
		o.Args = append(o.Args, e)
		return err
	}
	for p.take("when") {
		p.peek()
		from := p.at
		if err := value(); err != nil {
			return nil, err
		}
		if err := p.condition(o.Args[len(o.Args)-1], from); err != nil {
			return nil, err
		}
		if !p.take("then") {
			return nil, p.fail("then is missing after case when …")
		}
		if err := value(); err != nil {
			return nil, err
		}
	}
	if len(o.Args) == 0 {
		return nil, p.fail("when is missing after case")
	}
	if p.take("else") {
		if err := value(); err != nil {
			return nil, err
		}
	}
	if !p.take("end") {
		return nil, p.fail("end is missing after case …")
	}
	if _, err := joint(results(o), "case"); err != nil {
		p.at = start
		return nil, p.fail("%v", err)
	}
	return o, nil
}

// take skips a word of the language, in any case, if it is the next one.
func (p *parser) take(word string) bool {
	p.peek()
	end := p.at
	for end < len(p.s) && (isLetter(p.s[end]) || isDigit(p.s[end])) {
		end++
	}
	if !strings.EqualFold(p.s[p.at:end], word) {
		return false
	}
	p.at, p.word = end, word
	return true
}

// keyOnly rejects operators of values after a part of a key.
func (p *parser) keyOnly() error {
	p.peek()
	name, n := comparison(p.s[p.at:])
	for _, word := range []string{"and", "or", "not", "in", "between", "like", "matches", "is", "when", "then", "else", "end"} {
		if from := p.at; n == 0 && p.take(word) {
			p.at, n, name = from, len(word), word
		}
	}
	if n == 0 {
		return nil
	}
	return p.fail("a key has no %s, which is for cells and filters: its parts are joined by +", name)
}

// checkPattern checks the pattern of like or matches.
func checkPattern(o Operation) error {
	l, ok := o.Args[1].(Literal)
	if !ok {
		return argErrorf(1, "the pattern of %s is a text in quotes", o.Name)
	}
	if strings.HasSuffix(o.Name, "matches") {
		if _, err := regexp.Compile(string(l.Bytes)); err != nil {
			return argErrorf(1, "not a regular expression of RE2: %.60v", err)
		}
	}
	return nil
}

// excerpt returns the beginning of a text for a message.
func excerpt(s string) string {
	const most = 25
	r := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s[:min(len(s), 4*most+4)]))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most]) + "…"
}
