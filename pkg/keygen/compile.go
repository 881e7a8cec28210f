package keygen

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Options of [Compile].
type Options struct {
	Regions int // modulus of salts that specify none: usually the number of the table's regions; required if [NeedsRegions]

	// Value compiles a value instead of a key: it may have any length, and columns may be empty.
	Value bool

	widths map[string]int // columns whose values all have this many bytes
}

// A Program makes keys. It has buffers of its own, so each goroutine needs its own Program.
type Program struct {
	columns []string
	parts   []Expr
	ops     []op
	most    int // bytes of a key
}

// op appends one part of a key.
type op interface {
	append(dst []byte, fields [][]byte) ([]byte, error)
}

// number is a part whose value is an integer before it becomes bytes.
type number interface {
	value(fields [][]byte) (int64, error)
}

// Compile prepares a spec that [Parse] returned, or that a program has built. The caller checks that its columns exist, with [Program.Columns] or [Check]. An error is
// usually about a salt whose modulus is missing or out of range.
func Compile(e Expr, o Options) (*Program, error) {
	if err := checkCalls(e); err != nil {
		return nil, err
	}
	p := &Program{columns: Columns(e), parts: Parts(e), most: MaxKey}
	if o.Value {
		p.most = math.MaxInt
	}
	c := &compiler{columns: p.columns, options: o}
	for _, part := range p.parts {
		op, err := c.op(part)
		if err != nil {
			return nil, err
		}
		p.ops = append(p.ops, op)
	}
	return p, nil
}

// Columns returns the columns of the key, each once, in the order that [Program.Append] expects for fields. The slice is shared: do not
// change it.
func (p *Program) Columns() []string { return p.columns }

// Parts returns the parts of the key, in the order of [Program.AppendParts].
func (p *Program) Parts() []Expr { return p.parts }

// Append appends the key of a record to dst; fields are the values of [Program.Columns], which are read and not kept. The result is dst,
// grown as by append; if dst has room, nothing is allocated. An error is a [*FieldError]; dst is then returned unchanged, with undefined
// bytes after its length, and the program can be used for the next record.
func (p *Program) Append(dst []byte, fields [][]byte) ([]byte, error) {
	if len(fields) < len(p.columns) {
		return dst, p.tooFew(fields)
	}
	key := dst
	var err error
	for i, op := range p.ops {
		if key, err = op.append(key, fields); err != nil {
			return dst, p.inPart(i, err)
		}
	}
	if n := len(key) - len(dst); n > p.most {
		return dst, tooLong(n)
	}
	return key, nil
}

// AppendParts is like Append, and also appends to ends the end of each part in the key, counted from the key's first byte.
func (p *Program) AppendParts(dst []byte, ends []int, fields [][]byte) ([]byte, []int, error) {
	if len(fields) < len(p.columns) {
		return dst, ends, p.tooFew(fields)
	}
	key, all := dst, ends
	var err error
	for i, op := range p.ops {
		if key, err = op.append(key, fields); err != nil {
			return dst, ends, p.inPart(i, err)
		}
		all = append(all, len(key)-len(dst))
	}
	if n := len(key) - len(dst); n > p.most {
		return dst, ends, tooLong(n)
	}
	return key, all, nil
}

func (p *Program) tooFew(fields [][]byte) error {
	return &FieldError{Err: fmt.Errorf("%d fields are given for the key's %d columns", len(fields), len(p.columns))}
}

func tooLong(n int) error { return &FieldError{Err: fmt.Errorf("%w: it has %d", ErrLong, n)} }

// inPart adds the failed part to an error, unless the part is the column itself.
func (p *Program) inPart(i int, err error) error {
	if f, ok := errors.AsType[*FieldError](err); ok {
		if _, plain := p.parts[i].(Column); !plain {
			f.Part = p.parts[i].String()
		}
	}
	return err
}

// A compiler turns expressions into ops.
type compiler struct {
	columns []string // the columns of a record's fields
	options Options
}

func (c *compiler) op(e Expr) (op, error) {
	switch e := e.(type) {
	case Column:
		return &columnOp{at: slices.Index(c.columns, e.Name), name: e.Name, empty: c.options.Value}, nil
	case Literal:
		return literalOp(e.Bytes), nil
	case Call:
		f, ok := findFunction(e.Func)
		if !ok {
			return nil, fmt.Errorf("unknown function %q", e.Func)
		}
		if f.number != nil {
			n, err := f.number(c, e)
			return decimalOp{n}, err
		}
		return f.text(c, e)
	case Concat:
		in, err := c.input(e.Parts, false)
		if err != nil {
			return nil, err
		}
		return concatOp{in}, nil
	}
	if e == nil {
		return nil, errNoPart
	}
	return nil, fmt.Errorf("key spec holds a %T", e)
}

// number compiles an argument that must be an integer: a function that returns one, or text that is read as decimal digits.
func (c *compiler) number(e Expr) (number, error) {
	if call, ok := e.(Call); ok {
		if f, ok := findFunction(call.Func); ok && f.number != nil {
			return f.number(c, call)
		}
	}
	in, err := c.input([]Expr{e}, false)
	if err != nil {
		return nil, err
	}
	return &textNumber{in: in}, nil
}

// modulus returns the modulus of a salt: its own, or the job's number of regions.
func (c *compiler) modulus(call Call, most int) (int, error) {
	n := c.options.Regions
	if len(call.Ints) > 0 {
		n = call.Ints[0]
	}
	if n < 1 || n > most {
		return 0, fmt.Errorf("the modulus %d of %s is outside 1..%d", n, call, most)
	}
	return n, nil
}

// NeedsRegions reports whether the spec has a salt without a modulus.
func NeedsRegions(e Expr) bool { return OpenSalt(e) != "" }

// OpenSalt returns the function of the spec's first salt without a modulus, such as bytesalt; empty if there is none.
func OpenSalt(e Expr) string {
	var parts []Expr
	switch e := e.(type) {
	case Concat:
		parts = e.Parts
	case Call:
		if f, ok := findFunction(e.Func); ok && f.salts && len(e.Ints) == 0 {
			return e.Func
		}
		parts = e.Args
	}
	for _, p := range parts {
		if name := OpenSalt(p); name != "" {
			return name
		}
	}
	return ""
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
