package spec

import (
	"strings"
)

// FieldType is the type of a field of a job file.
type FieldType string

// The types of fields, named as people read them.
const (
	FieldText     FieldType = "text"
	FieldScalar   FieldType = "text or number" // numbers are taken as they are written
	FieldNumber   FieldType = "number"         // whole
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
	Name    string      // as in the file
	Type    FieldType   // of its value
	Default string      // what a file without it means, in words where it is not a value
	Fill    bool        // [Spec.Resolve] puts the default in
	Doc     string      // one or two sentences, without the default
	Enum    []string    // the only texts that are taken; empty: any
	Fields  []SpecField // of an object, or of each object of a list

	Check func(text string) error // what else is wrong with a text that is not empty; nil: it has Enum, or is checked with others
	Dated bool                    // {{ }} in it is filled in

	Usage    string   // help text of its flag, settings in backquotes; empty: it has none
	Part     Part     // that the flag belongs to
	Commas   bool     // the flag of a list takes several values, separated by commas
	Repeated bool     // also where Commas: it may be given again
	Such     []string // values that a shell offers, where others are taken too
}

// A Part is the part of a job that a field configures. A command has the flags of the parts that it works with.
type Part int

// The parts.
const (
	OfRecords  Part = iota // the inputs, and what becomes of their records
	OfTable                // what rows of the table look like: all that a reader needs
	OfText                 // how text is written
	OfReplaced             // what becomes of the rows that the table has
	OfQueries              // what a reader gives
	OfLoad                 // how the files are loaded, and checked afterwards
)

// Flag returns the flag that overrides the field, without dashes; empty: none.
func (f SpecField) Flag() string {
	switch {
	case f.Usage == "":
		return ""
	case f.Name == "inputs":
		return "input"
	}
	return strings.ReplaceAll(f.Name, "_", "-")
}
