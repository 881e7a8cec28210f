package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	hamba "github.com/hamba/avro/v2"

	"bulkload/pkg/setting"
)

// maxSchemaDepth is the largest depth of nested types in a schema.
const maxSchemaDepth = 200

// anyNames makes the library accept names with characters other than ASCII letters, digits and _. The Java library, which accepts any Unicode letter,
// writes them. The library's switch is global to the process.
var anyNames = sync.OnceFunc(func() { hamba.SkipNameValidation = true })

// parseSchema builds the nodes of a schema, whose top type must be a record.
func parseSchema(text []byte) (*node, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	v, err := bare(v, 0)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	anyNames()
	schema, err := hamba.ParseBytesWithCache(plain, "", &hamba.SchemaCache{})
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid: %s", setting.Shorten(err.Error(), 300))
	}
	b := builder{named: map[string]*node{}}
	root, err := b.node(schema)
	if err != nil {
		return nil, err
	}
	if root.kind != kindRecord {
		return nil, fmt.Errorf("the file has values of type %s, not records", root.typeName())
	}
	root.measure(map[*node]bool{})
	return root, nil
}

// bare removes attributes that do not affect the stored data: defaults, aliases, orders and documentation. The library rejects a file for a default
// that does not fit its type, such as null for ["string","null"], which is common, and for an empty name, which polars gives the top record.
func bare(v any, depth int) (any, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("the schema has types nested more than %d deep", maxSchemaDepth)
	}
	var err error
	switch v := v.(type) {
	case []any: // a union
		for i := range v {
			if v[i], err = bare(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range []string{"default", "aliases", "order", "doc"} {
			delete(v, key)
		}
		if depth == 0 && v["name"] == "" {
			v["name"] = "unnamed"
		}
		for _, key := range []string{"type", "items", "values"} {
			if t, ok := v[key]; ok {
				if v[key], err = bare(t, depth+1); err != nil {
					return nil, err
				}
			}
		}
		fields, _ := v["fields"].([]any)
		for i := range fields {
			if fields[i], err = bare(fields[i], depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// A builder converts the library's schema to nodes, one for each named type.
type builder struct{ named map[string]*node }

// primitives has the kinds of the primitive types.
var primitives = map[hamba.Type]kind{hamba.Null: kindNull, hamba.Boolean: kindBoolean, hamba.Int: kindInt, hamba.Long: kindLong, hamba.Float: kindFloat, hamba.Double: kindDouble,
	hamba.Bytes: kindBytes, hamba.String: kindString}

func (b *builder) node(s hamba.Schema) (*node, error) {
	var err error
	if named, ok := s.(hamba.NamedSchema); ok && b.named[named.FullName()] != nil {
		return b.named[named.FullName()], nil
	}
	switch s := s.(type) {
	case *hamba.RefSchema:
		return b.node(s.Schema())
	case *hamba.NullSchema:
		return &node{kind: kindNull}, nil
	case *hamba.PrimitiveSchema:
		k, ok := primitives[s.Type()]
		if !ok {
			return nil, fmt.Errorf("the schema has an unknown type %s", printable(string(s.Type())))
		}
		n := &node{kind: k}
		n.setLogical(s.Logical(), s.Prop)
		return n, nil
	case *hamba.FixedSchema:
		if s.Size() < 0 || s.Size() > 1<<30 {
			return nil, errors.New("the schema has a fixed of more than 1 GiB")
		}
		n := &node{kind: kindFixed, size: s.Size(), name: s.FullName()}
		n.setLogical(s.Logical(), s.Prop)
		b.named[s.FullName()] = n
		return n, nil
	case *hamba.EnumSchema:
		n := &node{kind: kindEnum, symbols: s.Symbols(), name: s.FullName()}
		b.named[s.FullName()] = n
		return n, nil
	case *hamba.ArraySchema:
		n := &node{kind: kindArray}
		n.items, err = b.node(s.Items())
		return n, err
	case *hamba.MapSchema:
		n := &node{kind: kindMap}
		n.items, err = b.node(s.Values())
		return n, err
	case *hamba.UnionSchema:
		n := &node{kind: kindUnion}
		for _, t := range s.Types() {
			branch, err := b.node(t)
			if err != nil {
				return nil, err
			}
			n.branches = append(n.branches, branch)
		}
		return n, nil
	case *hamba.RecordSchema:
		n := &node{kind: kindRecord, name: s.FullName()}
		b.named[s.FullName()] = n
		for _, f := range s.Fields() {
			t, err := b.node(f.Type())
			if err != nil {
				return nil, err
			}
			n.fields = append(n.fields, field{name: f.Name(), node: t})
		}
		return n, nil
	}
	return nil, errors.New("the schema has an unknown type")
}
