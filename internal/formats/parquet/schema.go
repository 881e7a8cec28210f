package parquet

import (
	"errors"
	"fmt"

	"bulkload/internal/formats/valuetext"
)

// schemaNode is a column or a group of columns in the tree of a file's schema.
type schemaNode struct {
	schemaElement
	kids   []*schemaNode
	first  int // the ordinal of its first leaf
	leaves int // its number of leaves
	// The levels of a value that is not null: the number of optional and repeated nodes on the path to the node, including the node
	// itself, and the number of repeated ones among them.
	def, rep int
}

// maxDepth is the largest depth of a schema. It also bounds the bits of levels, which are read like other numbers.
const maxDepth = 100

func (f *footer) tree() (*schemaNode, error) {
	if len(f.elements) == 0 {
		return nil, errors.New("its schema is empty")
	}
	leaf, at := 0, 0
	var node func(parent *schemaNode, depth int) (*schemaNode, error)
	node = func(parent *schemaNode, depth int) (*schemaNode, error) {
		if at == len(f.elements) {
			return nil, errors.New("its schema is cut off")
		}
		if depth > maxDepth {
			return nil, fmt.Errorf("its schema is more than %d groups deep", maxDepth)
		}
		n := &schemaNode{schemaElement: f.elements[at], first: leaf}
		at++
		if parent != nil {
			n.def, n.rep = parent.def, parent.rep
			switch n.repetition {
			case repRequired:
			case repOptional:
				n.def++
			case repRepeated:
				n.def++
				n.rep++
			default:
				return nil, fmt.Errorf("column %s has the repetition %d, which is not known", valuetext.Name(n.name), n.repetition)
			}
		}
		if n.children == 0 && n.physical != -1 && parent != nil {
			n.leaves = 1
			leaf++
		}
		for range n.children {
			kid, err := node(n, depth+1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
			n.leaves += kid.leaves
		}
		return n, nil
	}
	return node(nil, 0)
}

// leaf reports whether a node is a column of values.
func (n *schemaNode) leaf() bool { return len(n.kids) == 0 && n.leaves == 1 }

// Name returns the name of a node.
func (n *schemaNode) Name() string { return n.name }

// Members returns the fields of a struct: a group that is not a list, map or VARIANT.
func (n *schemaNode) Members() (members []*schemaNode, ok bool) {
	return n.kids, !n.leaf() && n.logical != logicalVariant && n.repetition != repRepeated && n.listed() == nil && n.entries() == nil
}

// markVariants finds the groups that are VARIANTs without that logical type, as Spark 4.0 writes them, by the names of their parts;
// metadata and value are plain bytes.
func (n *schemaNode) markVariants() {
	plain := 0
	for _, kid := range n.kids {
		kid.markVariants()
		if (kid.name == "metadata" || kid.name == "value") && kid.leaf() && kid.physical == physicalBytes && kid.logical == 0 && kid.converted == -1 {
			plain++
		}
	}
	if plain == 2 && (len(n.kids) == 2 || len(n.kids) == 3 && n.kids[2].name == "typed_value") {
		n.logical = logicalVariant
	}
}

// listed returns the repeated node of a group that is a list, and nil for other nodes.
func (n *schemaNode) listed() *schemaNode {
	if (n.logical == logicalList || n.logical == 0 && n.converted == convertedList) && len(n.kids) == 1 && n.kids[0].repetition == repRepeated {
		return n.kids[0]
	}
	return nil
}

// entries returns the repeated node of a group that is a map, and nil for other nodes. Old writers annotate the map with
// MAP_KEY_VALUE, which is meant for its entries. A map without values becomes a list of its keys, as in Arrow. A map with nested keys
// becomes a list of its entries.
func (n *schemaNode) entries() *schemaNode {
	if n.logical != logicalMap && (n.logical != 0 || n.converted != convertedMap && n.converted != convertedMapKeyValue) || len(n.kids) != 1 {
		return nil
	}
	if r := n.kids[0]; r.repetition == repRepeated && len(r.kids) > 0 && len(r.kids) <= 2 && r.kids[0].repetition != repRepeated {
		return r
	}
	return nil
}

// isItem reports whether the repeated node of a list is the item; otherwise the item is its only field. These are the rules for
// old writers in parquet-format's LogicalTypes.md.
func (n *schemaNode) isItem(list *schemaNode) bool {
	return len(n.kids) != 1 || n.name == "array" || n.name == list.name+"_tuple" || n.kids[0].repetition == repRepeated
}
