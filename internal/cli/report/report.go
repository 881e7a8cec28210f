package report

import (
	_ "embed"
	"io"
	"slices"
	"time"
)

// Report is what a job did. Empty parts are left out of the file.
type Report struct {
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

	Inputs      []Input // the first of them
	InputFiles  int     // all
	InputBytes  int64
	ReadAs      []string    // how files were read, a way each
	Partitions  string      // columns by directories, and what chose among them
	Lacking     []Differing // files without columns of the job
	MoreLacking int         // such files that are not listed
	PassedOver  []Differing // files with columns that were not asked for
	MorePassed  int
	Counts      *Counts // nil: not known
	Expected    []Expectation
	Regions     []Region
	Phases      []Phase
	Parts       []Part   // directories of a run that was split, instead of phases
	PartsText   string   // how many came to what
	MoreParts   int      // done, and not listed
	Samples     []Sample // in the order of time
	Tasks       *Tasks   // of a job on YARN
	Tables      []Table  // further tables and indexes of the job, in the order of loading
	Load        *Load
	Replaced    string // which rows a run with --replace has taken away; empty: it was none
	Verify      string // what verification found; empty: there was none
	Rejects     []Reject
	Rejected    int64
	RejectFile  string
	WithRecords bool // rejects say what the records hold
	Warnings    []string
	MoreWarned  int // warnings beyond those
	Settings    []Setting
	Attempts    []Attempt // earlier ones
}

// Input is a file that was read.
type Input struct {
	Path  string
	Bytes int64
}

// Differing is files that differ from the job's columns in the same way.
type Differing struct {
	Columns string
	Files   int
	First   string // the first of them
}

// Counts are the sums of a build.
type Counts struct {
	Records    int64 // read
	Rows       int64
	Cells      int64
	Rejected   int64
	Filtered   int64 // left out by the filter
	Duplicates int64
	HFiles     int
	Bytes      int64 // of the HFiles
	SpillBytes int64
	SpillRuns  int64

	FilteredFile   string // that has the records of Filtered; empty: they are only counted
	DuplicatesFile string // likewise
}

// Expectation is what was expected of the records, and what was found.
type Expectation struct {
	Column string // empty: of the records
	Name   string
	Found  string
	Status string
	Warn   bool // it fails no job
	Bad    bool
}

// Region is a region of the table, in the order of keys.
type Region struct {
	Start string // its first key, printable; empty for the first
	Rows  int64
	Bytes int64
	Files int
}

// Phase is a part of the job, Ended zero if it was not.
type Phase struct {
	Name         string
	Began, Ended time.Time
	Rows         int64
	Bytes        int64
	Files        int64
}

// Part is a directory of a run that was split, Ended zero if it was not done.
type Part struct {
	Input        string
	Status       string
	Began, Ended time.Time
	Rows         int64
	Bytes        int64 // of its HFiles
	Rejected     int64
}

// Sample is how far the job was at one moment. Numbers only grow.
type Sample struct {
	At       time.Time
	Read     int64 // rows
	Merged   int64 // rows written to HFiles
	Verified int64 // rows read back
	Input    int64 // bytes
	Output   int64 // bytes
}

// Table is a further table of the job, or an index.
type Table struct {
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

// Tasks are those of a job on YARN.
type Tasks struct {
	Text  string
	First []Task // stragglers, and the slowest
	Rest  []Task
	More  int // that are not listed
}

// Task is one of them.
type Task struct {
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

// Load is what HBase took.
type Load struct {
	Regions int
	Files   int
	Took    time.Duration
	Servers []Server
}

// Server is a region server that was asked to take files.
type Server struct {
	Name    string
	Regions int
	Files   int
}

// Reject is a record that was set aside.
type Reject struct {
	Place  string
	Column string
	Reason string
	Record string // its beginning; empty unless the report is to hold data
}

// Setting is a setting with where its value is from.
type Setting struct{ Name, Value, Origin string }

// Attempt is an earlier attempt at the job.
type Attempt struct {
	Attempt      int
	Began, Ended time.Time
	Process      string
	State        string
	Error        string
}

//go:embed report.html.tmpl
var reportText string

// Write makes the file.
func (r *Report) Write(w io.Writer) error {
	title := r.Status + ": bulkload " + r.Command
	if r.Table != "" {
		title += " of " + r.Table
	}
	return write(w, reportText, view{Report: r, pageHead: newPage(title),
		Took: r.Ended.Sub(r.Began), Timeline: newTimeline(r), Charts: newCharts(r), Spread: newSpread(r.Regions)})
}

// view is what the template draws.
type view struct {
	*Report
	pageHead
	Took     time.Duration
	Timeline *timeline
	Charts   []chart
	Spread   *spread
}

// PerSecond is a rate over the whole time.
func (v view) PerSecond(n int64) float64 {
	if s := v.Took.Seconds(); s > 0 {
		return float64(n) / s
	}
	return 0
}

// MoreInputs is how many files are not listed. Those of a run that was split are in directories.
func (v view) MoreInputs() int {
	if v.PartsText != "" {
		return 0
	}
	return v.InputFiles - len(v.Inputs)
}

// Warned is how many warnings there were.
func (v view) Warned() int { return len(v.Warnings) + v.MoreWarned }

// MoreRejects is how many rejected records are not listed.
func (v view) MoreRejects() int64 { return v.Rejected - int64(len(v.Rejects)) }

// Given are the settings that are set.
func (v view) Given() []Setting {
	return slices.DeleteFunc(slices.Clone(v.Settings), func(s Setting) bool { return s.Origin == "default" })
}

// Defaults are the others.
func (v view) Defaults() []Setting {
	return slices.DeleteFunc(slices.Clone(v.Settings), func(s Setting) bool { return s.Origin != "default" })
}

// CellTime is the cells' timestamp as a time.
func (v view) CellTime() time.Time { return time.UnixMilli(v.Timestamp) }
