package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/history"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

// document is the data of a report. The file leaves out empty parts.
type document struct {
	ending.Object
	Advice    string // what the user can do about a failure
	Key       string
	Timestamp int64 // of the cells, milliseconds
	Target    string

	Inputs      []progress.InputFile // the first of them
	InputFiles  int                  // all
	InputBytes  int64
	ReadAs      []string         // one line for each way of reading
	Partitions  string           // columns from directory names, and the conditions on them
	Lacking     []differingFiles // files without columns of the job
	MoreLacking int              // further such files, not listed
	PassedOver  []differingFiles // files with columns that the job does not read
	MorePassed  int
	Counts      *manifest.Manifest // totals of a build; nil: not known
	Before      int64              // of these, rows that earlier runs have written
	Expected    []expectation.Finding
	Regions     []region
	Phases      []progress.PhaseProgress // the end of one that did not end is zero
	Parts       []part                   // directories of a run that was split, instead of phases
	PartsText   string                   // number of parts in each state
	MoreParts   int                      // done, and not listed
	Samples     []sample                 // in the order of time
	Tasks       *taskList                // of a job on YARN
	Tables      []result.Table           // further tables and indexes of the job, in the order of loading
	Load        *loadCounts
	Replaced    string // rows that a run with --replace has deleted; empty: the run has no --replace
	Verify      string // result of the verification; empty: there was none
	Rejects     []reject
	RejectFile  string
	WithRecords bool // rejects include the records
	Warnings    []string
	MoreWarned  int // further warnings
	Settings    []settings.Setting
	Attempts    []history.Attempt // earlier ones
}

// differingFiles is a group of files that differ from the job's columns in the same way.
type differingFiles struct {
	Columns string
	Files   int
	First   string // the first of them
}

// region is a region of the table, in the order of keys.
type region struct {
	Start string // its first key, printable; empty for the first, and where split points are not known
	Rows  int64
	Bytes int64
	Files int
}

// part is a directory of a split run. Ended is zero if the part is not done.
type part struct {
	Input        string
	Status       string
	Began, Ended time.Time
	Rows         int64
	Bytes        int64 // of its HFiles
	Rejected     int64
}

// sample is the progress of the job at one moment. The numbers never decrease.
type sample struct {
	At       time.Time
	Read     int64 // rows
	Merged   int64 // rows written to HFiles
	Verified int64 // rows read back
	Input    int64 // bytes
	Output   int64 // bytes
}

type taskList struct {
	Text  string
	First []result.Task // stragglers, and the slowest
	Rest  []result.Task
	More  int // number of tasks that are not listed
}

// loadCounts are the numbers of regions and files that HBase loaded.
type loadCounts struct {
	Regions int
	Files   int
	Took    time.Duration
	Servers []server
}

// server is a region server that was asked to load files.
type server struct {
	Name    string
	Regions int
	Files   int
}

type reject struct {
	Place  string
	Column string
	Reason string
	Record string // beginning of the record; empty unless the report may hold data
}

//go:embed report.html.tmpl
var reportText string

func (r *document) Write(w io.Writer) error {
	title := r.Status + ": bulkload " + r.Command
	if r.Table != "" {
		title += " of " + r.Table
	}
	return write(w, reportText, view{document: r, pageHead: newPage(title),
		Took: r.Ended.Sub(r.Began), Timeline: newTimeline(r), Charts: newCharts(r), Spread: newSpread(r.Regions)})
}

type view struct {
	*document
	pageHead
	Took     time.Duration
	Timeline *timeline
	Charts   []chart
	Spread   *spread
}

// OwnRows returns the number of rows that this run has written.
func (v view) OwnRows() int64 { return v.Counts.Digest.Rows - v.Before }

// PerSecond returns an average rate over the whole time.
func (v view) PerSecond(n int64) float64 {
	if s := v.Took.Seconds(); s > 0 {
		return float64(n) / s
	}
	return 0
}

// MoreInputs returns the number of files that are not listed. The files of a split run are listed by directory.
func (v view) MoreInputs() int {
	if v.PartsText != "" {
		return 0
	}
	return v.InputFiles - len(v.Inputs)
}

func (v view) Warned() int { return len(v.Warnings) + v.MoreWarned }

func (v view) MoreRejects() int64 { return v.Rejected - int64(len(v.Rejects)) }

func (v view) Given() []settings.Setting {
	return slices.DeleteFunc(slices.Clone(v.Settings), func(s settings.Setting) bool { return s.Origin == "default" })
}

func (v view) Defaults() []settings.Setting {
	return slices.DeleteFunc(slices.Clone(v.Settings), func(s settings.Setting) bool { return s.Origin != "default" })
}

func (v view) CellTime() time.Time { return time.UnixMilli(v.Timestamp) }

//go:embed page.html.tmpl
var pageText string

//go:embed report.css
var style string

// pageHead is the data of the head of every page.
type pageHead struct {
	Title     string
	Style     template.CSS
	StyleHash string
}

func newPage(title string) pageHead {
	sum := sha256.Sum256([]byte(style))
	return pageHead{title, template.CSS(style), base64.StdEncoding.EncodeToString(sum[:])}
}

func write(w io.Writer, text string, v any) error {
	t, err := template.New("page").Funcs(functions).Parse(pageText)
	if err == nil {
		t, err = t.New("body").Parse(text)
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return err
	}
	_, err = w.Write(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))) // html/template does not check that bytes are UTF-8
	return err
}
