package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/loader"
)

// loadState is where a file is in its load.
type loadState int

const (
	FileReady loadState = iota // at its source
	FileSent                   // sent, and no answer is known: HBase may have it
	FileLoaded
)

// History is what a journal says: what is finished, and what is not known.
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

// tableLoads are those of all tables up to the current one, by number.
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

// unresolved are the paths of files that HBase may have loaded: they were
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
func (h *History) apply(r journal.Record) (err error) {
	h.records++
	if r.Time.After(h.Last) {
		h.Last = r.Time
	}
	if n := len(h.Attempts); n > 0 {
		h.Attempts[n-1].Ended = r.Time
	}
	switch Event(r.Event) {
	case EventPlan:
		p, err := Decode[PlanRecord](r)
		h.Plan = &p
		return err
	case EventRekey:
		k, err := Decode[RekeyRecord](r)
		own := ReadSnapshotRecord{Place: PlaceRekeyed, Table: k.From}
		if h.Rekey = &k; k.Own {
			own.Snapshot, own.Created = k.Snapshot, k.Created
		}
		h.own(own)
		return err
	case EventAttempt:
		a, err := Decode[AttemptRecord](r)
		h.Attempts = append(h.Attempts, Attempt{Attempt: a.Attempt, PID: a.PID, Host: a.Host, Version: a.Version,
			Began: r.Time, Ended: r.Time, State: JobInterrupted, Steps: []DoneStep{}})
		h.phase = cmp.Or(h.phase, "read")
		return err
	case EventSorted:
		s, err := Decode[build.SortedRecord](r)
		h.Sort(s)
		h.step(r, "write")
		return err
	case EventSpill:
		s, err := Decode[build.SpillRecord](r)
		h.ForgetSpill(s.Dir)
		return err
	case EventStream:
		s, err := Decode[streams.Record](r)
		h.Stream(s)
		return err
	case EventReadSnapshot:
		s, err := Decode[ReadSnapshotRecord](r)
		h.own(s)
		return err
	case EventComparing:
		c, err := Decode[ComparingRecord](r)
		h.Comparing, h.Compared = &c, map[int]result.ComparedRange{}
		h.phase = "compare"
		return err
	case EventCompared:
		c, err := Decode[ComparedRecord](r)
		if err == nil && h.Comparing == nil {
			err = errors.New("the record of what is compared is missing")
		}
		if err == nil {
			h.Compared[c.Range] = c.Found
		}
		return err
	case EventExporting:
		x, err := Decode[ExportingRecord](r)
		h.Exporting, h.Exported = &x, map[int]manifest.ExportedRegion{}
		h.phase = "export"
		return err
	case EventExported:
		x, err := Decode[ExportedRecord](r)
		if err == nil && h.Exporting == nil {
			err = errors.New("the record of what is exported is missing")
		}
		if err == nil {
			h.Exported[x.Region] = x.Wrote
		}
		return err
	case EventSubmitting, EventSubmitted:
		s, err := Decode[SubmissionRecord](r)
		h.Submission = &s
		if len(s.Weights) > 0 {
			h.Weights = s.Weights
		}
		return err
	case EventCluster:
		c, err := Decode[ClusterRecord](r)
		h.Clusters[c.Conf] = c.Result
		return err
	case EventEnded:
		_, err := Decode[EndedRecord](r)
		h.Submission = nil
		return err
	case EventWritten:
		w, err := Decode[build.WrittenRecord](r)
		h.Write(w)
		return err
	case EventLost:
		l, err := Decode[build.LostRecord](r)
		h.Lose(l)
		return err
	case EventBuilt:
		b, err := Decode[BuiltRecord](r)
		if err == nil && b.Manifest == nil {
			err = errors.New("the manifest is missing")
		}
		h.Built, h.BuiltTables, h.Submission = b.Manifest, b.Tables, nil
		h.step(r, "load")
		return err
	case EventSnapshotting, EventSnapshot:
		s, err := Decode[SnapshotRecord](r)
		s.At = r.Time
		if s.Snapshot == h.Snapshotting.Snapshot {
			s.Created = cmp.Or(s.Created, h.Snapshotting.Created)
		}
		if h.Snapshotting = s; Event(r.Event) == EventSnapshot {
			h.Snapshot = s.Snapshot
			h.step(r, "load")
		}
		return err
	case EventTable:
		t, err := Decode[TurnRecord](r)
		if err == nil && t.Number < 0 {
			err = fmt.Errorf("it has the number %d", t.Number)
		}
		if err == nil {
			h.turn(t.Number)
		}
		return err
	case eventReplacing:
		s, err := Decode[SnapshotRecord](r)
		if err == nil && h.Plan == nil {
			err = errors.New("the plan with the table's name is missing")
		}
		if err == nil {
			h.own(ReadSnapshotRecord{Place: PlaceCompared, Table: h.compared(), Snapshot: s.Snapshot, Created: s.Created})
		}
		return err
	case EventReplaced:
		d, err := Decode[ReplacedRecord](r)
		h.Replace = d.Replace
		h.step(r, "load")
		return err
	case EventLoading:
		l, err := Decode[FilesRecord](r)
		h.Loading = true
		h.set(l.Files, FileReady)
		h.step(r, "load")
		return err
	case EventPrepared:
		t, err := Decode[TokenRecord](r)
		h.Token = t.Token
		h.prepare(t.Token, h.tableOf(h.table))
		return err
	case EventCleaned:
		t, err := Decode[TokenRecord](r)
		h.prepare(t.Token, "")
		return err
	case EventChecking:
		c, err := Decode[CheckingRecord](r)
		if c.Gone {
			c.Table = ""
		}
		h.prepare(c.Token, c.Table)
		return err
	case EventQuiet:
		q, err := Decode[QuietRecord](r)
		h.quiet(q)
		return err
	case EventSending:
		s, err := Decode[SendingRecord](r)
		if err == nil && !slices.ContainsFunc(s.Groups, func(g FilesRecord) bool { return len(g.Files) > 0 }) {
			err = errors.New("it lists no files")
		}
		if h.undoUnderWay() {
			h.Undo.Sent[h.table] = true
		}
		for _, g := range s.Groups {
			h.set(g.Files, FileSent)
			h.region(g.Region).Server = g.Server
		}
		return err
	case EventLoaded:
		f, err := Decode[FilesRecord](r)
		h.set(f.Files, FileLoaded)
		h.loadedFiles += len(f.Files)
		h.region(f.Region).Files += len(f.Files)
		return err
	case EventReturned:
		f, err := Decode[FilesRecord](r)
		h.set(f.Files, FileReady)
		return err
	case EventFenced:
		f, err := Decode[FencingRecord](r)
		was := cmp.Or(f.From, f.To)
		delete(h.Files, was)
		delete(h.Leaves, was)
		h.set([]loader.HFile{f.File}, FileReady)
		return err
	case EventCut, EventMerged:
		w, err := Decode[RewrittenRecord](r)
		for _, p := range w.Parents {
			delete(h.Files, p.Path)
			delete(h.Leaves, p.Path)
			h.Replaced = append(h.Replaced, p.Path)
		}
		h.set(w.Children, FileReady)
		return err
	case EventVerified:
		h.verified = true
		h.step(r, "verify")
	case EventFailed:
		f, err := Decode[FailedRecord](r)
		if n := len(h.Attempts); n > 0 {
			h.Attempts[n-1].State, h.Attempts[n-1].Error, h.Attempts[n-1].Kind = JobFailed, f.Error, f.Kind
			if f.Stopped {
				h.Attempts[n-1].State = JobStopped
			}
		}
		h.phase = cmp.Or(f.Phase, h.phase)
		if h.undoUnderWay() && f.Phase == "verify" {
			h.Undo.Differs = true
		}
		return err
	case EventDone:
		d, err := Decode[DoneRecord](r)
		h.Finished, h.FinishedAt, h.Result, h.StagingEnd = true, r.Time, d.Result, d.Staging
		h.step(r, "")
		h.endAttempt()
		return err
	case EventFresh, EventDropping, EventDropped:
		return h.replayFresh(r)
	case EventUndoing, EventMarkers, EventRestoring, EventRestored, EventTableUndone, EventUndone:
		return h.replayUndo(r)
	}
	return nil
}

// compared is the table with which an export is compared: the job's, or the one whose place that takes.
func (h *History) compared() string {
	if h.Fresh != nil {
		return h.Fresh.From
	}
	return h.Plan.Table
}

func (h *History) set(files []loader.HFile, to loadState) {
	for _, f := range files {
		h.Files[f.Path] = to
		h.Leaves[f.Path] = f
	}
}

// step notes what the last attempt has finished, and which phase follows.
func (h *History) step(r journal.Record, next string) {
	if n := len(h.Attempts); n > 0 {
		h.Attempts[n-1].Steps = append(h.Attempts[n-1].Steps, DoneStep{r.Event, r.Time})
	}
	h.phase = next
}

// region is the entry of a region that was asked to take files.
func (h *History) region(name string) *Taken {
	i, known := h.takenAt[name]
	if !known {
		i = len(h.taken)
		h.takenAt[name] = i
		h.taken = append(h.taken, Taken{Region: name})
	}
	return &h.taken[i]
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
