package schema

import (
	"cmp"
	"slices"
	"strings"

	"bulkload/internal/cli/settings"
	"bulkload/internal/model/spec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Schema is a JSON schema, with the keywords that this program uses.
type Schema struct {
	Draft       string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"` // a name or a list of them
	Enum        []any              `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"` // for strings only
	Minimum     *int               `json:"minimum,omitempty"` // for numbers only
	Maximum     *int               `json:"maximum,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Additional  *bool              `json:"additionalProperties,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Deprecated  bool               `json:"deprecated,omitempty"`
}

// types returns the types of a value that may be absent, as null is in YAML.
func types(names ...string) []string { return append(names, "null") }

// written returns the types of a text, which is taken as it is written: 5 and true are texts too.
func written() []string { return []string{"string", "number", "boolean"} }

const (
	integerPattern  = `^[+-]?[0-9]+$`
	draft           = "https://json-schema.org/draft/2020-12/schema"
	sizePattern     = `^\s*[0-9]+(\.[0-9]+)?\s*([kKmMgGtT]([iI]?[bB])?|[bB])?\s*$`
	durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	agePattern      = `^(0|[0-9]+d|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
)

// object returns the schema of an object without other members.
func object(members map[string]*Schema) *Schema {
	closed := false
	return &Schema{Type: "object", Properties: members, Additional: &closed}
}

// Job returns the schema of job files for the program with this root command.
func Job(root *cobra.Command) *Schema {
	s := fieldsSchema(spec.SpecFields(), settingsSchema(root, true))
	for _, r := range settings.Renames() {
		if now := s.Properties[settings.FieldName(r.Now)]; now != nil {
			s.Properties[settings.FieldName(r.Old)] = &Schema{Type: now.Type, Description: "Old name of " + settings.FieldName(r.Now) + ".", Deprecated: true}
		}
	}
	s.Draft, s.Title = draft, "bulkload job file"
	s.Description = "What to load into a table, and how. Flags and environment variables override it."
	return s
}

// Config returns the schema of configuration files.
func Config(root *cobra.Command) *Schema {
	s := settingsSchema(root, false)
	s.Draft, s.Title = draft, "bulkload configuration file"
	s.Description = "Settings of a site. Job files, environment variables and flags override them."
	return s
}

// fieldsSchema returns the schema of an object with these fields. settings is the schema of a section of settings.
func fieldsSchema(fields []spec.SpecField, settings *Schema) *Schema {
	members := map[string]*Schema{}
	for _, f := range fields {
		s := &Schema{}
		switch f.Type {
		case spec.FieldNumber:
			s.Type, s.Pattern = types("integer", "string"), integerPattern
		case spec.FieldSize:
			s.Type, s.Pattern, s.Minimum = types("string", "number"), sizePattern, new(int)
		case spec.FieldBool:
			s.Type = types("boolean")
		case spec.FieldTexts:
			s.Type, s.Items = types("array"), &Schema{Type: written()}
			if f.One {
				s.Type = types(append(written(), "array")...)
			}
			if f.Name == "null_value" { // the text NULL is meant
				s.Type = append(written(), "array")
			}
		case spec.FieldObject:
			s = fieldsSchema(f.Fields, nil)
			s.Type = types("object")
		case spec.FieldObjects:
			s.Type, s.Items = types("array"), fieldsSchema(f.Fields, nil)
		case spec.FieldSettings:
			s = settings
			s.Type = types("object")
		default:
			s.Type = types(written()...)
		}
		for _, value := range f.Enum {
			s.Enum = append(s.Enum, value)
		}
		if s.Description = f.Doc; len(f.Enum) > 0 {
			s.Type, s.Enum = types("string"), append(s.Enum, nil)
		}
		if slices.Contains(f.Enum, "decimal(P,S)") { // P and S stand for any numbers
			s.Enum, s.Pattern = nil, "^("+strings.ReplaceAll(strings.Join(f.Enum, "|"), "decimal(P,S)", `decimal\([0-9]+, *[0-9]+\)`)+")$"
		}
		if f.Default != "" {
			s.Description += " Default: " + f.Default + "."
		}
		members[f.Name] = s
	}
	return object(members)
}

// settingsSchema returns the schema of the settings of a file, or of a job file's section, which leaves out fields of
// the job itself.
func settingsSchema(root *cobra.Command, section bool) *Schema {
	members := map[string]*Schema{}
	add := func(f *pflag.Flag) {
		name := settings.Snake(settings.Name(f))
		if now, old := settings.NameNow(f); old && settings.ForFiles(now, section) {
			members[name] = &Schema{Description: "Old name of " + now + ".", Deprecated: true}
		} else if settings.ForFiles(name, section) && !f.Hidden {
			s := flagSchema(f)
			if old, ok := members[name]; ok && old.Description != "" {
				s.Description = old.Description
			}
			members[name] = s
		}
	}
	// The descriptions of run have precedence over other commands' descriptions of the same name.
	if run, _, err := root.Find([]string{"run"}); err == nil {
		settings.VisitAll(run, add)
	}
	settings.VisitAll(root, add)
	return object(members)
}

func flagSchema(f *pflag.Flag) *Schema {
	text, _, _ := strings.Cut(f.Usage, "\n")
	if def := f.DefValue; def != "" && def != "false" && def != "0" && def != "[]" && def != "0s" {
		text += " (default " + def + ")"
	}
	s := &Schema{Description: cmp.Or(text, f.Name)}
	switch kind := f.Value.Type(); kind {
	case "bool":
		s.Type = "boolean"
	case "size":
		s.Type, s.Pattern = []string{"string", "integer"}, sizePattern
	case "rate":
		s.Type, s.Pattern = []string{"string", "integer"}, strings.TrimSuffix(sizePattern, `$`)+`(/s)?\s*$`
	case "duration", "age":
		s.Type, s.Pattern, s.Maximum = []string{"string", "integer"}, durationPattern, new(int) // 0 is the only number
		if kind == "age" {
			s.Pattern = agePattern
		}
	case "float64", "float32":
		s.Type = "number"
	case "stringArray", "stringSlice":
		s.Type, s.Items = []string{"string", "array"}, &Schema{Type: []string{"string", "number"}}
	default:
		s.Type = written()
		if strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint") || kind == "count" {
			s.Type = "integer"
		}
	}
	return s
}
