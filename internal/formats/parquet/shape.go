package parquet

import (
	"errors"
	"fmt"

	"bulkload/internal/formats/valuetext"
)

// shape is a value of a nested column, as its JSON is written.
type shape struct {
	kind shapeKind
	name []byte // of a struct's field, as JSON with its colon
	def  int    // the definition level from which on it is there, and below which it is null
	rep  int    // of lists and maps: the repetition level of all their items but the first
	item int    // likewise: the definition level from which on there is an item
	leaf int    // of leaves: which of the column's
	typ  columnType
	kids []*shape // of lists the item, of maps the key and the value
	// Of VARIANTs their parts, where any but the metadata may be nil; of parts, key is the name.
	meta, rest, typed *shape
	key               []byte
	// Leaves are those from first up to end.
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

// errNoLeaf is about a group without columns, which leaves no trace in a file.
var errNoLeaf = errors.New("it is a struct without fields")

// shapeOf returns the shape of a node's values. add notes a leaf and says which of the column's it is.
func shapeOf(n *schemaNode, o *textRules, add func(*schemaNode, columnType) int) (*shape, error) {
	if n.leaves == 0 {
		return nil, errNoLeaf
	}
	if n.repetition == repRepeated {
		return listOf(n, n.def-1, func() (*shape, error) { return itemShape(n, o, add) })
	}
	return itemShape(n, o, add)
}

// itemShape returns the shape of a node's values, each for itself if it is repeated.
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

// listOf returns a list that is there from a definition level on, whose items the repeated node has.
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

// add adds the shapes of nodes.
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
