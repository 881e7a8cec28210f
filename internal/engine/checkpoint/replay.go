package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/pkg/loader"
)

// loadState is the state of a file in a load.
type loadState int

const (
	FileReady loadState = iota // not sent
	FileSent                   // sent, without a known answer: HBase may have loaded it
	FileLoaded
)

// History is the state of a job by its journal: finished steps, and steps with an unknown outcome.
// Resuming, status and clean all read it.
type History struct {
	build.Done
	records      int
	Last         time.Time    // of a record
	Rekey        *RekeyRecord // nil: the job reads exports
	Plan         *PlanRecord
	Attempts     []Attempt
	phase        string                          // the one after the finished steps
	Submission   *SubmissionRecord               // the YARN application whose output is not adopted yet; nil: none
	Weights      []int64                         // of the regions, by which tasks on YARN were packed; nil: none
	Prepared     map[string]string               // HBase's staging directories that may exist, with their tables
	Snapshot     string                          // the snapshot that was taken
	Snapshotting SnapshotRecord                  // the snapshot that was requested
	OwnSnapshots map[string]ReadSnapshotRecord   // the job's own snapshots that may exist, by place
	Quiet        map[string]QuietRecord          // tables that the job keeps quiet, or may keep so
	Replace      *result.Replace                 // the rows that the load deletes; nil: none, or not known yet
	Exporting    *ExportingRecord                // nil: no export, or not begun
	Exported     map[int]manifest.ExportedRegion // finished regions
	Comparing    *ComparingRecord                // nil: no comparison, or not begun
	Compared     map[int]result.ComparedRange    // finished ranges
	Clusters     map[string]result.Cluster       // clusters that a job of several has loaded, by the directories of their configurations
	Fresh        *FreshRecord                    // the new table that replaces another; nil: none
	Drop         DropRecord                      // of the replaced table; without a table: it is kept
	tableLoad                                    // of the current table
	table        int                             // its number, from 0
	others       map[int]tableLoad               // of the tables before the current one, by number
	loads        map[int]tableLoad               // of all tables before an undo; nil: no undo was begun
	taken        []Taken                         // regions that have loaded files
	loadedFiles  int                             // files loaded by them
	Finished     bool
	FinishedAt   time.Time
	StagingEnd   string // the staging directory of a finished job: removed, kept; empty: not recorded
	Result       *result.Result
	Undo         *Undoing     // nil: no undo was begun
	Copied       *result.Undo // a new table with the content from before the load; nil: none

	takenAt map[string]int // the index of a region in taken
}

// tableLoad is the state of the load of one table.
type tableLoad struct {
	Token    string
	Loading  bool                 // files were sent
	Files    map[string]loadState // by path
	Leaves   map[string]loader.HFile
	Replaced []string // paths of files that were cut or merged: other files have their rows
	verified bool
}

func newTableLoad() tableLoad {
	return tableLoad{Files: map[string]loadState{}, Leaves: map[string]loader.HFile{}}
}

func NewHistory() History {
	return History{Done: build.NewDone(), tableLoad: newTableLoad(), others: map[int]tableLoad{}, takenAt: map[string]int{},
		Prepared: map[string]string{}, OwnSnapshots: map[string]ReadSnapshotRecord{}, Quiet: map[string]QuietRecord{}, Clusters: map[string]result.Cluster{}}
}

// turn switches to another table: later records of files belong to it.
func (h *History) turn(table int) {
	if table == h.table {
		return
	}
	h.others[h.table] = h.tableLoad
	load, known := h.others[table]
	if !known {
		load = newTableLoad()
	}
	delete(h.others, table)
	h.tableLoad, h.table = load, table
}

// tableLoads returns the table loads of all tables up to the current one, by number.
func (h *History) tableLoads() map[int]tableLoad {
	all := maps.Clone(h.others)
	all[h.table] = h.tableLoad
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

// HistoryOf replays records. After an error it returns the history of the records
// before.
func HistoryOf(records []journal.Record) (History, error) {
	h := NewHistory()
	for _, r := range records {
		if err := h.apply(r); err != nil {
			return h, &recordError{r, err}
		}
	}
	return h, nil
}

// unresolved returns the paths of files that HBase may have loaded: the job has
// sent them and knows no answer.
func (h *History) unresolved() []string {
	var paths []string
	if h.Finished && !h.undoUnderWay() {
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

// apply applies a record to the history. It is the only place where journals are
// read, also those of version 0.1, and where a process applies the records that it writes.
// Unknown events are ignored.
func (h *History) apply(r journal.Record) error {
	h.records++
	if r.Time.After(h.Last) {
		h.Last = r.Time
	}
	if n := len(h.Attempts); n > 0 {
		h.Attempts[n-1].Ended = r.Time
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

// step records a finished step of the last attempt, and the phase after it.
func (h *History) step(r journal.Record, next string) {
	if n := len(h.Attempts); n > 0 {
		h.Attempts[n-1].Steps = append(h.Attempts[n-1].Steps, DoneStep{r.Event, r.Time})
	}
	h.phase = next
}

// recordError is the error of a record that this version does not understand.
type recordError struct {
	record journal.Record
	err    error
}

func (e *recordError) Error() string {
	return fmt.Sprintf("record %d (%s): %v", e.record.Seq, e.record.Event, e.err)
}
func (e *recordError) Unwrap() error { return e.err }
