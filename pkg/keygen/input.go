package keygen

import (
	"unicode/utf8"
)

// input is the operand of a function: the joined bytes of its arguments. A single column is used without a copy; otherwise the bytes are
// copied into a buffer.
type input struct {
	ops    []op
	buf    []byte
	column string // if the bytes are from one column alone; for messages
	chars  bool   // the bytes must be checked for valid UTF-8: a function works on characters, and not all ops check that
	empty  bool   // the arguments may be empty
}

// input compiles arguments. With chars they must be valid UTF-8: functions that work on characters are undefined for other bytes.
func (c *compiler) input(args []Expr, chars bool) (*input, error) {
	in := &input{empty: c.options.Value || shapeOf(join(args), c.options).min == 0}
	names := Columns(join(args))
	if len(names) == 1 {
		in.column = names[0]
	}
	for _, a := range args {
		for _, part := range Parts(a) {
			op, err := c.op(part)
			if err != nil {
				return nil, err
			}
			switch op := op.(type) {
			case *columnOp:
				op.chars = chars
			case decimalOp:
			default:
				in.chars = chars
			}
			in.ops = append(in.ops, op)
		}
	}
	return in, nil
}

// bytes returns the arguments of a record, valid until the next call.
func (in *input) bytes(fields [][]byte) ([]byte, error) {
	if len(in.ops) == 1 {
		if c, ok := in.ops[0].(*columnOp); ok {
			return c.field(fields)
		}
	}
	b := in.buf[:0]
	var err error
	for _, op := range in.ops {
		if b, err = op.append(b, fields); err != nil {
			return nil, err
		}
	}
	in.buf = b
	if in.chars && !utf8.Valid(b) {
		return nil, in.fail(ErrUTF8)
	}
	return b, nil
}

func (in *input) fail(err error) error { return &FieldError{Column: in.column, Err: err} }

// columnOp is a field. An empty field is an error, unless that is allowed.
type columnOp struct {
	at    int
	name  string
	empty bool // may be empty
	chars bool // must be valid UTF-8
}

func (c *columnOp) field(fields [][]byte) ([]byte, error) {
	b := fields[c.at]
	if len(b) == 0 && !c.empty {
		return nil, &FieldError{Column: c.name, Err: ErrEmpty}
	}
	if c.chars && !utf8.Valid(b) {
		return nil, &FieldError{Column: c.name, Err: ErrUTF8}
	}
	return b, nil
}

func (c *columnOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := c.field(fields)
	return append(dst, b...), err
}

type literalOp []byte

func (l literalOp) append(dst []byte, _ [][]byte) ([]byte, error) { return append(dst, l...), nil }

type concatOp struct{ in *input }

func (c concatOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := c.in.bytes(fields)
	return append(dst, b...), err
}

func compileOrEmpty(c *compiler, call Call) (op, error) {
	op, err := c.op(call.Args[0])
	if col, ok := op.(*columnOp); ok {
		col.empty = true
	}
	return op, err
}
