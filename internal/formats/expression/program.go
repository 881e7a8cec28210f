package expression

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/pkg/keygen"
)

// Options of [Compile].
type Options struct {
	Now  int64  // the job's timestamp in milliseconds since 1970
	Salt []byte // the secret of salted(x); without it, each value of salted is an error
}

// A Program computes the values of an expression. It has its own buffers, so each goroutine needs its own Program.
type Program struct {
	columns []string
	kind    keygen.Kind
	root    node
	text    node // nil for conditions
	about   string
}

// Compile compiles an expression that [keygen.ParseValue] returned. The caller must check with [keygen.CheckValue] that its
// columns exist.
func Compile(e keygen.Expr, o Options) (*Program, error) {
	c := &compiler{columns: keygen.Columns(e), now: o.Now, salt: o.Salt}
	p := &Program{columns: c.columns, kind: keygen.KindOf(e), about: fmt.Sprintf("%.40s", e)}
	var err error
	if p.root, err = c.node(e); err != nil {
		return nil, err
	}
	if p.kind != keygen.KindBoolean {
		p.text, err = c.as(e, keygen.KindText)
	}
	return p, err
}

// Columns returns the columns of the expression, each once, in the order of the fields for [Program.Append] and [Program.True].
// The slice is shared: do not change it.
func (p *Program) Columns() []string { return p.columns }

// Append appends the value of a record as text: a number in decimal, a condition as true or false. If the value is NULL, null is true
// and nothing is appended. A nil field is NULL. The error is a [*keygen.FieldError]; the program may continue with the next record.
func (p *Program) Append(dst []byte, fields [][]byte) (out []byte, null bool, err error) {
	if p.text == nil {
		v, err := p.root.value(fields)
		switch {
		case err != nil || v.null:
			return dst, v.null, p.fail(err)
		case v.truth:
			return append(dst, "true"...), false, nil
		}
		return append(dst, "false"...), false, nil
	}
	v, err := p.text.value(fields)
	if err != nil || v.null {
		return dst, v.null, p.fail(err)
	}
	return append(dst, v.text...), false, nil
}

// True reports whether a condition is true for a record; NULL is not true.
func (p *Program) True(fields [][]byte) (bool, error) {
	v, err := p.root.value(fields)
	if err != nil {
		return false, p.fail(err)
	}
	return v.truth && !v.null, nil
}

func (p *Program) fail(err error) error {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*keygen.FieldError](err)
	if !ok {
		f = &keygen.FieldError{Err: err}
	}
	return &keygen.FieldError{Column: f.Column, Err: fmt.Errorf("%w (in %s)", f.Err, p.about)}
}

// value is the result of a node for a record. The node's kind determines which members of the value are set.
type value struct {
	null, truth bool
	text        []byte
	number      *decimal
}

// node is a part of an expression. Its value is valid until the next call.
type node interface {
	value(fields [][]byte) (value, error)
}

// A compiler compiles expressions to nodes.
type compiler struct {
	columns []string // the columns of a record's fields
	now     int64
	salt    []byte
}

// node compiles e to a node of its own kind.
func (c *compiler) node(e keygen.Expr) (node, error) {
	if own, ok := e.(keygen.Call); ok && keygen.KeyFunction(own) && keygen.KindOf(e) == keygen.KindNumber {
		return c.as(e, keygen.KindNumber)
	}
	return c.plain(e)
}

// plain is node, except that a function of keys that returns an integer becomes text.
func (c *compiler) plain(e keygen.Expr) (node, error) {
	switch e := e.(type) {
	case keygen.Column:
		return columnNode(slices.Index(c.columns, e.Name)), nil
	case keygen.Literal:
		return constant{value{text: e.Bytes}}, nil
	case keygen.Number:
		n := &decimal{}
		err := n.parse([]byte(e.Digits), &arith{})
		return constant{value{number: n}}, err
	case keygen.Constant:
		return constant{value{null: e.Word == "null", truth: e.Word == "true"}}, nil
	case keygen.Concat:
		if ofKeys(e) {
			return c.key(e, nil)
		}
		parts, err := c.all(e.Parts, keygen.KindText)
		return &textNode{args: parts, fn: joined}, err
	case keygen.Call:
		if keygen.KeyFunction(e) {
			return c.key(e, e.Args)
		}
		return c.call(e)
	case keygen.Operation:
		return c.operation(e)
	}
	return nil, fmt.Errorf("an expression holds a %T", e)
}

// as compiles e to a node of a kind. It converts numbers to text and text to numbers where needed.
func (c *compiler) as(e keygen.Expr, kind keygen.Kind) (node, error) {
	from := keygen.KindOf(e)
	if call, ok := e.(keygen.Call); ok && from == keygen.KindNumber && keygen.KeyFunction(call) {
		from = keygen.KindText
	}
	n, err := c.plain(e)
	switch {
	case err != nil || from == kind || from == keygen.KindNull:
	case from == keygen.KindText && kind == keygen.KindNumber:
		return &readNumber{in: n, column: only(e)}, nil
	case from == keygen.KindNumber && kind == keygen.KindText:
		return &writeNumber{in: n}, nil
	case kind != keygen.KindNull:
		return nil, fmt.Errorf("%.40s is %s, not %s", e, from, kind)
	}
	return n, err
}

func (c *compiler) all(list []keygen.Expr, kind keygen.Kind) ([]node, error) {
	var nodes []node
	for _, e := range list {
		n, err := c.as(e, kind)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// only returns the column of an expression that has exactly one, else ""; for messages.
func only(e keygen.Expr) string {
	if names := keygen.Columns(e); len(names) == 1 {
		return names[0]
	}
	return ""
}

// columnNode is a field, by the index of its column.
type columnNode int

func (n columnNode) value(fields [][]byte) (value, error) {
	return value{text: fields[n], null: fields[n] == nil}, nil
}

type constant struct{ v value }

func (n constant) value([][]byte) (value, error) { return n.v, nil }

// readNumber reads text as a number.
type readNumber struct {
	in     node
	column string
	out    decimal
	x      arith
}

func (n *readNumber) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	if err != nil || v.null {
		return v, err
	}
	if err := n.out.parse(v.text, &n.x); err != nil {
		return v, &keygen.FieldError{Column: n.column, Err: err}
	}
	return value{number: &n.out}, nil
}

// writeNumber writes a number as text.
type writeNumber struct {
	in  node
	buf []byte
	x   arith
}

func (n *writeNumber) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	if err != nil || v.null {
		return v, err
	}
	n.buf = v.number.append(n.buf[:0], &n.x)
	return value{text: n.buf}, nil
}
