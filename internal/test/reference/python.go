package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// jsonType is the JSON schema of a value.
type jsonType struct {
	Ref         string `json:"$ref"`
	Type        any
	Const       any
	Enum        []string
	Items       *jsonType
	AnyOf       []*jsonType
	Required    []string
	Properties  map[string]*jsonType
	Defs        map[string]*jsonType `json:"$defs"`
	Description string
}

// pythonTypes generates Python classes for the objects of a schema.
type pythonTypes struct {
	root    *jsonType
	classes bytes.Buffer
	done    map[string]bool
}

// PythonTypes returns python/bulkload/src/bulkload/results.py: the types of the result object, from its JSON schema.
func PythonTypes(schema []byte) ([]byte, error) {
	p := &pythonTypes{root: &jsonType{}, done: map[string]bool{}}
	if err := json.Unmarshal(schema, p.root); err != nil {
		return nil, fmt.Errorf("schema of results: %w", err)
	}
	p.class("Result", p.root)
	return append([]byte(`"""The result object of a command that works on a job. Made by "make docs" from docs/result.schema.json; docs/result.md says more."""

from __future__ import annotations

from typing import Literal, Optional, TypedDict
`), p.classes.Bytes()...), nil
}

// class writes a class, and the classes of the objects in it. Optional fields are in a separate class, which Python
// 3.9 requires.
func (p *pythonTypes) class(name string, s *jsonType) {
	if p.done[name] {
		return
	}
	p.done[name] = true
	required, optional := pythonFields{}, pythonFields{}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		of, inner := s.Properties[field], name+camel(field)
		if name == "Result" {
			inner = camel(field)
		}
		into := &optional
		if slices.Contains(s.Required, field) {
			into = &required
		}
		into.names, into.types, into.about = append(into.names, field), append(into.types, p.of(of, inner)), append(into.about, of.Description)
	}
	switch {
	case optional.names == nil:
		required.class(&p.classes, name, "TypedDict", "")
	case required.names == nil:
		optional.class(&p.classes, name, "TypedDict", ", total=False")
	default:
		required.class(&p.classes, "_"+name, "TypedDict", "")
		optional.class(&p.classes, name, "_"+name, ", total=False")
	}
}

// pythonFields are fields of a class.
type pythonFields struct{ names, types, about []string }

// class writes the class. A class with a field that is a Python keyword can only be written in the form of a call.
func (f *pythonFields) class(b *bytes.Buffer, name, base, total string) {
	open, field, end := fmt.Sprintf("\n\nclass %s(%s%s):\n", name, base, total), "    %s: %s", ""
	if slices.Contains(f.names, "from") {
		open, field, end = fmt.Sprintf("\n\n%s = %s(%q, {\n", name, base, name), "    %q: %q,", "}"+total+")\n"
	}
	b.WriteString(open)
	for i := range f.names {
		fmt.Fprintf(b, field, f.names[i], f.types[i])
		if f.about[i] != "" {
			fmt.Fprintf(b, "  # %s", f.about[i])
		}
		b.WriteString("\n")
	}
	b.WriteString(end)
}

// of returns the type of a value; name is the name of its class, if it is an object.
func (p *pythonTypes) of(s *jsonType, name string) string {
	switch {
	case s.Ref != "":
		place, at := refersTo(s.Ref)
		of := p.root.Properties[at]
		if place == "$defs" {
			of = p.root.Defs[at]
		}
		return p.of(of, camel(at))
	case len(s.AnyOf) == 2: // null or another type
		return "Optional[" + p.of(s.AnyOf[1], name) + "]"
	case s.Const == true:
		return "Literal[True]"
	case s.Const != nil:
		return fmt.Sprintf("Literal[%v]", s.Const)
	case s.Enum != nil:
		return `Literal["` + strings.Join(s.Enum, `", "`) + `"]`
	case s.Items != nil:
		return "list[" + p.of(s.Items, strings.TrimSuffix(name, "s")) + "]"
	case s.Properties != nil:
		p.class(name, s)
		return name
	}
	return map[any]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[s.Type]
}

// refersTo splits a reference, such as #/$defs/digest, into its place and its name.
func refersTo(ref string) (place, name string) {
	place, name, _ = strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	return place, name
}

// camel returns a field's name in the form of a class name.
func camel(field string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(field, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
