package lineage

import (
	"net/url"
	"strings"
	"time"
)

// schema is the URL of the definition that events follow.
const schema = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"

// Types of events.
const (
	started   = "START"
	completed = "COMPLETE"
	failed    = "FAIL"
	aborted   = "ABORT"
)

// Event is a run event of OpenLineage.
type Event struct {
	Type     string    `json:"eventType"`
	Time     string    `json:"eventTime"` // RFC 3339, formatted by stamp
	Run      run       `json:"run"`
	Job      job       `json:"job"`
	Inputs   []dataset `json:"inputs"`
	Outputs  []dataset `json:"outputs"`
	Producer string    `json:"producer"`
	Schema   string    `json:"schemaURL"`
}

// run is one attempt at a job.
type run struct {
	runID
	Facets struct {
		Engine      *engineFacet  `json:"processing_engine,omitempty"`
		NominalTime *nominalFacet `json:"nominalTime,omitempty"`
		Parent      *parentFacet  `json:"parent,omitempty"`
		Error       *errorFacet   `json:"errorMessage,omitempty"`
	} `json:"facets"`
}

// job is the job that runs belong to. Its name is the same every night.
type job struct {
	jobID
	Facets struct {
		Type          *typeFacet          `json:"jobType,omitempty"`
		Documentation *documentationFacet `json:"documentation,omitempty"`
	} `json:"facets"`
}

type dataset struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Facets    struct {
		Schema *schemaFacet `json:"schema,omitempty"`
	} `json:"facets"`
	InputFacets  *inputFacets  `json:"inputFacets,omitempty"`
	OutputFacets *outputFacets `json:"outputFacets,omitempty"`
}

// Facet has the fields that all facets share.
type Facet struct {
	Producer string `json:"_producer"`
	Schema   string `json:"_schemaURL"`
}

// engineFacet names the program that does the work.
type engineFacet struct {
	Facet
	Name    string `json:"name"`
	Version string `json:"version"`
}

// nominalFacet is the time that a run is for, as opposed to the time at which it works.
type nominalFacet struct {
	Facet
	Start string `json:"nominalStartTime"`
	End   string `json:"nominalEndTime,omitempty"`
}

// parentFacet identifies the run that started this one.
type parentFacet struct {
	Facet
	rootFacet
	Root *rootFacet `json:"root,omitempty"`
}

// rootFacet identifies a run, as the first of all runs that led to this one.
type rootFacet struct {
	Run runID `json:"run"`
	Job jobID `json:"job"`
}

type runID struct {
	ID string `json:"runId"` // a UUID
}

type jobID struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type errorFacet struct {
	Facet
	Message  string `json:"message"`
	Language string `json:"programmingLanguage"`
}

type typeFacet struct {
	Facet
	Processing  string `json:"processingType"`
	Integration string `json:"integration"`
	Type        string `json:"jobType"`
}

type documentationFacet struct {
	Facet
	Description string `json:"description"`
}

type schemaFacet struct {
	Facet
	Fields []field `json:"fields"`
}

type field struct {
	Name string `json:"name"`
}

// inputFacets are the facets of the data that a run read from a dataset.
type inputFacets struct {
	Statistics *statisticsFacet `json:"inputStatistics,omitempty"`
	Assertions *assertionsFacet `json:"dataQualityAssertions,omitempty"`
}

// assertionsFacet lists the expectations of a dataset.
type assertionsFacet struct {
	Facet
	Assertions []assertion `json:"assertions"`
}

// assertion is an expectation, with whether it was met.
type assertion struct {
	Assertion string `json:"assertion"`
	Success   bool   `json:"success"`
	Column    string `json:"column,omitempty"` // empty: the dataset as a whole
}

// outputFacets are the facets of the data that a run wrote to a dataset.
type outputFacets struct {
	Statistics *statisticsFacet `json:"outputStatistics,omitempty"`
}

type statisticsFacet struct {
	Facet
	Rows  int64 `json:"rowCount"`
	Bytes int64 `json:"size,omitempty"`      // 0: not known
	Files int64 `json:"fileCount,omitempty"` // 0: not known
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// producer is the program's version. It forms the URI that identifies the producer in all facets.
type producer string

func (p producer) URI() string { return "urn:bulkload:" + url.PathEscape(string(p)) }

// Facets that this program sends, with the versions of their definitions.
const (
	engineDef        = "1-1-1/ProcessingEngineRunFacet"
	nominalDef       = "1-0-1/NominalTimeRunFacet"
	parentDef        = "1-2-0/ParentRunFacet"
	errorDef         = "1-0-1/ErrorMessageRunFacet"
	typeDef          = "2-0-4/JobTypeJobFacet"
	documentationDef = "1-1-0/DocumentationJobFacet"
	schemaDef        = "1-2-0/SchemaDatasetFacet"
	inputDef         = "1-0-0/InputStatisticsInputDatasetFacet"
	assertionsDef    = "1-0-1/DataQualityAssertionsDatasetFacet"
	outputDef        = "1-0-2/OutputStatisticsOutputDatasetFacet"
)

// Facet returns the common fields of a facet of a definition.
func (p producer) Facet(def string) Facet {
	_, name, _ := strings.Cut(def, "/")
	return Facet{Producer: p.URI(), Schema: "https://openlineage.io/spec/facets/" + def + ".json#/$defs/" + name}
}
