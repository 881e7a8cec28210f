// Package result has the result of a run or a load: plain data, marshalled into
// journals, reports and the output of commands.
package result

import (
	"cmp"
	"slices"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/manifest"
)

// Result summarizes a run or a load.
type Result struct {
	Schema   int                 `json:"schema"` // version of this form: 1
	Table    string              `json:"table"`
	Job      string              `json:"job,omitempty"`      // the directory of its state
	JobFile  string              `json:"job_file,omitempty"` // that describes the job, absolute
	Attempt  int                 `json:"attempt,omitempty"`
	Already  bool                `json:"already_done,omitempty"` // by an earlier run: nothing was done now
	DoneAt   time.Time           `json:"done_at,omitzero"`       // when that run ended; zero if this one did the work
	Staging  string              `json:"staging"`
	Snapshot string              `json:"snapshot,omitempty"` // that was taken before the load
	Replace  *Replace            `json:"replace,omitempty"`  // of a run that leaves the table with its rows alone
	Fresh    *Fresh              `json:"fresh,omitempty"`    // of a run whose table takes the place of another
	Manifest *manifest.Manifest  `json:"manifest"`
	NotMet   *expectation.Counts `json:"not_met,omitempty"` // of a job that its expectations ended before there was a manifest
	Regions  int                 `json:"regions"`           // that took files
	LoadTime time.Duration       `json:"load_ns"`
	Verify   *Verification       `json:"verify,omitempty"`
	Tables   []Table             `json:"tables,omitempty"`   // further ones of the job, in the order in which they are loaded
	Parts    Parts               `json:"parts,omitempty"`    // of a job that was split, in order; the rest is their total then
	Clusters []Cluster           `json:"clusters,omitempty"` // of a job for several, the command's own first; the rest has their longest times then
	Share    *Share              `json:"share,omitempty"`    // of a build or a merge that did a part of the work
	YARN     *YARN               `json:"yarn,omitempty"`     // of a build there
	Rekey    *Rekey              `json:"rekey,omitempty"`    // of a job that gives rows new keys
	Elapsed  time.Duration       `json:"elapsed_ns"`

	VerifyTime time.Duration `json:"verify_ns,omitempty"`
}

// Findings returns the results of the job's expectations.
func (r *Result) Findings() []expectation.Finding {
	switch {
	case r == nil:
		return nil
	case r.NotMet != nil:
		return r.NotMet.Findings
	}
	return r.Manifest.Findings()
}

// Rekey is where the rows of a job that gives them new keys are from.
type Rekey struct {
	From     string `json:"from"`     // the table
	Snapshot string `json:"snapshot"` // that was read
	Created  int64  `json:"created"`  // when it was made, in milliseconds
	Since    int64  `json:"since,omitempty"`
	Next     int64  `json:"next_since"` // of a further pass, for what was written meanwhile
}

// summaryTasks is how many tasks a summary has.
const summaryTasks = 10

// Summary returns the result without the list of files, and with the slowest tasks alone.
func (r *Result) Summary() *Result {
	s := *r
	if s.Manifest != nil {
		s.Manifest = s.Manifest.Summary()
	}
	s.Tables = summaries(s.Tables)
	if s.YARN != nil {
		y := *s.YARN
		y.Tasks = y.Slowest(summaryTasks)
		s.YARN = &y
	}
	return &s
}

// Share is the result of one process of a build by several.
type Share struct {
	Share        int    `json:"share"` // from 1
	Of           int    `json:"of"`
	Records      int64  `json:"records,omitempty"` // that a build read
	Rejected     int64  `json:"-"`                 // of them; it stands with the result of every command
	Filtered     int64  `json:"-"`                 // likewise
	Bytes        int64  `json:"bytes,omitempty"`   // of its sorted rows
	RejectFile   string `json:"reject_file,omitempty"`
	FilteredFile string `json:"filtered_file,omitempty"`
	Pending      int    `json:"pending,omitempty"` // merges that are still to be done
}

// YARN is the job that has built the HFiles.
type YARN struct {
	Application string `json:"application"`
	Maps        int    `json:"maps"`
	Reduces     int    `json:"reduces"`
	Shuffled    int64  `json:"shuffled_bytes"`  // from maps to reduces
	Failed      int    `json:"failed_attempts"` // before those that count
	Stragglers  int    `json:"stragglers"`
	Tasks       []Task `json:"tasks"` // maps in the order of the input, then reduces in that of the regions
}

// Slowest returns at most a number of tasks: stragglers first, then others, each from the slowest on.
func (y *YARN) Slowest(most int) []Task {
	tasks := slices.Clone(y.Tasks)
	slices.SortStableFunc(tasks, func(a, b Task) int {
		if a.Straggler != b.Straggler {
			if a.Straggler {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Wall, a.Wall)
	})
	return tasks[:min(len(tasks), most)]
}

// Task is one task of such a job.
type Task struct {
	Kind      string        `json:"task"`   // map or reduce
	Number    int           `json:"number"` // as YARN counts, from 0
	Attempts  int           `json:"attempts"`
	Node      string        `json:"node"`
	Rows      int64         `json:"rows"`  // a map's records, a reduce's rows
	Bytes     int64         `json:"bytes"` // a map's input, a reduce's HFiles
	Rejected  int64         `json:"rejected,omitempty"`
	Shuffled  int64         `json:"shuffled_bytes"`      // that a map gave, or a reduce got
	Wall      time.Duration `json:"wall_ns"`             // of the task, its JVM and a reduce's shuffle included
	Program   time.Duration `json:"program_ns"`          // of the program in it
	Straggler bool          `json:"straggler,omitempty"` // it took twice as long as half of its kind, and ten seconds longer
}
