package yamlfile

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Body returns the value of a file's document, in which no anchors and aliases are left, and nil if the file is empty. It ignores a byte order mark.
func Body(data []byte) (ast.Node, error) {
	f, err := Parse(data)
	if err != nil {
		return nil, err
	}
	body, err := oneDocument(f)
	if err != nil || body == nil {
		return nil, err
	}
	r := resolver{anchors: map[string]ast.Node{}}
	return r.resolve(body)
}

// Parse parses a file. It ignores a byte order mark, which Windows editors write, and refuses values that are nested too deep.
func Parse(data []byte) (*ast.File, error) {
	tokens := lexer.Tokenize(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	if err := checkNesting(tokens); err != nil {
		return nil, err
	}
	return parser.Parse(tokens, 0)
}

// oneDocument returns the body of a file's document, nil if the file is empty. It refuses a file of several documents, because a decoder would read the
// first and silently ignore the others. Even an empty second document is an error, because the parser drops the text after it.
func oneDocument(f *ast.File) (body ast.Node, err error) {
	for _, doc := range f.Docs {
		if body != nil {
			return nil, fmt.Errorf("line %d: a second document begins: a file has one", lineOf(doc))
		}
		if doc.Body != nil && doc.Body.Type() != ast.CommentType && doc.Body.Type() != ast.DirectiveType {
			body = doc.Body
		}
	}
	return body, nil
}

// lineOf returns the line where a document begins: of its dashes, if it has any.
func lineOf(doc *ast.DocumentNode) int {
	switch {
	case doc.Start != nil:
		return doc.Start.Position.Line
	case doc.Body != nil:
		return doc.Body.GetToken().Position.Line
	}
	return 1
}

// BadNode returns an error with its position in the file.
func BadNode(node ast.Node, why string) error {
	return &yaml.SyntaxError{Message: why, Token: node.GetToken()}
}

// maxCopied is the maximum number of values that aliases may add to a file.
const maxCopied = 100_000

// A resolver replaces aliases by copies of the values that they stand for.
type resolver struct {
	anchors map[string]ast.Node // resolved values by their names
	copying int                 // depth of aliases
	copied  int                 // number of values copied
}

// resolve returns a copy of a node without anchors and aliases. Scalars are shared.
func (r *resolver) resolve(node ast.Node) (_ ast.Node, err error) {
	if r.copying > 0 {
		if r.copied++; r.copied > maxCopied {
			return nil, BadNode(node, "its aliases stand for too many values")
		}
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		value, err := r.value(n.Value, n.Start)
		if err == nil {
			r.anchors[n.Name.GetToken().Value] = value
		}
		return value, err
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		value, ok := r.anchors[name]
		if !ok {
			return nil, BadNode(n, fmt.Sprintf("no value before it has the name %s", name))
		}
		r.copying++
		defer func() { r.copying-- }()
		return r.resolve(value)
	case *ast.TagNode:
		c := *n
		c.Value, err = r.value(n.Value, n.Start)
		if _, ok := c.Value.(ast.ScalarNode); !ok {
			return c.Value, err // the tag says what it is
		}
		return &c, err
	case *ast.MappingNode:
		c := *n
		c.Values = make([]*ast.MappingValueNode, len(n.Values))
		for i, v := range n.Values {
			if c.Values[i], err = r.pair(v); err != nil {
				return nil, err
			}
		}
		return &c, nil
	case *ast.MappingValueNode:
		return r.pair(n)
	case *ast.SequenceNode:
		c := *n
		c.Values = make([]ast.Node, len(n.Values))
		for i, v := range n.Values {
			if c.Values[i], err = r.resolve(v); err != nil {
				return nil, err
			}
		}
		return &c, nil
	}
	return node, nil
}

// value resolves the value after an anchor or a tag at the given token, which may be absent.
func (r *resolver) value(n ast.Node, at *token.Token) (ast.Node, error) {
	if n == nil {
		return &ast.NullNode{BaseNode: &ast.BaseNode{}, Token: at}, nil
	}
	return r.resolve(n)
}

func (r *resolver) pair(n *ast.MappingValueNode) (_ *ast.MappingValueNode, err error) {
	c := *n
	key, err := r.resolve(n.Key)
	if err != nil {
		return nil, err
	}
	if c.Key, err = name(key, n.Key); err != nil {
		return nil, err
	}
	c.Value, err = r.resolve(n.Value)
	return &c, err
}

// name returns a key whose name is as written: the decoder would ignore a mapping that has a number as a name.
func name(key ast.Node, written ast.MapKeyNode) (ast.MapKeyNode, error) {
	if written.IsMergeKey() {
		return written, nil
	}
	if n, ok := key.(*ast.MappingKeyNode); ok { // after a question mark
		key = n.Value
	}
	if _, ok := key.(*ast.NullNode); ok {
		return text(key, key.GetToken().Value), nil
	}
	s, ok := Text(key)
	if !ok {
		return nil, BadNode(written, "a name is a text")
	}
	return text(key, s), nil
}

// MaxSize is the maximum number of bytes of a file: the parser takes more than a hundred times its size.
const MaxSize = 4 << 20

// maxNesting is the maximum depth of values within values. The parser takes memory and time by the square of the depth.
const maxNesting = 100

// checkNesting refuses a file whose values are nested too deep for the parser. Outside of brackets, a value is within those that begin in columns before
// its own.
func checkNesting(tokens token.Tokens) error {
	var columns []int // of the lists and mappings that are open
	brackets, line := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		}
		if at := t.Position; brackets <= 0 && (at.Line > line || t.Type == token.SequenceEntryType || t.Type == token.MappingKeyType) {
			for n := len(columns); n > 0 && columns[n-1] >= at.Column; n-- {
				columns = columns[:n-1]
			}
			columns, line = append(columns, at.Column), at.Line
		}
		if len(columns)+max(brackets, 0) > maxNesting {
			return fmt.Errorf("line %d: values are nested more than %d deep", t.Position.Line, maxNesting)
		}
	}
	return nil
}
