package inspect

import profiles "bulkload/internal/formats/profile"

// Report is the result of an inspection. Its JSON form is for programs: fields may be added, and none changes within a schema.
type Report struct {
	Schema  int       `json:"schema"`            // 1
	Inputs  []string  `json:"inputs"`            // as they were given
	Format  string    `json:"format,omitempty"`  // text, json, avro or parquet; empty: nothing can be read, or several
	Dialect *Settings `json:"dialect,omitempty"` // of text, where there is no doubt
	Writer  string    `json:"writer,omitempty"`  // what would have written it so, first of those that would
	Charset string    `json:"charset,omitempty"` // of text
	Reason  string    `json:"charset_reason,omitempty"`
	Files   []File    `json:"files"`              // that can be read
	Refused []Refusal `json:"refused,omitempty"`  // what a job would refuse
	LeftOut []LeftOut `json:"left_out,omitempty"` // what a job would not look at
	Sample  Sample    `json:"sample"`
	Columns []Column  `json:"columns,omitempty"`
	Nulls   []Null    `json:"nulls,omitempty"`
	Keys    []Key     `json:"keys,omitempty"`
	Doubts  []Doubt   `json:"doubts,omitempty"`
	Notes   []string  `json:"notes,omitempty"`

	Profile *profiles.Profile `json:"profile,omitempty"` // if one was asked for
	Expect  []byte            `json:"-"`                 // the section expect of the job file; nil: it has none

	header  string
	reading *reading
	names   []string // of text without header
	unnamed bool     // their first is not in the header
	extra   bool     // files differ in their columns
	ignore  bool     // columns whose type has no text are left out
}

// File is one that can be read.
type File struct {
	Path        string            `json:"path"`
	Size        int64             `json:"size"`
	Format      string            `json:"format"`
	Compression string            `json:"compression,omitempty"`
	Sampled     int64             `json:"sampled_bytes"` // unpacked; 0: it was only listed
	Whole       bool              `json:"whole"`         // the sample is all of it
	Rows        int64             `json:"rows"`          // of the sample
	Partitions  map[string]string `json:"partitions,omitempty"`
	Lacks       []string          `json:"lacks,omitempty"` // columns that other files have
}

// Refusal names an input that cannot be read, with the reason.
type Refusal struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// LeftOut counts files that are ignored since they are not data.
type LeftOut struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// Sample describes the part of the input that was read.
type Sample struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // unpacked
	Rows  int64 `json:"rows"`
	Whole bool  `json:"whole"` // it is all of the files
}

// Column is a column, or a value within a nested one.
type Column struct {
	Name      string   `json:"name"`
	Type      Type     `json:"type"`
	Partition bool     `json:"partition,omitempty"`
	Within    string   `json:"within,omitempty"` // the nested column that it is part of
	Nulls     int64    `json:"nulls"`
	Empty     int64    `json:"empty"`    // texts
	Distinct  int64    `json:"distinct"` // among the rows that keys are looked for in
	Values    []string `json:"values,omitempty"`
	cell      cellType
}

// Null is a text that may stand for NULL.
type Null struct {
	Text   string `json:"text"`
	Quoted bool   `json:"quoted,omitempty"`
	Count  int64  `json:"count"`
	IsNull bool   `json:"is_null"`
}

// Key is a column, or a pair, whose values differ from row to row of the sample.
type Key struct {
	Columns  []string `json:"columns"`
	Distinct int64    `json:"distinct"`
	Rows     int64    `json:"rows"`
	Nulls    int64    `json:"nulls"` // rows without a value of one of them
}

// Doubt is a question that the sample does not decide. The user must decide it before a job runs.
type Doubt struct {
	About    []string  `json:"about"` // fields of a job file
	Text     string    `json:"text"`
	Readings []Reading `json:"readings,omitempty"`
	Place    *Place    `json:"place,omitempty"` // where readings differ
}

// Reading is one of several.
type Reading struct {
	Text     string    `json:"text"`
	Dialect  string    `json:"dialect,omitempty"`
	Settings []Setting `json:"settings,omitempty"`
	Columns  int       `json:"columns,omitempty"`
	Rows     int64     `json:"rows,omitempty"`
}

// Place is a place in a file.
type Place struct {
	File   string `json:"file"`
	Byte   int64  `json:"byte"` // of the text in UTF-8, unpacked
	Record int64  `json:"record,omitempty"`
	Column int    `json:"column,omitempty"` // from 1
}
