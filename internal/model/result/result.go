// Package result defines the result of a run or a load: plain data, marshalled into
// journals, reports and the output of commands.
package result

import (
	"cmp"
	"slices"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
)

// Result summarizes a run or a load.
type Result struct {
	Schema   int                 `json:"schema"` // version of this format: 1
	Table    string              `json:"table"`
	Job      string              `json:"job,omitempty"`      // state directory
	JobFile  string              `json:"job_file,omitempty"` // absolute path of the job file
	Attempt  int                 `json:"attempt,omitempty"`
	Already  bool                `json:"already_done,omitempty"` // done by an earlier run; this run did nothing
	DoneAt   time.Time           `json:"done_at,omitzero"`       // when the earlier run ended; zero if this one did the work
	Staging  string              `json:"staging"`
	Snapshot string              `json:"snapshot,omitempty"` // taken before the load
	Replace  *Replace            `json:"replace,omitempty"`  // of a run that replaces the table's rows
	Fresh    *Fresh              `json:"fresh,omitempty"`    // of a run whose new table replaces another
	Manifest *manifest.Manifest  `json:"manifest"`
	NotMet   *expectation.Counts `json:"not_met,omitempty"` // the counts of a job that failed its expectations before it had a manifest
	Regions  int                 `json:"regions"`           // regions that received files
	LoadTime time.Duration       `json:"load_ns"`
	Verify   *Verification       `json:"verify,omitempty"`
	Tables   []Table             `json:"tables,omitempty"`   // further tables of the job, in loading order
	Parts    Parts               `json:"parts,omitempty"`    // of a split job, in order; the other fields are then totals
	Now      *Result             `json:"-"`                  // totals of the parts that this run has done; nil: as those of all parts
	Clusters []Cluster           `json:"clusters,omitempty"` // of a job for several clusters, the command's own first; times in the result are then the longest
	Share    *Share              `json:"share,omitempty"`    // of a build or a merge of one share of the work
	YARN     *YARN               `json:"yarn,omitempty"`     // of a build on YARN
	Rekey    *Rekey              `json:"rekey,omitempty"`    // of a job that gives rows new keys
	Elapsed  time.Duration       `json:"elapsed_ns"`

	VerifyTime time.Duration `json:"verify_ns,omitempty"`
}

// OfRun returns the totals of what this run has done, without directories that an earlier run has loaded. r may be nil.
func (r *Result) OfRun() *Result {
	if r != nil && r.Now != nil {
		return r.Now
	}
	return r
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

// Rekey describes the source of a job that gives rows new keys.
type Rekey struct {
	From     string `json:"from"`     // source table
	Snapshot string `json:"snapshot"` // snapshot that was read
	Created  int64  `json:"created"`  // creation time of the snapshot, in milliseconds
	Since    int64  `json:"since,omitempty"`
	Next     int64  `json:"next_since"` // the value of since for the next pass, which reads what was written later
}

// summaryTasks is the maximum number of tasks in a summary.
const summaryTasks = 10

// Summary returns the result without the list of files, and with only the slowest
// tasks.
func (r *Result) Summary() *Result {
	s := *r
	if s.Manifest != nil {
		s.Manifest = s.Manifest.Summary()
	}
	s.Tables = slices.Clone(s.Tables)
	for i := range s.Tables {
		if t := &s.Tables[i]; t.Manifest != nil {
			t.Manifest = t.Manifest.Summary()
		}
	}
	if s.YARN != nil {
		y := *s.YARN
		y.Tasks = y.Slowest(summaryTasks)
		s.YARN = &y
	}
	return &s
}

// Share describes one process's share of a build by several processes.
type Share struct {
	Share        int    `json:"share"` // from 1
	Of           int    `json:"of"`
	Records      int64  `json:"records,omitempty"` // read by a build
	Rejected     int64  `json:"-"`                 // rejected records; in the output it is a field of every command's result
	Filtered     int64  `json:"-"`                 // likewise, dropped by the filter
	Bytes        int64  `json:"bytes,omitempty"`   // of the share's sorted rows
	RejectFile   string `json:"reject_file,omitempty"`
	FilteredFile string `json:"filtered_file,omitempty"`
	Pending      int    `json:"pending,omitempty"` // merges still to do
}

// YARN describes the YARN job that built the HFiles.
type YARN struct {
	Application string `json:"application"`
	Maps        int    `json:"maps"`
	Reduces     int    `json:"reduces"`
	Shuffled    int64  `json:"shuffled_bytes"`  // from map tasks to reduce tasks
	Failed      int    `json:"failed_attempts"` // attempts that were followed by a successful one
	Stragglers  int    `json:"stragglers"`
	Tasks       []Task `json:"tasks"` // map tasks in the order of the input, then reduce tasks in the order of the regions
}

// Slowest returns at most the given number of tasks: stragglers first, then others,
// each from the slowest on.
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

// Task is one task of a YARN job.
type Task struct {
	Kind      string        `json:"task"`   // map or reduce
	Number    int           `json:"number"` // YARN's task number, from 0
	Attempts  int           `json:"attempts"`
	Node      string        `json:"node"`
	Rows      int64         `json:"rows"`  // records of a map task, rows of a reduce task
	Bytes     int64         `json:"bytes"` // input of a map task, HFiles of a reduce task
	Rejected  int64         `json:"rejected,omitempty"`
	Shuffled  int64         `json:"shuffled_bytes"`      // output of a map task, or input of a reduce task
	Wall      time.Duration `json:"wall_ns"`             // of the task, including its JVM and the shuffle of a reduce task
	Program   time.Duration `json:"program_ns"`          // of the program in the task
	Straggler bool          `json:"straggler,omitempty"` // it took more than twice the median time of its kind, and over ten seconds more than that median
}

// Cluster is the result for one of the clusters that receive the files of a job.
type Cluster struct {
	Conf    string        `json:"conf"`         // configuration directory; empty: the command's own
	ID      string        `json:"id,omitempty"` // of HBase; "" if nothing was loaded
	Status  PartStatus    `json:"status"`
	Error   string        `json:"error,omitempty"`
	Jobs    []string      `json:"jobs,omitempty"`    // state directories of its loads, one for each table
	Tables  []Table       `json:"tables,omitempty"`  // in loading order, without manifests
	Replace *Replace      `json:"replace,omitempty"` // of a run that replaces the table's rows
	Elapsed time.Duration `json:"elapsed_ns"`
}

// Table is the result for a further table of a job of several tables.
type Table struct {
	Table      string             `json:"table"`
	Index      string             `json:"index,omitempty"` // name of the index that the table is; empty: it is not an index
	Manifest   *manifest.Manifest `json:"manifest"`
	Regions    int                `json:"regions"` // regions that received files
	LoadTime   time.Duration      `json:"load_ns"`
	Verify     *Verification      `json:"verify,omitempty"`
	VerifyTime time.Duration      `json:"verify_ns,omitempty"`
}

// OfTables returns the result of a build of the given targets, without manifests if
// the build failed.
func OfTables(targets []spec.Target, m []*manifest.Manifest) *Result {
	r := &Result{Schema: 1, Table: targets[0].Table}
	r.SetManifests(targets, m)
	return r
}

// SetManifests sets the manifests of a job's targets, in the order of the targets.
// It does nothing unless there is one for each.
func (r *Result) SetManifests(targets []spec.Target, m []*manifest.Manifest) {
	if len(m) != len(targets) {
		return
	}
	r.Manifest, r.Tables = m[0], nil
	for i, t := range targets[1:] {
		r.Tables = append(r.Tables, Table{Table: t.Table, Index: t.Index, Manifest: m[i+1]})
	}
}

// Amounts returns the amounts that a run has read and written: those of its manifest and of directories that failed, or those of its share. If the
// run failed before it had either, they are the amounts in p. The rows of a share are those that it has sorted. r may be nil.
func (r *Result) Amounts(p progress.Progress) *manifest.Manifest {
	switch {
	case r != nil && r.Manifest != nil:
		m := *r.Manifest
		for _, part := range r.Parts {
			if part.Status != PartDone && part.Status != PartAlready {
				m.Records, m.Rejected, m.Filtered = m.Records+part.Records, m.Rejected+part.Rejected, m.Filtered+part.Filtered
			}
		}
		return &m
	case r != nil && r.Share != nil && r.Share.Records+r.Share.Rejected+r.Share.Filtered > 0: // a merge has none
		s := r.Share
		return &manifest.Manifest{Records: s.Records, Rejected: s.Rejected, Filtered: s.Filtered, RejectFile: s.RejectFile, FilteredFile: s.FilteredFile, SpillBytes: p.Spilled.Bytes,
			Digest: manifest.Digest{Rows: s.Records - s.Rejected - s.Filtered}}
	}
	var read int64
	for _, phase := range p.Phases {
		if phase.Name == "read" {
			read += phase.Done.Rows
		}
	}
	return &manifest.Manifest{Records: max(read, p.Records.Read), Rejected: p.Records.Rejected, Filtered: p.Records.Filtered, HFiles: int(p.Own.Files), Bytes: p.Own.Bytes, SpillBytes: p.Spilled.Bytes,
		Digest: manifest.Digest{Rows: p.Own.Rows, Cells: p.OwnCells}}
}
