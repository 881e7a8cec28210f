package lineage

import (
	"net/url"
	"strings"
	"time"
)

// Schema is the definition that events follow.
const Schema = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"

// Types of events.
const (
	Start    = "START"
	Complete = "COMPLETE"
	Fail     = "FAIL"
	Abort    = "ABORT"
)

// Event is one word about a run.
type Event struct {
	Type     string    `json:"eventType"`
	Time     string    `json:"eventTime"` // RFC 3339, see [Stamp]
	Run      Run       `json:"run"`
	Job      Job       `json:"job"`
	Inputs   []Dataset `json:"inputs"`
	Outputs  []Dataset `json:"outputs"`
	Producer string    `json:"producer"`
	Schema   string    `json:"schemaURL"`
}

// Run is one attempt at a job.
type Run struct {
	ID     string    `json:"runId"` // a UUID
	Facets RunFacets `json:"facets"`
}

// Job is what runs are of. Its name is the same night after night.
type Job struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Facets    JobFacets `json:"facets"`
}

// Dataset is an input or an output.
type Dataset struct {
	Namespace    string        `json:"namespace"`
	Name         string        `json:"name"`
	Facets       DatasetFacets `json:"facets"`
	InputFacets  *InputFacets  `json:"inputFacets,omitempty"`
	OutputFacets *OutputFacets `json:"outputFacets,omitempty"`
}

// Facet is what all facets begin with.
type Facet struct {
	Producer string `json:"_producer"`
	Schema   string `json:"_schemaURL"`
}

// RunFacets are facts about a run.
type RunFacets struct {
	Engine      *EngineFacet  `json:"processing_engine,omitempty"`
	NominalTime *NominalFacet `json:"nominalTime,omitempty"`
	Parent      *ParentFacet  `json:"parent,omitempty"`
	Error       *ErrorFacet   `json:"errorMessage,omitempty"`
}

// EngineFacet is which program does the work.
type EngineFacet struct {
	Facet
	Name    string `json:"name"`
	Version string `json:"version"`
}

// NominalFacet is the time that a run is for, not that at which it works.
type NominalFacet struct {
	Facet
	Start string `json:"nominalStartTime"`
	End   string `json:"nominalEndTime,omitempty"`
}

// ParentFacet is the run that started this one.
type ParentFacet struct {
	Facet
	Run  RunID      `json:"run"`
	Job  JobID      `json:"job"`
	Root *RootFacet `json:"root,omitempty"`
}

// RootFacet is the first of all runs that led to this one.
type RootFacet struct {
	Run RunID `json:"run"`
	Job JobID `json:"job"`
}

// RunID names a run.
type RunID struct {
	ID string `json:"runId"`
}

// JobID names a job.
type JobID struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// ErrorFacet is why a run failed.
type ErrorFacet struct {
	Facet
	Message  string `json:"message"`
	Language string `json:"programmingLanguage"`
}

// JobFacets are facts about a job.
type JobFacets struct {
	Type          *TypeFacet          `json:"jobType,omitempty"`
	Documentation *DocumentationFacet `json:"documentation,omitempty"`
}

// TypeFacet is what kind of job it is.
type TypeFacet struct {
	Facet
	Processing  string `json:"processingType"`
	Integration string `json:"integration"`
	Type        string `json:"jobType"`
}

// DocumentationFacet is a job in words.
type DocumentationFacet struct {
	Facet
	Description string `json:"description"`
}

// DatasetFacets are facts about a dataset, whatever a run does with it.
type DatasetFacets struct {
	Schema *SchemaFacet `json:"schema,omitempty"`
}

// SchemaFacet is the columns of a dataset.
type SchemaFacet struct {
	Facet
	Fields []Field `json:"fields"`
}

// Field is a column.
type Field struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
}

// InputFacets are facts about what a run read of a dataset.
type InputFacets struct {
	Statistics *StatisticsFacet `json:"inputStatistics,omitempty"`
	Assertions *AssertionsFacet `json:"dataQualityAssertions,omitempty"`
}

// AssertionsFacet is what was expected of a dataset.
type AssertionsFacet struct {
	Facet
	Assertions []Assertion `json:"assertions"`
}

// Assertion is an expectation, and whether it is met.
type Assertion struct {
	Assertion string `json:"assertion"`
	Success   bool   `json:"success"`
	Column    string `json:"column,omitempty"` // empty: of the dataset as a whole
}

// OutputFacets are facts about what a run wrote to a dataset.
type OutputFacets struct {
	Statistics *StatisticsFacet `json:"outputStatistics,omitempty"`
}

// StatisticsFacet is amounts.
type StatisticsFacet struct {
	Facet
	Rows  int64 `json:"rowCount"`
	Bytes int64 `json:"size"`
	Files int64 `json:"fileCount"`
}

// Amount makes statistics of a facet by its definition.
func (p Producer) Amount(def string, rows, bytes, files int64) *StatisticsFacet {
	return &StatisticsFacet{Facet: p.Facet(def), Rows: rows, Bytes: bytes, Files: files}
}

// Stamp is a time as events have it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Producer is the program's version; it makes the URI by which all facets name their producer.
type Producer string

// URI names the program.
func (p Producer) URI() string { return "urn:bulkload:" + url.PathEscape(string(p)) }

// Facets that this program sends, with the versions of their definitions.
const (
	EngineDef        = "1-1-1/ProcessingEngineRunFacet"
	NominalDef       = "1-0-1/NominalTimeRunFacet"
	ParentDef        = "1-2-0/ParentRunFacet"
	ErrorDef         = "1-0-1/ErrorMessageRunFacet"
	TypeDef          = "2-0-4/JobTypeJobFacet"
	DocumentationDef = "1-1-0/DocumentationJobFacet"
	SchemaDef        = "1-2-0/SchemaDatasetFacet"
	InputDef         = "1-0-0/InputStatisticsInputDatasetFacet"
	AssertionsDef    = "1-0-1/DataQualityAssertionsDatasetFacet"
	OutputDef        = "1-0-2/OutputStatisticsOutputDatasetFacet"
)

// Facet is the head of a facet by its definition.
func (p Producer) Facet(def string) Facet {
	_, name, _ := strings.Cut(def, "/")
	return Facet{Producer: p.URI(), Schema: "https://openlineage.io/spec/facets/" + def + ".json#/$defs/" + name}
}
