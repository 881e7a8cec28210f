package spec

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strings"

	"bulkload/internal/formats/yamlfile"
	"bulkload/internal/model/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Options are settings of the program from a file, in the file's order: the section options of a job file, or a whole configuration file. This package
// does not interpret them.
type Options []Option

// An Option is one setting of a file.
type Option struct {
	Name   string   // as in the file
	Values []string // as written, without quotes: the elements of a list, or a single value
	Line   int      // line in the file, from 1
}

// ParseOptions parses a configuration file: a mapping of names to texts, numbers, booleans and lists of them. name is used in messages.
func ParseOptions(name string, data []byte) (Options, error) {
	body, err := yamlfile.Body(data)
	if err != nil {
		return nil, fail.Errorf(fail.Config, "configuration file %s", yamlText(name, err))
	}
	var o Options
	if body == nil {
		return nil, nil
	}
	if err := o.UnmarshalYAML(body); err != nil {
		return nil, fail.Errorf(fail.Config, "configuration file %s", yamlText(name, err))
	}
	return o, nil
}

// UnmarshalYAML decodes a mapping of scalars and lists of scalars.
func (o *Options) UnmarshalYAML(node ast.Node) error {
	*o = nil
	if node.Type() == ast.NullType {
		return nil
	}
	m, ok := node.(ast.MapNode)
	if !ok {
		return yamlfile.BadNode(node, "settings are names with values, such as memory: 2GiB")
	}
	for it := m.MapRange(); it.Next(); {
		key := it.Key()
		option := Option{Name: key.GetToken().Value, Line: key.GetToken().Position.Line}
		values := []ast.Node{it.Value()}
		if list, ok := it.Value().(*ast.SequenceNode); ok {
			values = list.Values
		}
		for _, v := range values {
			text, err := scalar(option.Name, v)
			if err != nil {
				return err
			}
			option.Values = append(option.Values, text)
		}
		*o = append(*o, option)
	}
	return nil
}

// scalar returns the text of a value as it was written: 08 stays 08.
func scalar(name string, node ast.Node) (string, error) {
	if text, ok := yamlfile.Text(node); ok {
		return text, nil
	}
	switch node.(type) {
	case *ast.NullNode:
		return "", yamlfile.BadNode(node, name+" has no value")
	case ast.MapNode:
		return "", yamlfile.BadNode(node, name+" has settings below it: there are no sections here, write them next to the others")
	}
	return "", yamlfile.BadNode(node, name+" takes a text, a number, true or false, or a list of them")
}

// yamlText returns an error of the parser in one line: the file, the line, the column, and the message.
func yamlText(name string, err error) string {
	text, _, _ := strings.Cut(strings.TrimSpace(yaml.FormatError(err, false, false)), "\n")
	if place, rest, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(place, "[") {
		text = name + ":" + place[1:] + ": " + rest
	} else {
		text = name + ": " + text
	}
	for line := range strings.Lines(yaml.FormatError(err, false, true)) {
		if strings.HasPrefix(line, ">") && strings.Contains(line, "{{") {
			return text + " (a text that begins with {{, or stands in [ ], needs quotes: '{{ .Date }}')"
		}
	}
	if _, name, ok := strings.Cut(text, `unknown field "`); ok {
		name = strings.TrimSuffix(name, `"`)
		if near := keygen.Nearest(strings.ToLower(name), fieldNames(reflect.TypeFor[Spec]())); len(near) == 1 {
			if near[0] == name {
				return text + ": " + name + " is a field of " + strings.Join(fieldPlaces(name, "the job file", reflect.TypeFor[Spec]()), " and ")
			}
			return text + ": did you mean " + near[0] + "?"
		}
	}
	return text
}

// fieldPlaces returns the places of a field of this name: the given place, whose fields are those of t, and the fields whose lists and maps have it.
func fieldPlaces(name, place string, t reflect.Type) (places []string) {
	for own, of := range yamlFields(t) {
		more := []string{place}
		if own != name {
			more = fieldPlaces(name, cmp.Or(own, place), of)
		}
		for _, p := range more {
			if !slices.Contains(places, p) {
				places = append(places, p)
			}
		}
	}
	return places
}

// fieldNames returns the names of fields in a job file, including fields of its lists and maps.
func fieldNames(t reflect.Type) []string {
	var names []string
	for name, of := range yamlFields(t) {
		for _, n := range append([]string{name}, fieldNames(of)...) {
			if n != "" && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// yamlFields returns the names and types of the fields of a struct, or of the structs in a list or map.
func yamlFields(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			if t.Field(i).Tag.Get("yaml") != "" && !yield(name, t.Field(i).Type) {
				return
			}
		}
	}
}

// FieldLines returns the line of each field in a job file. It is empty if data is not a job file.
func FieldLines(data []byte) map[string]int {
	lines := map[string]int{}
	f, err := yamlfile.Parse(data)
	if err != nil {
		return lines
	}
	for _, doc := range f.Docs {
		m, ok := doc.Body.(ast.MapNode)
		if !ok {
			continue
		}
		for it := m.MapRange(); it.Next(); {
			lines[it.Key().GetToken().Value] = it.Key().GetToken().Position.Line
		}
	}
	return lines
}

// RestartHint explains how to start a job over with another input or other settings.
func RestartHint() setting.Text {
	return setting.Textf("%s discards the checkpoint and starts over; another %s makes another job", setting.Restart, setting.JobID)
}
