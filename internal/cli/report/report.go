package report

import (
	_ "embed"
	"io"
	"slices"
	"time"
)

// document is the data of a job's report. Empty parts are left out of the file.
type document struct {
	Command  string // run, build or load
	Status   string // done, already, failed or stopped
	ExitCode int
	Error    string // why it is not done
	Advice   string // what to do about it

	Table     string
	Job       string // directory of its state
	JobID     string
	Attempt   int
	Version   string
	Host      string
	PID       int
	Began     time.Time
	Ended     time.Time
	Key       string
	Timestamp int64 // of the cells, milliseconds
	Target    string

	Inputs      []inputFile // the first of them
	InputFiles  int         // all
	InputBytes  int64
	ReadAs      []string         // how files were read, a way each
	Partitions  string           // columns by directories, and what chose among them
	Lacking     []differingFiles // files without columns of the job
	MoreLacking int              // such files that are not listed
	PassedOver  []differingFiles // files with columns that were not asked for
	MorePassed  int
	Counts      *counts // nil: not known
	Expected    []expected
	Regions     []region
	Phases      []phase
	Parts       []part    // directories of a run that was split, instead of phases
	PartsText   string    // how many came to what
	MoreParts   int       // done, and not listed
	Samples     []sample  // in the order of time
	Tasks       *taskList // of a job on YARN
	Tables      []table   // further tables and indexes of the job, in the order of loading
	Load        *loadCounts
	Replaced    string // which rows a run with --replace has taken away; empty: it was none
	Verify      string // what verification found; empty: there was none
	Rejects     []reject
	Rejected    int64
	RejectFile  string
	WithRecords bool // rejects say what the records hold
	Warnings    []string
	MoreWarned  int // warnings beyond those
	Settings    []settingValue
	Attempts    []attempt // earlier ones
}

// inputFile is a file that was read.
type inputFile struct {
	Path  string
	Bytes int64
}

// differingFiles is files that differ from the job's columns in the same way.
type differingFiles struct {
	Columns string
	Files   int
	First   string // the first of them
}

// counts are the sums of a build.
type counts struct {
	Records    int64 // read
	Rows       int64
	Cells      int64
	Rejected   int64
	Filtered   int64 // left out by the filter
	Duplicates int64
	NoCells    int64 // rows left out because no value makes a cell
	HFiles     int
	Bytes      int64 // of the HFiles
	SpillBytes int64
	SpillRuns  int64

	FilteredFile   string // that has the records of Filtered; empty: they are only counted
	DuplicatesFile string // likewise
}

// expected is one expectation with its finding.
type expected struct {
	Column string // empty: of the records
	Name   string
	Found  string
	Status string
	Warn   bool // it fails no job
	Bad    bool
}

// region is a region of the table, in the order of keys.
type region struct {
	Start string // its first key, printable; empty for the first
	Rows  int64
	Bytes int64
	Files int
}

// phase is a part of the job, Ended zero if it was not.
type phase struct {
	Name         string
	Began, Ended time.Time
	Rows         int64
	Bytes        int64
	Files        int64
}

// part is a directory of a run that was split, Ended zero if it was not done.
type part struct {
	Input        string
	Status       string
	Began, Ended time.Time
	Rows         int64
	Bytes        int64 // of its HFiles
	Rejected     int64
}

// sample is how far the job was at one moment. Numbers only grow.
type sample struct {
	At       time.Time
	Read     int64 // rows
	Merged   int64 // rows written to HFiles
	Verified int64 // rows read back
	Input    int64 // bytes
	Output   int64 // bytes
}

// table is a further table of the job, or an index.
type table struct {
	Name     string
	Index    string // its name, if it is one
	Rows     int64
	Cells    int64
	Filtered int64 // records left out by the job's filter and its own
	HFiles   int
	Bytes    int64
	Regions  int // that took files
	Took     time.Duration
	Verify   string
}

// taskList are the task list of a job on YARN.
type taskList struct {
	Text  string
	First []task // stragglers, and the slowest
	Rest  []task
	More  int // that are not listed
}

// task is one of them.
type task struct {
	Name      string // map 7, reduce 0
	Attempts  int
	Node      string
	Rows      int64
	Bytes     int64
	Rejected  int64
	Shuffled  int64
	Took      time.Duration
	Straggler bool
}

// loadCounts counts the files, bytes and calls of the load into HBase.
type loadCounts struct {
	Regions int
	Files   int
	Took    time.Duration
	Servers []server
}

// server is a region server that was asked to take files.
type server struct {
	Name    string
	Regions int
	Files   int
}

// reject is a record that was set aside.
type reject struct {
	Place  string
	Column string
	Reason string
	Record string // its beginning; empty unless the report is to hold data
}

// settingValue is a setting with where its value is from.
type settingValue struct{ Name, Value, Origin string }

// attempt is an earlier attempt at the job.
type attempt struct {
	Attempt      int
	Began, Ended time.Time
	Process      string
	State        string
	Error        string
}

//go:embed report.html.tmpl
var reportText string

// Write makes the file.
func (r *document) Write(w io.Writer) error {
	title := r.Status + ": bulkload " + r.Command
	if r.Table != "" {
		title += " of " + r.Table
	}
	return write(w, reportText, view{document: r, pageHead: newPage(title),
		Took: r.Ended.Sub(r.Began), Timeline: newTimeline(r), Charts: newCharts(r), Spread: newSpread(r.Regions)})
}

// view is the data of the template.
type view struct {
	*document
	pageHead
	Took     time.Duration
	Timeline *timeline
	Charts   []chart
	Spread   *spread
}

// PerSecond returns a rate over the whole time.
func (v view) PerSecond(n int64) float64 {
	if s := v.Took.Seconds(); s > 0 {
		return float64(n) / s
	}
	return 0
}

// MoreInputs returns how many files are not listed. Those of a run that was split are in directories.
func (v view) MoreInputs() int {
	if v.PartsText != "" {
		return 0
	}
	return v.InputFiles - len(v.Inputs)
}

// Warned returns how many warnings there were.
func (v view) Warned() int { return len(v.Warnings) + v.MoreWarned }

// MoreRejects returns how many rejected records are not listed.
func (v view) MoreRejects() int64 { return v.Rejected - int64(len(v.Rejects)) }

// Given returns the settings that are set.
func (v view) Given() []settingValue {
	return slices.DeleteFunc(slices.Clone(v.Settings), func(s settingValue) bool { return s.Origin == "default" })
}

// Defaults returns the others.
func (v view) Defaults() []settingValue {
	return slices.DeleteFunc(slices.Clone(v.Settings), func(s settingValue) bool { return s.Origin != "default" })
}

// CellTime returns the cells' timestamp as a time.
func (v view) CellTime() time.Time { return time.UnixMilli(v.Timestamp) }
