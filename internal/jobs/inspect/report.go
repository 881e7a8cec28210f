package inspect

import (
	profiles "bulkload/internal/formats/profile"
	"bulkload/internal/model/spec"
)

// Report is the result of an inspection. Its JSON form is stable: fields may be added, but none changes within a schema version.
type Report struct {
	Schema  int       `json:"schema"`            // 1
	Inputs  []string  `json:"inputs"`            // as they were given
	Format  string    `json:"format,omitempty"`  // text, json, avro or parquet; empty: nothing is readable, or there are several
	Dialect *Settings `json:"dialect,omitempty"` // of text, if there is no doubt
	Writer  string    `json:"writer,omitempty"`  // the first writer that matches the text
	Charset string    `json:"charset,omitempty"` // of text
	Reason  string    `json:"charset_reason,omitempty"`
	Files   []File    `json:"files"`              // readable files
	Refused []Refusal `json:"refused,omitempty"`  // inputs that a job would refuse
	LeftOut []LeftOut `json:"left_out,omitempty"` // entries that a job would ignore
	Sample  Sample    `json:"sample"`
	Columns []Column  `json:"columns,omitempty"`
	Nulls   []Null    `json:"nulls,omitempty"`
	Keys    []Key     `json:"keys,omitempty"`
	Doubts  []Doubt   `json:"doubts,omitempty"`
	Notes   []string  `json:"notes,omitempty"`

	Profile *profiles.Profile `json:"profile,omitempty"` // if requested
	Expect  []byte            `json:"-"`                 // the section expect of the job file; nil: none

	reading *reading
	names   []string  // of text without header
	unnamed bool      // the first name is missing in the header
	extra   bool      // files have different columns
	bad     bool      // there are bad records, which the dialect or bad_records that is given leaves out
	given   spec.Spec // settings that were given
}

// File is a readable file.
type File struct {
	Path        string            `json:"path"`
	Size        int64             `json:"size"`
	Format      string            `json:"format"`
	Compression string            `json:"compression,omitempty"`
	Sampled     int64             `json:"sampled_bytes"` // uncompressed; 0: not sampled
	Whole       bool              `json:"whole"`         // the sample is the whole file
	Rows        int64             `json:"rows"`          // in the sample
	Partitions  map[string]string `json:"partitions,omitempty"`
	Lacks       []string          `json:"lacks,omitempty"` // columns that other files have and this one does not
}

// Refusal is an unreadable input, and the reason.
type Refusal struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// LeftOut counts entries that are not data.
type LeftOut struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// Sample describes the part of the input that was read.
type Sample struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // uncompressed
	Rows  int64 `json:"rows"`
	Whole bool  `json:"whole"` // the sample is all of the files
}

// Column is a column, or a value within a nested one.
type Column struct {
	Name      string   `json:"name"`
	Type      Type     `json:"type"`
	Partition bool     `json:"partition,omitempty"`
	Within    string   `json:"within,omitempty"` // the nested column that contains it
	Nulls     int64    `json:"nulls"`
	Empty     int64    `json:"empty"`    // empty texts
	Distinct  int64    `json:"distinct"` // among the rows kept for finding keys
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

// Key is a column, or a pair, whose values are distinct in the rows of the sample, or nearly so.
type Key struct {
	Columns  []string `json:"columns"`
	Distinct int64    `json:"distinct"`
	Rows     int64    `json:"rows"`
	Nulls    int64    `json:"nulls"` // rows that lack one of the values
}

// Doubt is a question that the sample does not answer: a person has to answer it before a job is run.
type Doubt struct {
	About    []string  `json:"about"` // fields of a job file
	Text     string    `json:"text"`
	Readings []Reading `json:"readings,omitempty"`
	Place    *Place    `json:"place,omitempty"` // where readings differ
}

// Reading is one of several possible readings.
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
	Byte   int64  `json:"byte"` // of the uncompressed text in UTF-8
	Record int64  `json:"record,omitempty"`
	Column int    `json:"column,omitempty"` // from 1
}
