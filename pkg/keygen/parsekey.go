package keygen

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Errors of [KeyParser.Parse].
var (
	ErrForeignKey = errors.New("the key does not match the key spec")
	ErrTwoCuts    = errors.New("the key can be divided into columns in several ways: a value contains the text that separates columns")
)

// A KeyParser extracts columns from keys: those that the spec stores unchanged. It has buffers of its own, so each goroutine needs its own.
type KeyParser struct {
	columns     []string
	free        []freePart // the parts of unknown width
	front, back keyRun     // the parts before the first free part, and after the last
	between     []keyRun   // the parts after each free part but the last
	program     *Program   // makes the key again; nil: a column is not stored unchanged
	order       []int      // the index in columns of each of the program's columns
	fields      [][]byte
	again       []byte
	left, right []int
}

// keyRun is a sequence of parts of known widths.
type keyRun struct {
	width    int
	literals []runLiteral
}

type runLiteral struct {
	at    int
	bytes []byte
}

// freePart is a part of unknown width.
type freePart struct {
	least  int
	column int // −1: the result of a function
}

func (r *keyRun) add(e Expr, width int) {
	if l, ok := e.(Literal); ok {
		r.literals = append(r.literals, runLiteral{r.width, l.Bytes})
	}
	r.width += width
}

// fits reports whether b can begin with the run.
func (r *keyRun) fits(b []byte) bool {
	if len(b) < r.width {
		return false
	}
	for _, l := range r.literals {
		if !bytes.HasPrefix(b[l.at:], l.bytes) {
			return false
		}
	}
	return true
}

// CompileParser returns a parser of a spec's keys. The parser skips parts of a known width. Parts of unknown width are columns, and functions
// such as a salt without a modulus. CompileParser rejects a spec in which two of these have no constant text between them, and a spec that
// stores no column unchanged.
func CompileParser(e Expr, o Options) (*KeyParser, error) {
	if err := checkCalls(e); err != nil {
		return nil, err
	}
	p := &KeyParser{}
	run := &p.front
	var last Expr
	for _, part := range Parts(e) {
		s := shapeOf(part, o)
		if s.min == s.max {
			run.add(part, s.min)
			continue
		}
		if last != nil && len(run.literals) == 0 {
			return nil, fmt.Errorf("key spec %s: keys do not show where %s ends and %s begins: both have any width, and there is no constant text between them%s", e, last, part, modulusHint(last, part))
		}
		if last != nil {
			p.between = append(p.between, *run)
		}
		p.back = keyRun{}
		run, last = &p.back, part
		p.free = append(p.free, freePart{least: s.min, column: p.column(part)})
	}
	if len(p.columns) == 0 {
		return nil, fmt.Errorf("key spec %s: it stores no column unchanged, so no column can be taken from a key", e)
	}
	p.left, p.right = make([]int, len(p.free)), make([]int, len(p.free))
	return p, p.verifyBy(e, o)
}

// modulusHint returns advice for salts, whose width depends on their modulus.
func modulusHint(parts ...Expr) string {
	for _, part := range parts {
		if c, ok := part.(Call); ok && NeedsRegions(c) {
			return fmt.Sprintf(" (give %s its modulus)", c.Func)
		}
	}
	return ""
}

// column returns the index of a part's column, and adds the column if it is new; −1 if the part does not store a column unchanged.
func (p *KeyParser) column(e Expr) int {
	if c, ok := e.(Call); ok && c.Func == "orempty" {
		e = c.Args[0]
	}
	c, ok := e.(Column)
	if !ok {
		return -1
	}
	if i := slices.Index(p.columns, c.Name); i >= 0 {
		return i
	}
	p.columns = append(p.columns, c.Name)
	return len(p.columns) - 1
}

// verifyBy lets Parse make keys again, if all columns of the spec are known.
func (p *KeyParser) verifyBy(e Expr, o Options) error {
	program, err := Compile(e, o)
	if err != nil {
		return err
	}
	for _, name := range program.Columns() {
		i := slices.Index(p.columns, name)
		if i < 0 {
			return nil
		}
		p.order = append(p.order, i)
	}
	p.program, p.fields = program, make([][]byte, len(p.order))
	return nil
}

// Columns returns the columns that a key contains, in the order of [KeyParser.Parse]. The slice
// is shared: do not change it.
func (p *KeyParser) Columns() []string { return p.columns }

// Parse sets the value of each column to its bytes in the key. The error is [ErrForeignKey] or [ErrTwoCuts]. If a key contains all columns of
// the spec, Parse makes the key again from the columns, and the key is foreign if the result differs.
func (p *KeyParser) Parse(key []byte, values [][]byte) error {
	if len(values) < len(p.columns) || len(p.free) == 0 {
		return fmt.Errorf("%d values are given for the key's %d columns", len(values), len(p.columns))
	}
	if !p.front.fits(key) || len(key) < p.front.width+p.back.width || !p.back.fits(key[len(key)-p.back.width:]) {
		return ErrForeignKey
	}
	free := key[p.front.width : len(key)-p.back.width]
	if err := p.cut(free); err != nil {
		return err
	}
	clear(values)
	from := 0
	for i, f := range p.free {
		value := free[from:p.left[i]]
		if i < len(p.between) {
			from = p.left[i] + p.between[i].width
		}
		switch {
		case f.column < 0:
		case values[f.column] != nil && !bytes.Equal(values[f.column], value):
			return ErrForeignKey
		default:
			values[f.column] = value
		}
	}
	return p.verify(key, values)
}

// cut finds the first possible end and the last possible end of each part of unknown width. If these are equal, there is only one way to cut the key.
func (p *KeyParser) cut(free []byte) error {
	last := len(p.free) - 1
	p.left[last], p.right[last] = len(free), len(free)
	from := 0
	for i := range p.between {
		at := from + p.free[i].least
		for at <= len(free) && !p.between[i].fits(free[at:]) {
			at++
		}
		if at > len(free) {
			return ErrForeignKey
		}
		p.left[i], from = at, at+p.between[i].width
	}
	if len(free)-from < p.free[last].least {
		return ErrForeignKey
	}
	to := len(free)
	for i := last - 1; i >= 0; i-- {
		at := to - p.free[i+1].least - p.between[i].width
		for at >= 0 && !p.between[i].fits(free[at:]) {
			at--
		}
		if at < 0 {
			return ErrForeignKey
		}
		p.right[i], to = at, at
	}
	if !slices.Equal(p.left, p.right) {
		return ErrTwoCuts
	}
	return nil
}

// verify makes the key again and compares.
func (p *KeyParser) verify(key []byte, values [][]byte) (err error) {
	if p.program == nil {
		return nil
	}
	for i, column := range p.order {
		p.fields[i] = values[column]
	}
	if p.again, err = p.program.Append(p.again[:0], p.fields); err != nil || !bytes.Equal(p.again, key) {
		return ErrForeignKey
	}
	return nil
}
