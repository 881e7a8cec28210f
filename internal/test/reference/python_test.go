package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/test/testcheck"

	"github.com/google/go-cmp/cmp"
)

const pythonPackage = "../../../python/bulkload/src/bulkload/"

// TestPythonTypes checks that the Python package has the fields of the published schema, and that the schema has
// those of the program's own results.
func TestPythonTypes(t *testing.T) {
	schema, err := os.ReadFile("../../../docs/result.schema.json")
	testcheck.Must(t, err)
	want, err := PythonTypes(schema)
	testcheck.Must(t, err)
	const file = pythonPackage + "results.py"
	if *update {
		testcheck.Must(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	testcheck.Must(t, err)
	if d := cmp.Diff(string(have), string(want)); d != "" {
		t.Errorf("results.py is stale, make docs writes it again:\n%s", d)
	}
	root := &jsonType{}
	testcheck.Must(t, json.Unmarshal(schema, root))
	golden, err := os.ReadFile("../../model/result/testdata/result.json")
	testcheck.Must(t, err)
	var full any
	testcheck.Must(t, json.Unmarshal(golden, &full))
	for _, lacking := range root.lacks(root, "", full) {
		t.Errorf("docs/result.schema.json lacks %s, or has another type for it", lacking)
	}
}

// lacks lists the fields of a value that its type does not have. A summary has no list of files.
func (s *jsonType) lacks(root *jsonType, at string, v any) (all []string) {
	if s == nil {
		return []string{at}
	}
	if s.Ref != "" {
		place, name := refersTo(s.Ref)
		s = map[string]*jsonType{"$defs": root.Defs[name], "properties": root.Properties[name]}[place]
	}
	if len(s.AnyOf) == 2 {
		return s.AnyOf[1].lacks(root, at, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if !strings.HasSuffix(at, "manifest") || name != "files" {
				all = append(all, s.Properties[name].lacks(root, at+"."+name, field)...)
			}
		}
	case []any:
		return s.Items.lacks(root, at, v[0])
	case string:
		if s.Type != "string" && s.Enum == nil {
			return []string{at}
		}
	case float64:
		if s.Type != "integer" && s.Const == nil {
			return []string{at}
		}
	}
	return all
}

// TestPythonErrors checks that the package has an exception for each kind of failure, by its exit code, with its
// name, and with whether a retry may help.
func TestPythonErrors(t *testing.T) {
	b, err := os.ReadFile(pythonPackage + "errors.py")
	testcheck.Must(t, err)
	classes := strings.Split(string(b), "\n\n\nclass ")
	for _, k := range fail.Kinds() {
		retry := map[bool]string{true: "True", false: "False"}[k.Retry()]
		says := fmt.Sprintf("Exit code %d", k.ExitCode())
		is := fmt.Sprintf("kind, retry = %q, %s\n", k, retry)
		if k == fail.Unexpected { // the base class covers it
			is = `kind: ClassVar[str] = "unexpected"`
		}
		at := slices.IndexFunc(classes, func(c string) bool { return strings.Contains(c+"\n", is) })
		if at < 0 {
			t.Errorf("no class has %s", is)
			continue
		}
		name, _, _ := strings.Cut(classes[at], "(")
		if k == fail.Unexpected {
			name = "UnexpectedError"
		} else if !strings.Contains(classes[at], says+":") {
			t.Errorf("%s does not say %s", name, says)
		}
		if !strings.Contains(string(b), fmt.Sprintf("%d: %s", k.ExitCode(), name)) {
			t.Errorf("exit code %d does not raise %s", k.ExitCode(), name)
		}
	}
}

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
