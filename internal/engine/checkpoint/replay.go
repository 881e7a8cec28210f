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

// loadState is where a file is in its load.
type loadState int

const (
	FileReady loadState = iota // at its source
	FileSent                   // sent, and no answer is known: HBase may have it
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
	phase        string                          // that follows what is finished
	Submission   *SubmissionRecord               // the job on YARN whose output is not taken yet; nil: there is none
	Weights      []int64                         // of the regions, as jobs on YARN were packed by them; nil: there was none
	Prepared     map[string]string               // HBase's staging directories that may be there, with their tables
	Snapshot     string                          // that was taken
	Snapshotting SnapshotRecord                  // that was asked for
	OwnSnapshots map[string]ReadSnapshotRecord   // that the job takes for itself and that are not known to be gone, by place
	Quiet        map[string]QuietRecord          // tables that the job keeps quiet, or may keep so
	Replace      *result.Replace                 // what the load takes away; nil: nothing, or it is not known yet
	Exporting    *ExportingRecord                // nil: the job exports nothing, or has not begun to
	Exported     map[int]manifest.ExportedRegion // regions whose rows are in the directory
	Comparing    *ComparingRecord                // nil: the job compares nothing, or has not begun to
	Compared     map[int]result.ComparedRange    // ranges that were compared
	Clusters     map[string]result.Cluster       // that have the files of a job for several, by the directories of their configurations
	Fresh        *FreshRecord                    // the table that the job makes to take the place of another; nil: none
	Drop         DropRecord                      // of that other table; no table: it is kept
	tableLoad                                    // of the current table; a job of one table has no other
	table        int                             // its number, from 0
	others       map[int]tableLoad               // of the tables before the current one, by number
	loads        map[int]tableLoad               // those of all tables before an undo; nil: none was begun
	taken        []Taken                         // regions that have taken files
	loadedFiles  int                             // by them
	Finished     bool
	FinishedAt   time.Time
	StagingEnd   string // what becomes of the staging directory of a job that is done: removed, kept; empty: not reported
	Result       *result.Result
	Undo         *Undoing     // nil: the load was never undone, nor is being undone
	Copied       *result.Undo // a new table that has what the table had before the load; nil: none was made

	takenAt map[string]int // where a region is in taken
}

// tableLoad is how far the load of one table is.
type tableLoad struct {
	Token    string
	Loading  bool                 // files are on their way
	Files    map[string]loadState // by path
	Leaves   map[string]loader.HFile
	Replaced []string // paths of files that were cut or merged: others have their rows
	verified bool
}

func newTableLoad() tableLoad {
	return tableLoad{Files: map[string]loadState{}, Leaves: map[string]loader.HFile{}}
}

func NewHistory() History {
	return History{Done: build.NewDone(), tableLoad: newTableLoad(), others: map[int]tableLoad{}, takenAt: map[string]int{},
		Prepared: map[string]string{}, OwnSnapshots: map[string]ReadSnapshotRecord{}, Quiet: map[string]QuietRecord{}, Clusters: map[string]result.Cluster{}}
}

// turn goes to another table: what records say of files is of that one from now on.
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

// HistoryOf replays records. After an error the history is that of the records
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

// unresolved returns the paths of files that HBase may have loaded: they were
// sent, and no answer is known.
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

// apply takes a record into account. It is the one place where journals are
// read, those of version 0.1 too, and where the process that writes a record takes it into account.
// Events that are not known are ignored.
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

// step notes what the last attempt has finished, and which phase follows.
func (h *History) step(r journal.Record, next string) {
	if n := len(h.Attempts); n > 0 {
		h.Attempts[n-1].Steps = append(h.Attempts[n-1].Steps, DoneStep{r.Event, r.Time})
	}
	h.phase = next
}

// recordError is about a record that this version does not understand.
type recordError struct {
	record journal.Record
	err    error
}

func (e *recordError) Error() string {
	return fmt.Sprintf("record %d (%s): %v", e.record.Seq, e.record.Event, e.err)
}
func (e *recordError) Unwrap() error { return e.err }
