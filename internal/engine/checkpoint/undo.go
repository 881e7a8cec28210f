package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"bulkload/internal/base/durable"
	"bulkload/internal/engine/journal"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// What a job's state says of its undo.
const (
	UndoPending  = "pending"   // of a table of several: its markers are not loaded yet
	UndoUnderWay = "under way" // begun, and the same undo resumes it
	UndoDone     = "undone"
)

// UndoRecord is a finished load that is being taken out of its table again. A
// zero one says that it stays: nothing was changed.
type UndoRecord struct {
	Timestamp int64  `json:"timestamp,omitempty"`
	Snapshot  string `json:"snapshot,omitempty"` // of the table, from which its rows are read
	Created   int64  `json:"created,omitempty"`  // the time that it is given, by which it is known again
	Staging   string `json:"staging,omitempty"`  // directory of the files with markers

	Tables []UndoTable `json:"tables,omitempty"` // what further tables have of their own, in the order of loading

	From    *RestoredFrom `json:"from,omitempty"`    // by a snapshot from before the load; nil: by markers
	Servers []string      `json:"servers,omitempty"` // region servers that lived before a table is taken out of service to be restored; none: not known
}

// RestoredFrom is a snapshot from before a load, which a table is to get back.
type RestoredFrom struct {
	Snapshot string `json:"snapshot"`
	Created  int64  `json:"created"`           // the time of its making, milliseconds
	Into     string `json:"into,omitempty"`    // a new table that is made of it; empty: the table itself
	Discard  bool   `json:"discard,omitempty"` // what others have written since may be lost
}

// RestoringRecord is what is lost and seen again when the master restores a snapshot, and the number by which it knows the request when it is repeated.
type RestoringRecord struct {
	Undo  *result.Undo `json:"undo"`
	Nonce uint64       `json:"nonce"`
}

// UndoTable is what an undo needs of one table.
type UndoTable struct {
	Table    string `json:"table"`
	Snapshot string `json:"snapshot"`
	Staging  string `json:"staging"`
}

// Of is that of a table, by its number in the order of loading; the first one has no name.
func (u UndoRecord) Of(number int) UndoTable {
	if number == 0 {
		return UndoTable{Snapshot: u.Snapshot, Staging: u.Staging}
	}
	return u.Tables[number-1]
}

// MarkersRecord is what an undo is going to do, and the files by which.
type MarkersRecord struct {
	Undo   *result.Undo   `json:"undo"`
	Files  []loader.HFile `json:"files"`
	Tables []UndoMarkers  `json:"tables,omitempty"` // the files of further tables, in the order of loading
}

// UndoMarkers are the files with markers of a further table.
type UndoMarkers struct {
	Table string         `json:"table"`
	Files []loader.HFile `json:"files"`
}

// UndoneRecord is an undo that is done.
type UndoneRecord struct {
	Undo *result.Undo `json:"undo"`
}

// Undoing is what a journal says of the undo of its job.
type Undoing struct {
	UndoRecord
	Result  *result.Undo     // what it does, as predicted; nil before the markers are written
	Markers [][]loader.HFile // files with them, of each table in the order of loading
	Built   bool             // they are all written
	Written int              // how often they were, in all or of one table
	Sent    map[int]bool     // tables that may have markers, by number
	Out     map[int]bool     // tables that no longer have cells of the load, which was verified
	Differs bool             // a table was not as predicted

	Restoring *RestoringRecord // the master is asked to restore a snapshot, or may have been; nil: not yet
	Restored  bool             // it has
	Done      bool
	DoneAt    time.Time
}

func (h *History) undoUnderWay() bool { return h.Undo != nil && !h.Undo.Done }

// replayUndo takes a record of an undo into account. What was under way of the
// load is over when it begins: it was finished.
func (h *History) replayUndo(r journal.Record) error {
	if Event(r.Event) == EventUndoing {
		u, err := Decode[UndoRecord](r)
		h.forgetUndone()
		if u.Timestamp == 0 {
			h.Undo = nil
		} else {
			h.beginUndo(u)
		}
		return err
	}
	if h.Undo == nil {
		return errors.New("there is no undo")
	}
	if Event(r.Event) == EventMarkers {
		m, err := Decode[MarkersRecord](r)
		if err == nil && len(m.Tables) != len(h.Undo.Tables) {
			err = fmt.Errorf("it has %d further tables, the undo has %d", len(m.Tables), len(h.Undo.Tables))
		}
		if err == nil && (m.Undo == nil || len(m.Undo.Tables) != len(m.Tables)) {
			err = errors.New("it does not have the undo's steps for each table")
		}
		h.Undo.wrote(m)
		h.tableLoad = tableLoad{Token: h.Token, Files: map[string]loadState{}, Leaves: map[string]loader.HFile{}} // the files of the load are replaced by those with markers
		return err
	}
	if Event(r.Event) == EventRestoring {
		m, err := Decode[RestoringRecord](r)
		h.Undo.Restoring, h.Undo.Result = &m, m.Undo
		return err
	}
	if Event(r.Event) == EventRestored {
		_, err := Decode[TurnRecord](r)
		h.Undo.Restored = true
		return err
	}
	if Event(r.Event) == EventTableUndone {
		t, err := Decode[TurnRecord](r)
		h.Undo.Out[t.Number] = true
		return err
	}
	d, err := Decode[UndoneRecord](r)
	h.forgetUndone()
	if h.Undo.From.into() != "" { // the load stays in its table
		h.Undo, h.Copied = nil, d.Undo
		h.endAttempt()
		return err
	}
	h.Undo.Done, h.Undo.DoneAt, h.Undo.Result = true, r.Time, d.Undo
	h.step(r, "")
	h.endAttempt()
	return err
}

// endAttempt notes that the last attempt has done what it was for.
func (h *History) endAttempt() {
	if n := len(h.Attempts); n > 0 {
		h.Attempts[n-1].State = JobDone
	}
}

// into is the new table that is made of the snapshot, empty if none is.
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

// forgetUndone forgets the snapshots of an undo that has ended: it has deleted them before, or left them to people. Earlier versions did not
// record that.
func (h *History) forgetUndone() {
	if h.Undo == nil {
		return
	}
	for i := range len(h.Undo.Tables) + 1 {
		delete(h.OwnSnapshots, PlaceUndone(i))
	}
}

// wrote takes the files with markers into account.
func (u *Undoing) wrote(m MarkersRecord) {
	u.Result, u.Markers, u.Built, u.Written = m.Undo, [][]loader.HFile{m.Files}, true, u.Written+1
	for _, t := range m.Tables {
		u.Markers = append(u.Markers, t.Files)
	}
}

// beginUndo makes room for the loads of an undo's files. How far the job's own got stays known, and that an undo which is
// begun again has sent markers.
func (h *History) beginUndo(u UndoRecord) {
	sent := map[int]bool{}
	if h.undoUnderWay() {
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

// ofTable says how far the undo of a table of several is.
func (u *Undoing) ofTable(number int, loading bool) string {
	switch {
	case u == nil:
		return ""
	case u.Done || u.Out[number]:
		return UndoDone
	case loading || u.Sent[number]:
		return UndoUnderWay
	}
	return UndoPending
}

// OpenDir takes the lock of a job whose directory is known, and reads its journal. It connects the cluster if that has
// the state, until the job is closed.
func OpenDir(ctx context.Context, env *cluster.Env, dir string, wait time.Duration, e progress.Events) (_ *Job, err error) {
	st := &Job{Dir: dir}
	c, err := dialShared(ctx, env, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && c != nil {
			c.Close()
		}
	}()
	if st.lock, err = WaitLock(ctx, c, dir, wait, e); err != nil {
		return nil, err
	}
	st.lock.own = c
	if err := st.reopen(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if st.Plan != nil {
		st.ID, st.Table = st.Plan.Job, st.Plan.Table
	}
	st.stop = newStopAfter()
	return st, nil
}

// Undone is a timestamp whose cells were deleted one by one: markers hide what
// is written with it again, for as long as no compaction has dropped them, and
// in some regions only.
type Undone struct {
	Cluster   string `json:"cluster"` // its id
	Table     string `json:"table"`
	Timestamp int64  `json:"timestamp"`
	Job       string `json:"job"` // name of its directory
}

// ledger has the timestamps that were undone by jobs of a state directory. It
// outlives the jobs.
const (
	ledgerDir   = "undone"
	ledgerEvent = "undone"
)

// ledgerWait is how long another process may hold the ledger, which takes no
// longer than a write.
const ledgerWait = 30 * time.Second

// ReadUndone lists the timestamps that jobs of a state directory have undone,
// or begun to.
func ReadUndone(ctx context.Context, c *loader.Cluster, state string, e progress.Events) ([]Undone, error) {
	s, err := sharedOf(state)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	var records []journal.Record
	switch {
	case s != nil:
		records, err = s.read(ctx, c, ledgerDir)
	case hasJournal(filepath.Join(state, ledgerDir)):
		err = withLedger(ctx, c, state, e, func(_ *journal.Journal, all []journal.Record) error {
			records = all
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	all := make([]Undone, len(records))
	for i, r := range records {
		if all[i], err = Decode[Undone](r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// NoteUndone keeps a timestamp of a table from being used again. It is on disk
// when NoteUndone returns.
func NoteUndone(ctx context.Context, c *loader.Cluster, state string, u Undone, e progress.Events) error {
	return withLedger(ctx, c, state, e, func(j *journal.Journal, records []journal.Record) error {
		for _, r := range records {
			if had, err := Decode[Undone](r); err != nil || had == u {
				return err
			}
		}
		_, err := j.Append(ledgerEvent, u, journal.First)
		return err
	})
}

func withLedger(ctx context.Context, c *loader.Cluster, state string, e progress.Events, do func(*journal.Journal, []journal.Record) error) (err error) {
	dir := filepath.Join(state, ledgerDir)
	defer func() {
		if err != nil && fail.KindOf(err) == fail.Unexpected {
			err = fail.With(fail.Config, setting.Errorf("timestamps that were undone, in %s: %w (name another directory with %s)", dir, err, setting.State))
		}
	}()
	if err := durable.MakePrivateDir(dir); err != nil {
		return err
	}
	lock, err := WaitLock(ctx, c, dir, ledgerWait, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	j, records, err := lock.Open()
	if err != nil {
		return err
	}
	return errors.Join(do(j, records), j.Close())
}
