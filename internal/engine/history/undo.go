package history

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
)

// States of a job's undo.
const (
	UndoPending = "pending"   // for one of several tables: its markers are not loaded yet
	UndoRunning = "under way" // begun; the same undo resumes it
	UndoDone    = "undone"
)

// UndoRecord is a finished load that is being removed from its table. A zero record
// means that the undo was refused and nothing was changed.
type UndoRecord struct {
	Timestamp int64  `json:"timestamp,omitempty"`
	Snapshot  string `json:"snapshot,omitempty"` // snapshot of the table, from which its rows are read
	Created   int64  `json:"created,omitempty"`  // assigned creation time, which identifies it
	Staging   string `json:"staging,omitempty"`  // directory of the files with delete markers

	Tables []UndoTable `json:"tables,omitempty"` // fields of further tables, in loading order

	From    *RestoredFrom `json:"from,omitempty"`    // undo by a snapshot from before the load; nil: by delete markers
	Servers []string      `json:"servers,omitempty"` // region servers that were alive before a table is taken out of service to be restored; none: unknown
}

// RestoredFrom is a snapshot from before a load, from which a table is restored.
type RestoredFrom struct {
	Snapshot string `json:"snapshot"`
	Created  int64  `json:"created"`           // creation time, milliseconds
	Into     string `json:"into,omitempty"`    // a new table that is made from it; empty: the table itself is restored
	Discard  bool   `json:"discard,omitempty"` // later changes of others may be lost
}

// RestoringRecord has the cells that are lost and visible again when the master restores a snapshot, and the nonce that identifies repeated requests.
type RestoringRecord struct {
	Undo  *result.Undo `json:"undo"`
	Nonce uint64       `json:"nonce"`
}

// UndoTable has the fields of an undo for one table.
type UndoTable struct {
	Table    string `json:"table"`
	Snapshot string `json:"snapshot"`
	Staging  string `json:"staging"`
}

// Of returns the fields for a table, by its number in loading order; for the first table they have no name.
func (u UndoRecord) Of(number int) UndoTable {
	if number == 0 {
		return UndoTable{Snapshot: u.Snapshot, Staging: u.Staging}
	}
	return u.Tables[number-1]
}

// MarkersRecord is the predicted result of an undo, and the files with its delete markers.
type MarkersRecord struct {
	Undo   *result.Undo   `json:"undo"`
	Files  []loader.HFile `json:"files"`
	Tables []UndoMarkers  `json:"tables,omitempty"` // the files of further tables, in loading order
}

// UndoMarkers are the files with delete markers of a further table.
type UndoMarkers struct {
	Table string         `json:"table"`
	Files []loader.HFile `json:"files"`
}

// UndoneRecord is the record of a finished undo.
type UndoneRecord struct {
	Undo *result.Undo `json:"undo"`
}

// Undoing is the state of a job's undo according to its journal.
type Undoing struct {
	UndoRecord
	Result  *result.Undo     // predicted result; nil before the markers are written
	Markers [][]loader.HFile // files with delete markers, for each table in loading order
	Built   bool             // all of them are written
	Written int              // how often they were written, all of them or those of one table
	Sent    map[int]bool     // tables that may have markers, by number
	Out     map[int]bool     // tables that verifiably have no cells of the load any more
	Differs bool             // a table was not as predicted

	Restoring *RestoringRecord // the master is asked to restore a snapshot, or may have been; nil: not yet
	Restored  bool             // the restore is complete
	Done      bool
	DoneAt    time.Time
}

// UndoRunning reports whether an undo of the load has begun, and has not ended.
func (h *History) UndoRunning() bool { return h.Undo != nil && !h.Undo.Done }

// undoEvents returns the events of undoing a finished load.
func undoEvents() []EventInfo {
	return []EventInfo{
		of(EventUndoing, journal.First, "before a finished load is taken out of the table again, or a new table is made like it was before; without a timestamp, after that was refused and nothing was changed", (*History).undo),
		ofRecord(EventMarkers, journal.First, "after the files with delete markers are written, which are loaded next; again, after those of the current table were written again; none of these is loaded then", (*History).markers),
		ofRecord(EventRestoring, journal.First, "before the master is asked to restore a snapshot from before the load, into the table, which is out of service, or into a new one",
			func(h *History, _ journal.Record, m RestoringRecord) error {
				return h.undoing(func(u *Undoing) { u.Restoring, u.Result = &m, m.Undo })
			}),
		ofRecord(EventRestored, journal.First, "after it has, before the table is put into service",
			func(h *History, _ journal.Record, _ TurnRecord) error {
				return h.undoing(func(u *Undoing) { u.Restored = true })
			}),
		ofRecord(EventTableUndone, journal.First, "after the load is taken out of a table, and that was verified; the next one's files follow",
			func(h *History, _ journal.Record, t TurnRecord) error {
				return h.undoing(func(u *Undoing) { u.Out[t.Number] = true })
			}),
		ofRecord(EventUndone, journal.First, "after the load is out of the table, and that was verified", (*History).undone),
	}
}

// undo begins an undo, or cancels it. Operations of the load are over when it begins, since the load was finished.
func (h *History) undo(u UndoRecord) {
	h.forgetUndone()
	if u.Timestamp == 0 {
		h.Undo = nil
	} else {
		h.beginUndo(u)
	}
}

// undoing applies a record of an undo.
func (h *History) undoing(take func(u *Undoing)) error {
	if h.Undo == nil {
		return errors.New("there is no undo")
	}
	take(h.Undo)
	return nil
}

func (h *History) markers(_ journal.Record, m MarkersRecord) error {
	switch {
	case h.Undo == nil:
		return errors.New("there is no undo")
	case len(m.Tables) != len(h.Undo.Tables):
		return fmt.Errorf("it has %d further tables, the undo has %d", len(m.Tables), len(h.Undo.Tables))
	case m.Undo == nil || len(m.Undo.Tables) != len(m.Tables):
		return errors.New("it does not have the undo's steps for each table")
	}
	h.Undo.wrote(m)
	load := newTableLoad() // the files with markers replace the files of the load
	load.Token = h.Token
	h.tableLoad = load
	return nil
}

func (h *History) undone(r journal.Record, d UndoneRecord) error {
	return h.undoing(func(u *Undoing) {
		h.forgetUndone()
		if u.From.into() != "" { // the load stays in its table
			h.Undo, h.Copied = nil, d.Undo.At(r.Time)
		} else {
			u.Done, u.DoneAt, u.Result = true, r.Time, d.Undo
			h.step(r, "")
		}
		LastAttempt(h.Attempts).State = JobDone
	})
}

// into returns the new table that is made from the snapshot, empty if there is none.
func (f *RestoredFrom) into() string {
	if f == nil {
		return ""
	}
	return f.Into
}

// Offline reports whether the table is out of service for the undo, or may be.
func (u *Undoing) Offline() bool {
	return u != nil && !u.Done && u.From != nil && u.From.Into == "" && !u.Out[0]
}

// forgetUndone removes the snapshots of an undo that has ended from the history: it has deleted them, or left them to people. Earlier versions did
// not record that.
func (h *History) forgetUndone() {
	if h.Undo == nil {
		return
	}
	for i := range len(h.Undo.Tables) + 1 {
		delete(h.OwnSnapshots, PlaceUndone(i))
	}
}

// wrote applies the record of the files with markers.
func (u *Undoing) wrote(m MarkersRecord) {
	u.Result, u.Markers, u.Built, u.Written = m.Undo, [][]loader.HFile{m.Files}, true, u.Written+1
	for _, t := range m.Tables {
		u.Markers = append(u.Markers, t.Files)
	}
}

// beginUndo resets the state of loads for the files of an undo. The progress of the job's own load is kept, and so is the fact that an undo which is
// begun again has already sent markers.
func (h *History) beginUndo(u UndoRecord) {
	sent := map[int]bool{}
	if h.UndoRunning() {
		sent = h.Undo.Sent
	}
	h.Undo = &Undoing{UndoRecord: u, Sent: sent, Out: map[int]bool{}}
	for i := range len(u.Tables) + 1 {
		h.own(ReadSnapshotRecord{Place: PlaceUndone(i), Table: cmp.Or(u.Of(i).Table, h.tableOf(i)), Snapshot: u.Of(i).Snapshot, Created: u.Created})
	}
	if h.loads == nil {
		h.loads = h.tableLoads()
	}
	h.tableLoad, h.others = newTableLoad(), map[int]tableLoad{}
}

// ofTable returns the undo's state for one of several tables.
func (u *Undoing) ofTable(number int, loading bool) string {
	switch {
	case u == nil:
		return ""
	case u.Done || u.Out[number]:
		return UndoDone
	case loading || u.Sent[number]:
		return UndoRunning
	}
	return UndoPending
}
