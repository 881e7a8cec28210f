package expression

import (
	"bytes"
	"regexp"
	"strings"

	"bulkload/pkg/keygen"
)

func (c *compiler) operation(o keygen.Operation) (n node, err error) {
	name, negated := strings.CutPrefix(o.Name, "not ")
	if o.Name == "is not null" {
		name, negated = "is null", true
	}
	switch name {
	case "and", "or":
		var args []node
		args, err = c.all(o.Args, keygen.KindBoolean)
		n = &logic{args: args, stop: name == "or"}
	case "not":
		n, err = c.as(o.Args[0], keygen.KindBoolean)
		negated = true
	case "is null":
		var in node
		in, err = c.node(o.Args[0])
		n = isNull{in}
	case "case":
		n, err = c.conditional(o)
	case "like", "matches":
		var in node
		in, err = c.as(o.Args[0], keygen.KindText)
		text := o.Args[1].(keygen.Literal).Bytes
		if name == "like" {
			n = &pattern{in: in, match: newLike(text).match}
		} else if r, bad := regexp.Compile(string(text)); bad == nil {
			n = &pattern{in: in, match: r.Match}
		} else if err == nil {
			err = bad
		}
	default:
		n, err = c.compare(o, name)
	}
	if err == nil && negated {
		n = not{n}
	}
	return n, err
}

func (c *compiler) compare(o keygen.Operation, name string) (node, error) {
	kind := keygen.Compared(o.Args)
	args, err := c.all(o.Args, kind)
	if err != nil {
		return nil, err
	}
	order := ordering{kind: kind}
	switch name {
	case "in":
		return &in{ordering: order, item: args[0], list: args[1:]}, nil
	case "between":
		return &between{order, args[0], args[1], args[2]}, nil
	}
	n := &comparison{ordering: order, left: args[0], right: args[1]}
	less, equal, greater := strings.Contains(name, "<"), strings.HasSuffix(name, "=") && name != "!=", strings.Contains(name, ">")
	n.signs = [3]bool{less || name == "!=", equal, greater || name == "!="}
	return n, nil
}

// ordering compares values of one kind.
type ordering struct {
	kind keygen.Kind
	x    arith
}

func (o *ordering) compare(a, b value) int {
	switch o.kind {
	case keygen.KindNumber:
		return o.x.compare(a.number, b.number)
	case keygen.KindBoolean:
		if a.truth == b.truth {
			return 0
		}
		return 1
	}
	return bytes.Compare(a.text, b.text)
}

// comparison is a comparison of two values by an operator such as <=.
type comparison struct {
	ordering
	left, right node
	signs       [3]bool // the result if left is less, equal or greater
}

func (n *comparison) value(fields [][]byte) (value, error) {
	a, err := n.left.value(fields)
	if err != nil || a.null {
		return a, err
	}
	b, err := n.right.value(fields)
	if err != nil || b.null {
		return b, err
	}
	return value{truth: n.signs[n.compare(a, b)+1]}, nil
}

type between struct {
	ordering
	in, from, to node
}

// value returns the value of "in >= from and in <= to": false if one comparison is false, even if the other is NULL.
func (n *between) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	if err != nil || v.null {
		return v, err
	}
	a, err := n.from.value(fields)
	if err != nil || !a.null && n.compare(v, a) < 0 {
		return value{}, err
	}
	b, err := n.to.value(fields)
	if err != nil || !b.null && n.compare(v, b) > 0 {
		return value{}, err
	}
	return value{null: a.null || b.null, truth: true}, nil
}

type in struct {
	ordering
	item node
	list []node
}

func (n *in) value(fields [][]byte) (value, error) {
	v, err := n.item.value(fields)
	if err != nil || v.null {
		return v, err
	}
	null := false
	for _, l := range n.list {
		w, err := l.value(fields)
		switch {
		case err != nil:
			return w, err
		case w.null:
			null = true
		case n.compare(v, w) == 0:
			return value{truth: true}, nil
		}
	}
	return value{null: null}, nil
}

// logic is the operator and or the operator or. It evaluates its conditions up to the first one that decides the result.
type logic struct {
	args []node
	stop bool // the value of a condition that decides the result
}

func (n *logic) value(fields [][]byte) (value, error) {
	null := false
	for _, a := range n.args {
		v, err := a.value(fields)
		switch {
		case err != nil:
			return v, err
		case v.null:
			null = true
		case v.truth == n.stop:
			return value{truth: n.stop}, nil
		}
	}
	return value{null: null, truth: !n.stop}, nil
}

type not struct{ in node }

func (n not) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	v.truth = !v.truth
	return v, err
}

type isNull struct{ in node }

func (n isNull) value(fields [][]byte) (value, error) {
	v, err := n.in.value(fields)
	return value{truth: v.null}, err
}

// conditional is a case expression.
type conditional struct {
	when, then []node
	or         node
}

func (c *compiler) conditional(o keygen.Operation) (node, error) {
	n := &conditional{or: constant{value{null: true}}}
	kind := keygen.KindOf(o)
	for i := 0; i+1 < len(o.Args); i += 2 {
		when, err := c.as(o.Args[i], keygen.KindBoolean)
		if err != nil {
			return nil, err
		}
		then, err := c.as(o.Args[i+1], kind)
		if err != nil {
			return nil, err
		}
		n.when, n.then = append(n.when, when), append(n.then, then)
	}
	if len(o.Args)%2 == 0 {
		return n, nil
	}
	var err error
	n.or, err = c.as(o.Args[len(o.Args)-1], kind)
	return n, err
}

func (n *conditional) value(fields [][]byte) (value, error) {
	for i, when := range n.when {
		v, err := when.value(fields)
		if err != nil {
			return v, err
		}
		if v.truth && !v.null {
			return n.then[i].value(fields)
		}
	}
	return n.or.value(fields)
}
