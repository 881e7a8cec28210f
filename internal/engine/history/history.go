// Package history is the meaning of a job's journal. An event is one entry of a table (events.go,
// loadevents.go, undo.go): when its record is written, how durable it is, and its effect on a [History].
// The record types are the fields of the records. [History.Apply] applies a record when it is written and when it is
// read; no other code interprets journals, and nothing else assigns a field of a history. [Of] replays the records of a
// journal. The format is described in internal/engine/journal/format.md.
package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/loader"
)

// loadState is the state of a file in its load.
type loadState int

const (
	FileReady loadState = iota // at its source
	FileSent                   // sent, and the outcome is unknown: HBase may have it
	FileLoaded
)

// History is the state of a job according to its journal: its finished steps, and
// files with an unknown outcome. Resuming, status and clean use it.
type History struct {
	build.Done
	Records      int          // number of records
	Last         time.Time    // latest time of a record
	Rekey        *RekeyRecord // nil: the job reads exports
	Plan         *PlanRecord
	Attempts     []Attempt
	phase        string                          // phase that follows the finished steps
	Submission   *build.SubmissionRecord         // the YARN job whose output has not been taken yet; nil: none
	Weights      []int64                         // weights of the regions in YARN jobs; nil: there was none
	LeftStaging  []string                        // staging directories of discarded attempts, which may exist
	Prepared     map[string]string               // HBase's staging directories that may exist, with their tables
	Snapshot     string                          // snapshot that was taken
	Snapshotting SnapshotRecord                  // snapshot that was requested
	OwnSnapshots map[string]ReadSnapshotRecord   // own snapshots of the job that are not known to be deleted, by place
	Quiet        map[string]QuietRecord          // tables that the job keeps quiet, or may keep quiet
	Replace      *result.Replace                 // what the load deletes; nil: nothing, or not known yet
	Exporting    *ExportingRecord                // nil: the job exports nothing, or has not begun to
	Exported     map[int]manifest.ExportedRegion // regions whose rows are in the directory
	Comparing    *ComparingRecord                // nil: the job compares nothing, or has not begun to
	Compared     map[int]result.ComparedRange    // ranges that were compared
	Clusters     map[string]result.Cluster       // clusters that have received the files, by configuration directory
	Fresh        *FreshRecord                    // the table that the job makes to replace another; nil: none
	Drop         DropRecord                      // drop of that other table; without a table name: it is kept
	tableLoad                                    // of the current table; a job of one table has no other
	Current      int                             // number of the current table, from 0
	others       map[int]tableLoad               // of the tables before the current one, by number
	loads        map[int]tableLoad               // state of all tables before an undo; nil: no undo has begun
	Taken        []Taken                         // regions that have received files
	LoadedFiles  int                             // number of files that they loaded
	Finished     bool
	FinishedAt   time.Time
	StagingEnd   string // whether the staging directory of a finished job is removed or kept; empty: not recorded
	Result       *result.Result
	Undo         *Undoing     // nil: the load was never undone, and is not being undone
	Copied       *result.Undo // a new table with the contents from before the load; nil: none was made

	takenAt map[string]int // index of a region in taken
}

// tableLoad is the state of the load of one table.
type tableLoad struct {
	Token    string
	Loading  bool                 // files are being sent
	Files    map[string]loadState // by path
	Leaves   map[string]loader.HFile
	Replaced []string // paths of files that were cut or merged into others
	verified bool
}

func newTableLoad() tableLoad {
	return tableLoad{Files: map[string]loadState{}, Leaves: map[string]loader.HFile{}}
}

// New returns the history of a job without records.
func New() History {
	return History{Done: build.NewDone(), tableLoad: newTableLoad(), others: map[int]tableLoad{}, takenAt: map[string]int{},
		Prepared: map[string]string{}, OwnSnapshots: map[string]ReadSnapshotRecord{}, Quiet: map[string]QuietRecord{}, Clusters: map[string]result.Cluster{}}
}

// turn switches to another table: later records about files are about that table.
func (h *History) turn(table int) {
	if table == h.Current {
		return
	}
	h.others[h.Current] = h.tableLoad
	load, known := h.others[table]
	if !known {
		load = newTableLoad()
	}
	delete(h.others, table)
	h.tableLoad, h.Current = load, table
}

// tableLoads returns the states of all tables up to the current one, by number.
func (h *History) tableLoads() map[int]tableLoad {
	all := maps.Clone(h.others)
	all[h.Current] = h.tableLoad
	return all
}

// AnyLoading reports whether the load of any table has begun.
func (h *History) AnyLoading() bool {
	for _, load := range h.others {
		if load.Loading {
			return true
		}
	}
	return h.Loading
}

// AnySent reports whether HBase has, or may have, files of the job.
func (h *History) AnySent() bool {
	for _, load := range h.tableLoads() {
		for _, at := range load.Files {
			if at == FileSent || at == FileLoaded {
				return true
			}
		}
	}
	return false
}

// Of replays records. If there is an error, the history includes the records
// before the one that failed.
func Of(records []journal.Record) (History, error) {
	h := New()
	for _, r := range records {
		if err := h.Apply(r); err != nil {
			return h, &RecordError{r, err, lastVersion(records)}
		}
	}
	return h, nil
}

// Read replays the journal in a job's directory; the job may run. The history is empty if there is no journal.
func Read(dir string) (History, error) {
	f, err := os.Open(filepath.Join(dir, journal.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return New(), nil
	} else if err != nil {
		return New(), err
	}
	defer f.Close()
	records, damage := journal.Read(f)
	h, err := Of(records)
	return h, cmp.Or(damage, err)
}

// Unresolved returns the paths of files that HBase may have loaded: they were sent,
// and the outcome is unknown.
func (h *History) Unresolved() []string {
	var paths []string
	if h.Finished && !h.UndoRunning() {
		return nil
	}
	for _, load := range append(slices.Collect(maps.Values(h.others)), h.tableLoad) {
		for path, at := range load.Files {
			if at == FileSent {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// Apply applies a record to the history. All journals are read here, including those of version 0.1, and
// a process that writes a record applies it here too. Unknown events are ignored.
func (h *History) Apply(r journal.Record) error {
	h.Records++
	if r.Time.After(h.Last) {
		h.Last = r.Time
	}
	if !h.Finished || Event(r.Event) != EventCleaned { // the removal of a finished job's directory may be made up for later
		LastAttempt(h.Attempts).Ended = r.Time
	}
	info := eventsByName()[Event(r.Event)]
	if info.apply == nil {
		return nil
	}
	if err := info.apply(h, r); err != nil {
		return err
	}
	if info.step {
		h.step(r, info.phase)
	}
	return nil
}

// step records a finished step of the last attempt, and the phase that follows.
func (h *History) step(r journal.Record, next string) {
	a := LastAttempt(h.Attempts)
	a.Steps, h.phase = append(a.Steps, DoneStep{r.Event, r.Time}), next
}

// RecordError is an error about a record that this version cannot interpret.
type RecordError struct {
	Record  journal.Record
	Err     error
	Version string // that continued the job last, and could interpret all records; empty: not known
}

func (e *RecordError) Error() string {
	if e.Version != "" {
		return fmt.Sprintf("record %d (%s) is of version %s, and this one cannot interpret it: run the job with that version", e.Record.Seq, e.Record.Event, e.Version)
	}
	return fmt.Sprintf("record %d (%s): %v", e.Record.Seq, e.Record.Event, e.Err)
}
func (e *RecordError) Unwrap() error { return e.Err }

// lastVersion returns the version of the last attempt of a journal, even if this version cannot interpret its record.
func lastVersion(records []journal.Record) string {
	for _, r := range slices.Backward(records) {
		if Event(r.Event) == EventAttempt {
			var a struct{ Version string }
			_ = json.Unmarshal(r.Data, &a)
			return a.Version
		}
	}
	return ""
}

// Attempt is one process's work on a job.
type Attempt struct {
	Attempt int        `json:"attempt"`
	PID     int        `json:"pid"`
	Host    string     `json:"host"`
	Start   int64      `json:"-"` // of the process, as in journal.Owner
	Version string     `json:"version,omitempty"`
	Began   time.Time  `json:"began"`
	Ended   time.Time  `json:"ended"` // time of the last record of the attempt
	State   Status     `json:"state"`
	Error   string     `json:"error,omitempty"`
	Kind    string     `json:"error_kind,omitempty"`
	Steps   []DoneStep `json:"steps"`
}

// LastAttempt returns the last attempt of a list; for an empty list, an attempt that belongs to none.
func LastAttempt(list []Attempt) *Attempt {
	if len(list) == 0 {
		return &Attempt{}
	}
	return &list[len(list)-1]
}

// DoneStep is a finished step of an attempt.
type DoneStep struct {
	Name string    `json:"name"` // event of the journal: sorted, built, snapshot, loading, verified, done
	Time time.Time `json:"time"`
}

// Taken is a region that has received files.
type Taken struct {
	Region string
	Server string // the server that was asked; empty if the journal does not have it
	Files  int
}

// Status is the status of a job.
type Status string

// The statuses of a job.
const (
	JobDone       Status = "done"       // finished
	JobAbandoned  Status = "abandoned"  // stopped or failed; the same command would resume it
	JobRunning    Status = "running"    // its lock is held
	JobUnresolved Status = "unresolved" // some files were sent to HBase and their outcome is unknown
	JobUnknown    Status = "unknown"    // there is no journal, or it cannot be read

	// Of a job that is abandoned, by the end of its last attempt.
	JobFailed      Status = "failed"      // it ended with an error
	JobStopped     Status = "stopped"     // it was stopped by a signal
	JobInterrupted Status = "interrupted" // it was killed, or its machine failed
)

// StateDigits is the number of digits of a job's identity in its directory's name.
const StateDigits = 12

// Differences returns the differences between the history of a process and the replay of the journal in the job's directory. Tests call it after every
// record: a difference is an error that lasts only until the process is killed.
func (h *History) Differences(dir string) error {
	replayed, err := Read(dir)
	if err != nil {
		return err
	}
	var errs []error
	memory, replay := reflect.ValueOf(h).Elem(), reflect.ValueOf(&replayed).Elem()
	for i := range memory.NumField() {
		if a, b := memory.Field(i), replay.Field(i); !reflect.DeepEqual(valueOf(a), valueOf(b)) {
			errs = append(errs, fmt.Errorf("%s is %+v in memory, and %+v in the journal", memory.Type().Field(i).Name, valueOf(a), valueOf(b)))
		}
	}
	return errors.Join(errs...)
}

// valueOf returns a field's value, including fields that other packages cannot read.
func valueOf(v reflect.Value) any {
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Interface()
}
