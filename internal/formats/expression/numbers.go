package expression

import (
	"unicode/utf8"

	"bulkload/pkg/keygen"
)

// numeric compiles a function that returns a number or orders values. It returns nil for other functions.
func (c *compiler) numeric(e keygen.Call) (node, error) {
	scale := 0 // the last argument of some functions
	args := e.Args
	if n := len(args); n > 0 {
		scale, _ = keygen.WholeNumber(args[n-1])
	}
	n := &numberNode{column: only(e)}
	switch e.Func {
	case "now":
		at := &decimal{}
		at.set(c.now, 0)
		return constant{value{number: at}}, nil
	case "length":
		in, err := c.as(args[0], keygen.KindText)
		return &length{in: in}, err
	case "decimal":
		return c.as(args[0], keygen.KindNumber)
	case "least", "greatest":
		kind := keygen.Compared(args)
		list, err := c.all(args, kind)
		return &extreme{ordering: ordering{kind: kind}, args: list, greatest: e.Func == "greatest"}, err
	case "add":
		n.step = (*arith).add
	case "subtract":
		n.step = (*arith).subtract
	case "multiply":
		n.step = (*arith).multiply
	case "divide":
		args = args[:2]
		n.step = func(x *arith, out, a, b *decimal) error { return x.divide(out, a, b, scale) }
	case "round":
		args = args[:1]
		n.last = func(x *arith, out, a *decimal) error { return x.round(out, a, scale) }
	case "negate":
		n.last = func(_ *arith, out, a *decimal) error { out.negate(a); return nil }
	case "abs":
		n.last = func(x *arith, out, a *decimal) error {
			if a.sign() < 0 {
				out.negate(a)
				return nil
			}
			return x.round(out, a, a.scale)
		}
	default:
		return nil, nil
	}
	var err error
	n.args, err = c.all(args, keygen.KindNumber)
	return n, err
}

// numberNode computes a number: step combines the arguments from the first to the last, or last takes the only argument.
type numberNode struct {
	args   []node
	step   func(x *arith, out, a, b *decimal) error
	last   func(x *arith, out, a *decimal) error
	column string
	out    decimal
	x      arith
}

func (n *numberNode) value(fields [][]byte) (value, error) {
	var sum *decimal
	for _, a := range n.args {
		v, err := a.value(fields)
		if err != nil || v.null {
			return v, err
		}
		switch {
		case n.last != nil:
			err = n.last(&n.x, &n.out, v.number)
			sum = &n.out
		case sum == nil:
			sum = v.number
		default:
			err = n.step(&n.x, &n.out, sum, v.number)
			sum = &n.out
		}
		if err != nil {
			return v, &keygen.FieldError{Column: n.column, Err: err}
		}
	}
	return value{number: sum}, nil
}

// length counts the characters of a text.
type length struct {
	in  node
	out decimal
}

func (n *length) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	if err != nil || v.null {
		return v, err
	}
	n.out.set(int64(utf8.RuneCount(v.text)), 0)
	return value{number: &n.out}, nil
}

// extreme returns the least or the greatest of values, the first of equal ones.
type extreme struct {
	ordering
	args     []node
	greatest bool
}

func (n *extreme) value(fields [][]byte) (found value, err error) {
	for i, a := range n.args {
		v, err := a.value(fields)
		if err != nil || v.null {
			return v, err
		}
		if order := 0; i > 0 {
			if order = n.compare(v, found); order == 0 || (order > 0) != n.greatest {
				continue
			}
		}
		found = v
	}
	return found, nil
}
