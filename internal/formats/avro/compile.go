package avro

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/formats/valuetext"
)

// Compile plans the decoding of columns, in their order. A column is a field of the top record, by its name, or a leaf of a nested record, by its path,
// such as addr.city; arrays, maps and records become JSON. A column may be selected twice, and both as a whole and in parts. A column that is missing
// or has no text form is a [ColumnError].
func Compile(h *Header, columns []string, o Options) (*Plan, error) {
	p := &Plan{zone: o.Location, text: o.MaxText}
	if p.text <= 0 {
		p.text = DefaultText
	}
	p.text = min(p.text, 1<<30)
	p.parts = partsOf(h.root)
	for i, column := range columns {
		if err := choose(p.parts, column, i); err != nil {
			return nil, &ColumnError{Column: column, Err: err}
		}
	}
	return p, nil
}

// partsOf returns the fields of a record, none of them selected.
func partsOf(record *node) []part {
	parts := make([]part, len(record.fields))
	for i, f := range record.fields {
		p := part{name: f.name, node: f.node, null: f.node.nullable(), pass: true, out: -1}
		if p.null >= 0 {
			p.node = f.node.branches[1-p.null]
		}
		parts[i] = p
	}
	return parts
}

// choose selects the part at a path. A name that contains dots takes precedence over a path.
func choose(parts []part, path string, out int) error {
	for i := range parts {
		if p := &parts[i]; p.name == path {
			if err := textual(p.node); err != nil {
				return err
			}
			if p.out < 0 {
				p.out = out
			} else {
				p.also = append(p.also, out)
			}
			p.pass, p.all = false, append(p.all, out)
			return nil
		}
	}
	err := ErrNoColumn
	for i := range parts {
		p := &parts[i]
		rest, found := strings.CutPrefix(path, p.name+".")
		if !found {
			continue
		}
		if p.node.kind != kindRecord {
			err = fmt.Errorf("%s is of type %s: only the whole of it can be a column", p.name, p.node.typeName())
			continue
		}
		inner := p.parts
		if inner == nil {
			inner = partsOf(p.node)
		}
		if err = choose(inner, rest, out); err == nil {
			p.parts, p.pass, p.all = inner, false, append(p.all, out)
			return nil
		}
	}
	return err
}

// textual returns an error if a type has no text form: a duration, a decimal with too many digits, or a type that contains itself.
func textual(n *node) error {
	return textualIn(n, map[*node]bool{})
}

// textualIn visits each type once; open is true for the types that enclose the current one.
func textualIn(n *node, open map[*node]bool) error {
	if within, seen := open[n]; within {
		return fmt.Errorf("the type %s contains itself", n.name)
	} else if seen {
		return nil
	}
	open[n] = true
	defer func() { open[n] = false }()
	switch n.logical {
	case logicalDecimal:
		if n.scale > valuetext.MaxScale {
			return fmt.Errorf("its decimals have %d digits after the point", n.scale)
		}
	case logicalDuration:
		return errors.New("a duration has no text")
	case logicalBigDecimal: // its scale is within the bytes
		return errors.New("a big-decimal cannot be read: write a decimal or a string")
	}
	switch n.kind {
	case kindArray, kindMap:
		return textualIn(n.items, open)
	case kindUnion:
		for _, b := range n.branches {
			if err := textualIn(b, open); err != nil {
				return err
			}
		}
	case kindRecord:
		for _, f := range n.fields {
			if err := textualIn(f.node, open); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
	}
	return nil
}
