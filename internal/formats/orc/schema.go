package orc

import (
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/formats/valuetext"
)

// kind is a type, numbered as in orc_proto.proto.
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

// text reports whether values are UTF-8 text.
func (k kind) text() bool { return k == kindString || k == kindVarchar || k == kindChar }

// octets reports whether values are byte strings.
func (k kind) octets() bool {
	return k.text() || k == kindBinary || k == kindGeometry || k == kindGeography
}

// nested reports whether values contain other values.
func (k kind) nested() bool { return k >= kindList && k <= kindUnion }

// node is a column in the schema tree of a file.
type node struct {
	id    int
	name  string
	json  []byte // the name as JSON, with its colon
	kind  kind
	scale int
	kids  []*node

	encrypted bool
}

// maxDepth is the largest depth of nested columns.
const maxDepth = 100

// maxScale is the largest scale of a decimal.
const maxScale = 38

// tree returns the root of the schema. Ids number its nodes in preorder, from the root on.
func (f *footer) tree() (*node, error) {
	at := 0
	var build func(depth int, encrypted bool) (*node, error)
	build = func(depth int, encrypted bool) (*node, error) {
		if at == len(f.types) || depth > maxDepth {
			return nil, fmt.Errorf("it is cut off, or more than %d columns deep", maxDepth)
		}
		t := &f.types[at]
		n := &node{id: at, kind: t.kind, scale: int(min(t.scale, maxScale+1)), encrypted: encrypted || slices.Contains(f.encrypted, uint64(at))}
		at++
		if n.scale > maxScale {
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
		return n, nil
	}
	root, err := build(0, false)
	switch {
	case err != nil:
		return nil, tailError("schema: %w", err)
	case root.kind != kindStruct || len(root.kids) == 0 && (f.rows > 0 || len(f.stripes) > 0): // Hive writes struct<> where there are no rows
		return nil, errors.New("it has no columns")
	}
	return root, nil
}

// Name returns the name of a column, "" for the root and within lists, maps and unions.
func (n *node) Name() string { return n.name }

// Members returns the fields of a struct.
func (n *node) Members() (members []*node, ok bool) { return n.kids, n.kind == kindStruct }

// check returns an error if a column cannot be read.
func (n *node) check() error {
	if n.kind > kindGeography {
		return fmt.Errorf("its type %d is not known", n.kind)
	}
	if n.kind == kindStruct && len(n.kids) == 0 {
		return errors.New("it is a struct without fields") // no stream would limit the number of its values
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
