package yamlfile

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Decode decodes a file into a struct, whose tags are those of the decoder. It refuses unknown fields, and nothing is changed by an empty file.
func Decode(data []byte, to any) error {
	body, err := Body(data)
	if err != nil || body == nil {
		return err
	}
	if body, err = convert("", body, reflect.TypeOf(to)); err != nil {
		return err
	}
	return yaml.NodeToValue(body, to, yaml.Strict())
}

// Text returns a scalar as it is written: without its quotes, with the meaning of its escapes. It returns false for other values and for null.
func Text(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return strings.TrimSpace(node.GetToken().Value), true
	case *ast.TagNode:
		if tag := token.ReservedTagKeyword(n.Start.Value); tag != token.BinaryTag && tag != token.NullTag {
			return Text(n.Value)
		}
	}
	return "", false
}

// text returns the node of a text in the place of another.
func text(node ast.Node, s string) *ast.StringNode {
	return &ast.StringNode{BaseNode: &ast.BaseNode{}, Token: node.GetToken(), Value: s}
}

// convert returns a node that the decoder decodes into a type as package yamlfile promises. The node may be node, changed below it. setting is the name
// of its field in messages.
func convert(setting string, node ast.Node, t reflect.Type) (_ ast.Node, err error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.NodeUnmarshaler]()) {
		return node, nil
	}
	switch n := node.(type) {
	case *ast.TagNode:
		if k := t.Kind(); k == reflect.Slice || k == reflect.Struct || k == reflect.Map {
			return convert(setting, n.Value, t)
		}
	case *ast.MappingNode:
		if err := refuse(setting, n, t); err != nil {
			return nil, err
		}
		for _, v := range n.Values {
			if err := convertField(v, t); err != nil {
				return nil, err
			}
		}
		return n, nil
	case *ast.MappingValueNode:
		if err := refuse(setting, n, t); err != nil {
			return nil, err
		}
		return n, convertField(n, t)
	case *ast.SequenceNode:
		if err := refuse(setting, n, t); err != nil {
			return nil, err
		}
		for i, v := range n.Values {
			if t.Kind() != reflect.Slice {
				break
			}
			if _, null := v.(*ast.NullNode); null && t.Elem().Kind() == reflect.String {
				return nil, errNull(v)
			}
			inner := setting
			if t.Elem().Kind() == reflect.String {
				inner = "a value of " + setting
			}
			if n.Values[i], err = convert(inner, v, t.Elem()); err != nil {
				return nil, err
			}
		}
		return n, nil
	}
	if err := refuse(setting, node, t); err != nil {
		return nil, err
	}
	s, ok := Text(node)
	switch t.Kind() {
	case reflect.String:
		if ok {
			return text(node, s), nil
		}
	case reflect.Int, reflect.Int64:
		if ok {
			return integer(setting, node, s, t.Bits())
		}
	}
	return node, nil
}

// refuse returns an error for a value of another kind than that of its setting: the decoder's would name types of Go. The decoder judges others.
func refuse(setting string, node ast.Node, t reflect.Type) error {
	if setting == "" || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	want := map[reflect.Kind]string{reflect.Bool: "true or false", reflect.String: "one text", reflect.Slice: "a list", reflect.Int: "an integer", reflect.Int64: "an integer",
		reflect.Struct: "fields of its own", reflect.Map: "fields of its own"}[t.Kind()]
	var is string
	switch n := node.(type) {
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			is = "a list"
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		if k := t.Kind(); k != reflect.Struct && k != reflect.Map {
			is = "fields of its own"
		}
	case *ast.TagNode:
		_, scalar := Text(n)
		if tag := token.ReservedTagKeyword(n.Start.Value); tag != token.NullTag && (t.Kind() == reflect.Bool && scalar && tag != token.BooleanTag || tag == token.BinaryTag && t.Kind() != reflect.String) {
			is = n.Start.Value
		}
	case *ast.StringNode, *ast.LiteralNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode:
		s, _ := Text(n)
		switch {
		case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
			return BadNode(node, fmt.Sprintf("%s takes %s, not %q", setting, want, s))
		case t.Kind() == reflect.Bool && n.Type() != ast.BoolType:
			return BadNode(node, fmt.Sprintf("%s takes %s, not %q", setting, want, s))
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
			return BadNode(node, fmt.Sprintf("%s takes a list: [%q]", setting, s))
		case t.Kind() == reflect.Slice:
			return BadNode(node, setting+" takes a list")
		}
	}
	if want == "" || is == "" {
		return nil
	}
	return BadNode(node, setting+" takes "+want+", not "+is)
}

// convertField converts the value of a field of a type.
func convertField(v *ast.MappingValueNode, t reflect.Type) (err error) {
	if _, null := v.Value.(*ast.NullNode); null && v.Key.IsMergeKey() {
		return BadNode(v.Value, "<< takes fields of its own, not null")
	}
	if list, ok := v.Value.(*ast.SequenceNode); ok && v.Key.IsMergeKey() && t.Kind() == reflect.Map { // a struct takes no list
		for i := range list.Values {
			if list.Values[i], err = convert("<<", list.Values[i], t); err != nil {
				return err
			}
		}
		return nil
	}
	name := v.Key.GetToken().Value
	if s, ok := v.Key.(*ast.StringNode); ok {
		name = s.Value
	}
	switch {
	case v.Key.IsMergeKey():
	case t.Kind() == reflect.Map:
		t = t.Elem()
	default:
		if t = fieldType(t, name); t == nil {
			return nil // the decoder refuses it
		}
	}
	v.Value, err = convert(name, v.Value, t)
	return err
}

// fieldType returns the type of a struct's field, which may be in an inlined struct. It returns nil if there is none.
func fieldType(t reflect.Type, name string) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, inline := strings.CutSuffix(f.Tag.Get("yaml"), ",inline")
		if inline {
			if found := fieldType(f.Type, name); found != nil {
				return found
			}
		} else if tag == name {
			return f.Type
		}
	}
	return nil
}

// integer returns the node of an integer: the decoder would round a fraction, and read digits after a zero as octal.
func integer(setting string, node ast.Node, s string, bits int) (ast.Node, error) {
	v, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return nil, BadNode(node, fmt.Sprintf("%s takes an integer, not %q", setting, s))
	}
	return &ast.IntegerNode{BaseNode: &ast.BaseNode{}, Token: node.GetToken(), Value: v}, nil
}

// errNull returns the error for YAML's null in a list of texts: users who write null mean the text.
func errNull(node ast.Node) error {
	return BadNode(node, "null is a keyword of YAML: write the text in quotes, as 'NULL'")
}

// Texts returns the elements of a list of texts, or a single text. It refuses null.
func Texts(node ast.Node) (texts []string, err error) {
	values := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		values = list.Values
	}
	for _, v := range values {
		s, ok := Text(v)
		if _, null := v.(*ast.NullNode); null {
			return nil, errNull(v)
		}
		if !ok {
			return nil, BadNode(v, "it takes a text, a number, or a list of them")
		}
		texts = append(texts, s)
	}
	return texts, nil
}
