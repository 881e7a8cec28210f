package keygen

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// MaxKey is the greatest length of a row key in HBase (HConstants.MAX_ROW_LENGTH).
const MaxKey = 32767

// Reasons why a record has no key, wrapped by [*FieldError].
var (
	ErrEmpty = errors.New("key column is empty")
	ErrUTF8  = errors.New("key column is not valid UTF-8")
	ErrLong  = fmt.Errorf("row key is longer than %d bytes", MaxKey)
)

// A FieldError names the column for which a record has no key.
type FieldError struct {
	Column string // empty when it is the key as a whole
	Err    error
}

func (e *FieldError) Error() string {
	if e.Column == "" {
		return e.Err.Error()
	}
	return "column " + e.Column + ": " + e.Err.Error()
}

func (e *FieldError) Unwrap() error { return e.Err }

// Options of [Compile].
type Options struct {
	Regions int // modulus of a salt that has none of its own
}

// A Program makes keys. It has buffers of its own, so each goroutine needs its own Program.
type Program struct {
	columns []string
	ops     []op
}

// op appends one part of a key.
type op interface {
	append(dst []byte, fields [][]byte) ([]byte, error)
}

// Compile prepares a spec. Whether its columns exist is for the caller to check,
// with [Program.Columns].
func Compile(e Expr, o Options) (*Program, error) {
	p := &Program{columns: Columns(e)}
	for _, part := range Parts(e) {
		op, err := p.compile(part, o)
		if err != nil {
			return nil, err
		}
		p.ops = append(p.ops, op)
	}
	return p, nil
}

func (p *Program) compile(e Expr, o Options) (op, error) {
	switch e := e.(type) {
	case Column:
		return columnOp{at: slices.Index(p.columns, e.Name), name: e.Name}, nil
	case Literal:
		return literalOp(e.Bytes), nil
	case Call:
		f, ok := findFunction(e.Func)
		if !ok {
			return nil, fmt.Errorf("unknown function %q", e.Func)
		}
		in, err := p.input(e.Args, o)
		if err != nil {
			return nil, err
		}
		return f.compile(e, in, o)
	case Concat:
		in, err := p.input(e.Parts, o)
		if err != nil {
			return nil, err
		}
		return concatOp{in: in}, nil
	}
	return nil, fmt.Errorf("key spec holds a %T", e)
}

// input is what a function works on: its arguments' bytes joined. One plain
// column is taken as it is; else the bytes are gathered in a buffer.
type input struct {
	ops []op
	buf *[]byte
}

func (p *Program) input(args []Expr, o Options) (input, error) {
	in := input{buf: new([]byte)}
	for _, a := range args {
		for _, part := range Parts(a) {
			op, err := p.compile(part, o)
			if err != nil {
				return input{}, err
			}
			in.ops = append(in.ops, op)
		}
	}
	return in, nil
}

func (in *input) bytes(fields [][]byte) ([]byte, error) {
	if len(in.ops) == 1 {
		if c, ok := in.ops[0].(columnOp); ok {
			return c.field(fields)
		}
	}
	b := (*in.buf)[:0]
	var err error
	for _, op := range in.ops {
		if b, err = op.append(b, fields); err != nil {
			return nil, err
		}
	}
	*in.buf = b
	return b, nil
}

// Columns are the columns that a key is made of, in the order in which
// [Program.Append] wants their fields.
func (p *Program) Columns() []string { return p.columns }

// Append appends the key of a record to dst; fields are those of
// [Program.Columns]. An error is a [*FieldError], and dst then has undefined
// bytes behind its length.
func (p *Program) Append(dst []byte, fields [][]byte) ([]byte, error) {
	from := len(dst)
	key := dst
	var err error
	for _, op := range p.ops {
		if key, err = op.append(key, fields); err != nil {
			return dst, err
		}
	}
	if len(key)-from > MaxKey {
		return dst, &FieldError{Err: fmt.Errorf("%w: it has %d", ErrLong, len(key)-from)}
	}
	return key, nil
}

type columnOp struct {
	at   int
	name string
}

// field checks a key column: a key with a hole is no key, and characters are
// what hashes and readers of the table see.
func (c columnOp) field(fields [][]byte) ([]byte, error) {
	b := fields[c.at]
	if len(b) == 0 {
		return nil, &FieldError{Column: c.name, Err: ErrEmpty}
	}
	if !utf8.Valid(b) {
		return nil, &FieldError{Column: c.name, Err: ErrUTF8}
	}
	return b, nil
}

func (c columnOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := c.field(fields)
	return append(dst, b...), err
}

type literalOp []byte

func (l literalOp) append(dst []byte, _ [][]byte) ([]byte, error) { return append(dst, l...), nil }

type concatOp struct{ in input }

func (c concatOp) append(dst []byte, fields [][]byte) ([]byte, error) {
	b, err := c.in.bytes(fields)
	return append(dst, b...), err
}

// Prefix is the leading parts of a spec that can be made from the given
// columns alone: what a reader who knows them can scan for. It is nil if not
// even the first part can.
func Prefix(e Expr, columns []string) Expr {
	var parts []Expr
	for _, part := range Parts(e) {
		for _, name := range Columns(part) {
			if !slices.Contains(columns, name) {
				return join(parts)
			}
		}
		parts = append(parts, part)
	}
	return join(parts)
}

func join(parts []Expr) Expr {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return Concat{Parts: parts}
}
