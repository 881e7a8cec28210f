package orc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/valuetext"
)

// kind is a type of values, with the numbers of orc_proto.proto.
type kind int32

const (
	kindBool kind = iota
	kindByte
	kindShort
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindString
	kindBinary
	kindTimestamp
	kindList
	kindMap
	kindStruct
	kindUnion
	kindDecimal
	kindDate
	kindVarchar
	kindChar
	kindInstant // a timestamp with local time zone
	kindGeometry
	kindGeography
)

// text says that values are UTF-8.
func (k kind) text() bool { return k == kindString || k == kindVarchar || k == kindChar }

// octets says that values are bytes of any number.
func (k kind) octets() bool {
	return k.text() || k == kindBinary || k == kindGeometry || k == kindGeography
}

// nested says that values have values.
func (k kind) nested() bool { return k >= kindList && k <= kindUnion }

// node is a column in the tree of a file's schema.
type node struct {
	id    int
	end   int // the first id that is not within it
	name  string
	json  []byte // the name as JSON with its colon
	kind  kind
	scale int
	kids  []*node

	encrypted bool
}

// mostDepth is how many columns may be within each other.
const mostDepth = 100

// mostScale bounds the digits after a decimal's point.
const mostScale = 38

// tree returns the root of the schema. Ids count its nodes from the root on, each before its kids.
func (f *footer) tree() (*node, error) {
	at := 0
	var build func(depth int, encrypted bool) (*node, error)
	build = func(depth int, encrypted bool) (*node, error) {
		if at == len(f.types) || depth > mostDepth {
			return nil, fmt.Errorf("it is cut off, or more than %d columns deep", mostDepth)
		}
		t := &f.types[at]
		n := &node{id: at, kind: t.kind, scale: int(min(t.scale, mostScale+1)), encrypted: encrypted || slices.Contains(f.encrypted, uint64(at))}
		at++
		if n.scale > mostScale {
			return nil, fmt.Errorf("its decimals have %d digits after the point", t.scale)
		}
		switch kids := len(t.kids); {
		case t.kind == kindList && kids != 1, t.kind == kindMap && kids != 2, t.kind == kindUnion && (kids == 0 || kids > 256), !t.kind.nested() && kids > 0:
			return nil, fmt.Errorf("type %d has %d types within it", n.id, kids)
		case t.kind == kindStruct && kids != len(t.names):
			return nil, fmt.Errorf("type %d has %d fields and %d names", n.id, kids, len(t.names))
		}
		for i, id := range t.kids {
			if id != uint64(at) {
				return nil, fmt.Errorf("type %d is out of order", id)
			}
			kid, err := build(depth+1, n.encrypted)
			if err != nil {
				return nil, err
			}
			if t.kind == kindStruct {
				kid.name = t.names[i]
				kid.json = append(valuetext.AppendJSON(nil, kid.name), ':')
			}
			n.kids = append(n.kids, kid)
		}
		n.end = at
		return n, nil
	}
	root, err := build(0, false)
	switch {
	case err != nil:
		return nil, tailError("schema: %w", err)
	case root.kind != kindStruct || len(root.kids) == 0:
		return nil, errors.New("it has no columns")
	}
	return root, nil
}

// find returns the nodes that lead to a name, and the one that has it last: a.b is the field b of the struct a, but where a name has that point itself.
// Nothing leads into lists, maps and unions.
func (n *node) find(name string) []*node {
	for _, kid := range n.kids {
		if kid.name == name {
			return []*node{kid}
		}
	}
	for _, kid := range n.kids {
		rest, ok := strings.CutPrefix(name, kid.name+".")
		if !ok || kid.kind != kindStruct {
			continue
		}
		if found := kid.find(rest); found != nil {
			return append([]*node{kid}, found...)
		}
	}
	return nil
}

// names returns the columns of a struct.
func (n *node) names() []string {
	names := make([]string, len(n.kids))
	for i, kid := range n.kids {
		names[i] = kid.name
	}
	return names
}

// Columns returns the names of the columns and of the wanted members of structs. A struct is no column if only a part of it is wanted.
func (m *File) Columns(wanted []string) (columns []string) {
	names := m.tree.names()
	var paths []string
	for _, name := range names {
		inside := len(paths)
		for _, want := range wanted {
			if strings.HasPrefix(want, name+".") && !slices.Contains(names, want) && !slices.Contains(paths, want) && m.tree.find(want) != nil {
				paths = append(paths, want)
			}
		}
		if slices.Contains(wanted, name) || len(paths) == inside {
			columns = append(columns, name)
		}
	}
	return append(columns, paths...)
}

// check refuses a column that cannot be read.
func (n *node) check() error {
	if n.kind > kindGeography {
		return fmt.Errorf("its type %d is not known", n.kind)
	}
	if n.kind == kindStruct && len(n.kids) == 0 {
		return errors.New("it is a struct without fields") // and nothing bounds how many there are
	}
	if n.encrypted {
		return errors.New("it is encrypted: write it without encryption, or choose other columns")
	}
	for _, kid := range n.kids {
		if err := kid.check(); err != nil {
			return fmt.Errorf("within it %s: %w", valuetext.Name(kid.name), err)
		}
	}
	return nil
}
