package spec

import (
	"strings"
)

// FieldType is the type of a field in a job file.
type FieldType string

// The types of fields, by their names in documents.
const (
	FieldText     FieldType = "text"
	FieldScalar   FieldType = "text or number" // numbers are kept as written
	FieldNumber   FieldType = "number"         // an integer
	FieldSize     FieldType = "size"           // see [ParseSize]
	FieldBool     FieldType = "true or false"
	FieldTexts    FieldType = "list of texts"
	FieldObject   FieldType = "object"
	FieldObjects  FieldType = "list of objects"
	FieldSettings FieldType = "settings" // flags of the program, see [Options]
)

// A SpecField is one field of a job file, for its reference, its schema and
// lists of settings.
type SpecField struct {
	Name    string      // as in the job file
	Type    FieldType   // of the value
	Default string      // the default: a value, or a description of what a missing field means
	Fill    bool        // [Spec.Resolve] sets the default
	Doc     string      // one or two sentences, without the default
	Enum    []string    // the only texts that are allowed; empty: any
	Fields  []SpecField // of an object, or of each object of a list
	One     bool        // of a list of texts: the file may have one text instead, as [Texts] takes it

	Check func(text string) error // checks a nonempty text; nil: the field has an Enum, or is checked together with others
	Dated bool                    // dates in {{ }} are expanded

	Usage     string   // help text of its flag, settings in backquotes; empty: no flag
	Part      Part     // part of the job that the flag belongs to
	Commas    bool     // the flag of a list takes several values, separated by commas
	Repeated  bool     // also with Commas: the flag may be repeated
	Suggested []string // values that shell completion offers, although others are allowed too
}

// A Part is the part of a job that a field belongs to. A command has flags for the fields of the parts that it uses.
type Part int

// The parts.
const (
	OfRecords  Part = iota // the inputs, and how their records are handled
	OfTable                // the format of the table's rows: all that a reader needs
	OfText                 // the format of text
	OfReplaced             // how the table's existing rows are handled
	OfQueries              // the query of a reader
	OfLoad                 // how files are loaded and then verified
)

// Flag returns the name of the flag that overrides the field, without dashes; empty: none.
func (f SpecField) Flag() string {
	switch {
	case f.Usage == "":
		return ""
	case f.Name == "inputs":
		return "input"
	}
	return strings.ReplaceAll(f.Name, "_", "-")
}

// A FieldError is an error about the value of a job file's field, wherever the
// value was given.
type FieldError struct {
	Field string // as in the job file
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }
