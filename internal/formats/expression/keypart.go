package expression

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/pkg/keygen"
)

// ofKeys reports whether an expression is also valid in keys, with the same meaning. The value of such an expression is NULL if one of its columns is
// NULL.
func ofKeys(e keygen.Expr) bool {
	switch e := e.(type) {
	case keygen.Column, keygen.Literal:
		return true
	case keygen.Concat:
		return !slices.ContainsFunc(e.Parts, func(p keygen.Expr) bool { return !ofKeys(p) })
	case keygen.Call:
		return keygen.KeyFunction(e) && !slices.ContainsFunc(e.Args, func(a keygen.Expr) bool { return !ofKeys(a) })
	}
	return false
}

// keyPart is a function of keys, or a concatenation of parts of keys.
type keyPart struct {
	program *keygen.Program
	sources []node // for the program's columns
	column  string // for messages
	fields  [][]byte
	buf     []byte
}

// key compiles a part of keys. In the key's program, arguments that keys do not support are columns.
func (c *compiler) key(e keygen.Expr, args []keygen.Expr) (node, error) {
	n := &keyPart{column: only(e)}
	made := map[string]node{}
	if call, ok := e.(keygen.Call); ok {
		call.Args = slices.Clone(args)
		for i, a := range args {
			if ofKeys(a) {
				continue
			}
			from, err := c.as(a, keygen.KindText)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("\x00%d", i) // no column has this name
			made[name] = from
			call.Args[i] = keygen.Column{Name: name}
		}
		e = call
	}
	var err error
	if n.program, err = keygen.Compile(e, keygen.Options{Value: true}); err != nil {
		return nil, err
	}
	for _, name := range n.program.Columns() {
		from, ok := made[name]
		if !ok {
			from = columnNode(slices.Index(c.columns, name))
		}
		n.sources = append(n.sources, from)
	}
	n.fields = make([][]byte, len(n.sources))
	return n, nil
}

func (n *keyPart) value(fields [][]byte) (value, error) {
	for i, from := range n.sources {
		v, err := from.value(fields)
		if err != nil || v.null {
			return v, err
		}
		n.fields[i] = v.text
	}
	var err error
	if n.buf, err = n.program.Append(n.buf[:0], n.fields); err != nil {
		return value{}, n.fail(err)
	}
	return value{text: n.buf}, nil
}

// fail converts the program's error, which is about a key, to an error about a value.
func (n *keyPart) fail(err error) error {
	if f, ok := errors.AsType[*keygen.FieldError](err); ok {
		err = f.Err
	}
	switch {
	case errors.Is(err, keygen.ErrUTF8):
		err = errors.New("the text is not valid UTF-8")
	case errors.Is(err, keygen.ErrLong):
		err = errLong
	}
	return &keygen.FieldError{Column: n.column, Err: err}
}
