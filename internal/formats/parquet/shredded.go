package parquet

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"

	"bulkload/internal/formats/valuetext"
)

// A VARIANT is a group of metadata, value and typed_value. typed_value has separate columns for values of one type; if that is an object, value may
// have further fields of the object. The fields of such an object, and the items of a list, are again groups of a value and a typed_value.

func variantOf(n *schemaNode, o *textRules, add func(*schemaNode, columnType) int) (*shape, error) {
	s := &shape{kind: shapeVariant, def: n.def}
	if o.zone != nil {
		s.typ.zone = o.zone
	}
	err := s.parts(n, o, add)
	if err == nil && s.meta == nil {
		err = errParts
	}
	return s, err
}

var errParts = errors.New("its VARIANT does not have the parts metadata, value and typed_value")

// parts sets the parts of a VARIANT, or of a field or an item of one.
func (s *shape) parts(n *schemaNode, o *textRules, add func(*schemaNode, columnType) int) error {
	if len(n.kids) == 0 {
		return errParts
	}
	for i, kid := range n.kids {
		var k *shape
		var err error
		octets := kid.leaf() && kid.physical == physicalBytes && kid.repetition != repRepeated
		switch {
		case kid.name == "metadata" && octets && s.kind == shapeVariant && s.meta == nil:
			k = leafOf(kid, columnType{bytes: true, def: kid.def, rep: kid.rep}, add)
			s.meta = k
		case kid.name == "value" && octets && s.rest == nil:
			k = leafOf(kid, columnType{bytes: true, def: kid.def, rep: kid.rep}, add)
			s.rest = k
		case kid.name == "typed_value" && s.typed == nil:
			if k, err = typedOf(kid, o, add); err != nil {
				return err
			}
			s.typed = k
		default:
			return errParts
		}
		if i == 0 {
			s.first = k.first
		}
		s.end = k.end
	}
	return nil
}

// leafOf returns the shape of a column of values.
func leafOf(n *schemaNode, t columnType, add func(*schemaNode, columnType) int) *shape {
	s := &shape{kind: shapeLeaf, def: n.def, typ: t}
	s.leaf = add(n, t)
	s.first, s.end = s.leaf, s.leaf+1
	return s
}

func typedOf(n *schemaNode, o *textRules, add func(*schemaNode, columnType) int) (*shape, error) {
	part := func(n *schemaNode) (*shape, error) {
		s := &shape{kind: shapePart, def: n.def, name: append(valuetext.AppendJSON(nil, n.name), ':'), key: []byte(n.name)}
		return s, s.parts(n, o, add)
	}
	switch r := n.listed(); {
	case n.repetition == repRepeated:
		return nil, errParts
	case n.leaf():
		t, err := typeOf(n, o)
		if err != nil {
			return nil, fmt.Errorf("within it %s: %w", valuetext.Name(n.name), err)
		}
		t.variant = true
		return leafOf(n, t, add), nil
	case r != nil && len(r.kids) == 1 && r.kids[0].repetition != repRepeated:
		return listOf(r, n.def, func() (*shape, error) { return part(r.kids[0]) })
	}
	s := &shape{kind: shapeStruct, def: n.def}
	for i, kid := range n.kids {
		k, err := part(kid)
		if err != nil || kid.repetition == repRepeated {
			return nil, errors.Join(err, errParts)
		}
		if i == 0 {
			s.first = k.first
		}
		s.kids, s.end = append(s.kids, k), k.end
	}
	return s, nil
}

// octets returns the value of a leaf of bytes, nil if it is null.
func (w *nestedWriter) octets(s *shape, rep int) ([]byte, error) {
	def, err := w.look(s, rep)
	if err != nil {
		return nil, err
	}
	l := &w.leaves[s.leaf]
	l.at++
	if def < s.def {
		return nil, nil
	}
	return l.spans[l.at-1].Of(l.arena.buf), nil
}

// variant appends a VARIANT that is not null.
func (w *nestedWriter) variant(dst []byte, s *shape, rep int) ([]byte, error) {
	meta, err := w.octets(s.meta, rep)
	if err != nil {
		return dst, err
	}
	v := variantWriter{zone: s.typ.zone, most: w.most}
	if v.variantNames, err = parseVariantNames(meta); err != nil {
		return dst, err
	}
	dst, there, err := w.part(dst, s, rep, &v)
	if err == nil && !there {
		dst = append(dst, "null"...)
	}
	return dst, err
}

// part appends the combined value of a group's value and typed_value, and reports whether there is one.
func (w *nestedWriter) part(dst []byte, s *shape, rep int, v *variantWriter) (_ []byte, there bool, err error) {
	var rest []byte
	if s.rest != nil {
		if rest, err = w.octets(s.rest, rep); err != nil {
			return dst, false, err
		}
	}
	typed := s.typed
	if typed != nil {
		def, err := w.look(typed, rep)
		if err != nil {
			return dst, false, err
		}
		if def < typed.def {
			if err := w.pass(typed, rep, typed.def); err != nil {
				return dst, false, err
			}
			typed = nil
		}
	}
	switch {
	case typed != nil && typed.kind == shapeStruct:
		dst, err = w.object(dst, typed, rep, rest, v)
		return dst, true, err
	case typed != nil && rest != nil:
		return dst, false, errVariantValue
	case typed != nil && typed.kind == shapeList:
		dst, err = w.list(dst, typed, rep, v)
		return dst, true, err
	case typed != nil:
		l := &w.leaves[typed.leaf]
		text := l.value()
		if len(text) > w.most-len(dst) {
			return dst, false, errLongJSON
		}
		l.at++
		return typed.typ.appendVariantText(dst, text), true, nil
	case rest != nil:
		dst, err = v.value(dst, rest, 0)
		return dst, true, err
	}
	return dst, false, nil
}

func (w *nestedWriter) list(dst []byte, s *shape, rep int, v *variantWriter) ([]byte, error) {
	return w.items(dst, s, rep, func(dst []byte, rep int) ([]byte, error) {
		dst, there, err := w.part(dst, s.kids[0], rep, v)
		if err == nil && !there {
			dst = append(dst, "null"...)
		}
		return dst, err
	})
}

// object appends the fields that have columns and the fields of rest, in the order of their names.
func (w *nestedWriter) object(dst []byte, s *shape, rep int, rest []byte, v *variantWriter) ([]byte, error) {
	type member struct {
		name     []byte
		from, to int
	}
	var members []member
	dst = append(dst, '{')
	start := len(dst)
	for _, kid := range s.kids {
		from := len(dst)
		grown, there, err := w.part(append(dst, kid.name...), kid, rep, v)
		if err != nil {
			return grown, err
		}
		if dst = grown; !there {
			dst = dst[:from]
			continue
		}
		members = append(members, member{kid.key, from, len(dst)})
	}
	if rest != nil {
		err := v.fields(rest, func(name, b []byte) (err error) {
			from := len(dst)
			dst = append(valuetext.AppendJSON(dst, name), ':')
			if dst, err = v.value(dst, b, 0); err == nil {
				members = append(members, member{name, from, len(dst)})
			}
			return err
		})
		if err != nil {
			return dst, err
		}
	}
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	text := bytes.Clone(dst[start:])
	dst = dst[:start]
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text[m.from-start:m.to-start]...)
	}
	return append(dst, '}'), nil
}

// appendVariant writes a plain value of a typed_value as JSON. The value is not bytes or text.
func (t *columnType) appendVariant(dst, b []byte) []byte {
	switch t.kind {
	case kindFloat:
		return appendJava(dst, float64(math.Float32frombits(uint32(t.int(b)))), 32)
	case kindDouble:
		return appendJava(dst, math.Float64frombits(uint64(t.int(b))), 64)
	case kindDecimal, kindDecimalInt:
		return trimZeros(t.appendText(dst, b), t.scale)
	case kindBool, kindInt, kindUint:
		return t.appendText(dst, b)
	case kindTimestamp:
		if t.zone != nil {
			return append(appendOffsetTime(append(dst, '"'), t.int(b), int64(t.unit), t.zone), '"')
		}
	}
	return append(t.appendText(append(dst, '"'), b), '"')
}

// appendVariantText writes the output of appendVariant, or bytes or text, as JSON.
func (t *columnType) appendVariantText(dst, text []byte) []byte {
	switch {
	case t.kind != kindText:
		return append(dst, text...)
	case t.text:
		return valuetext.AppendJSON(dst, text)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), text), '"')
}
