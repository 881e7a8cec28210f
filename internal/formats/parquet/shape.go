package parquet

import (
	"errors"
	"fmt"

	"bulkload/internal/formats/valuetext"
)

// shape describes a value of a nested column, and the form of its JSON.
type shape struct {
	kind shapeKind
	name []byte // of a struct's field, as JSON with its colon
	def  int    // the lowest definition level of a value that is not null
	rep  int    // of lists and maps: the repetition level of all items but the first
	item int    // of lists and maps: the lowest definition level of an item
	leaf int    // of leaves: the index among the column's leaves
	typ  columnType
	kids []*shape // of lists the item, of maps the key and the value
	// The parts of VARIANTs, where all but the metadata may be nil; key is the name of a part.
	meta, rest, typed *shape
	key               []byte
	// The shape's leaves are those from first to end-1.
	first, end int
}

type shapeKind int

const (
	shapeLeaf shapeKind = iota
	shapeStruct
	shapeList
	shapeMap
	shapeVariant
	shapePart // a field or an item of a VARIANT
)

// errNoLeaf is about a group without columns: a file has no data for it.
var errNoLeaf = errors.New("it is a struct without fields")

// shapeOf returns the shape of a node's values. add registers a leaf and returns its index among the column's leaves.
func shapeOf(n *schemaNode, o *textRules, add func(*schemaNode, columnType) int) (*shape, error) {
	if n.leaves == 0 {
		return nil, errNoLeaf
	}
	if n.repetition == repRepeated {
		return listOf(n, n.def-1, func() (*shape, error) { return itemShape(n, o, add) })
	}
	return itemShape(n, o, add)
}

// itemShape returns the shape of a node's values; for a repeated node, that of a single value.
func itemShape(n *schemaNode, o *textRules, add func(*schemaNode, columnType) int) (*shape, error) {
	switch r, e := n.listed(), n.entries(); {
	case n.logical == logicalVariant:
		return variantOf(n, o, add)
	case n.leaf():
		t, err := typeOf(n, o)
		if err != nil {
			return nil, fmt.Errorf("within it %s: %w", valuetext.Name(n.name), err)
		}
		return leafOf(n, t, add), nil
	case r != nil:
		return listOf(r, n.def, func() (*shape, error) {
			if r.isItem(n) {
				return itemShape(r, o, add)
			}
			return shapeOf(r.kids[0], o, add)
		})
	case e != nil && len(e.kids) == 1:
		return listOf(e, n.def, func() (*shape, error) { return shapeOf(e.kids[0], o, add) })
	case e != nil && !e.kids[0].leaf():
		return listOf(e, n.def, func() (*shape, error) {
			s := &shape{kind: shapeStruct, def: e.def}
			return s, s.add(e.kids, o, add)
		})
	case e != nil:
		s := &shape{kind: shapeMap, def: n.def, rep: e.rep, item: e.def}
		return s, s.add(e.kids, o, add)
	default:
		s := &shape{kind: shapeStruct, def: n.def}
		return s, s.add(n.kids, o, add)
	}
}

// listOf returns the shape of a list. def is the lowest definition level of a list that is not null, and r the repeated node of the items.
func listOf(r *schemaNode, def int, item func() (*shape, error)) (*shape, error) {
	if r.leaves == 0 {
		return nil, errNoLeaf
	}
	kid, err := item()
	if err != nil {
		return nil, err
	}
	return &shape{kind: shapeList, def: def, rep: r.rep, item: r.def, kids: []*shape{kid}, first: kid.first, end: kid.end}, nil
}

func (s *shape) add(kids []*schemaNode, o *textRules, add func(*schemaNode, columnType) int) error {
	if len(kids) == 0 {
		return errNoLeaf
	}
	for i, n := range kids {
		kid, err := shapeOf(n, o, add)
		if err != nil {
			return err
		}
		if kid.name = append(valuetext.AppendJSON(nil, []byte(n.name)), ':'); i == 0 {
			s.first = kid.first
		}
		s.kids, s.end = append(s.kids, kid), kid.end
	}
	return nil
}
