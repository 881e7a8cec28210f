package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/pkg/build"
	"bulkload/pkg/journal"
	"bulkload/pkg/result"
)

// loadState is where a file is in its load.
type loadState int

const (
	fileReady loadState = iota // at its source
	fileSent                   // sent, and no answer is known: HBase may have it
	fileLoaded
)

// history is what a journal tells: what is finished, and what is not known.
// Resuming, status and clean all read it.
type history struct {
	build.Done
	records      int
	last         time.Time // of a record
	plan         *planRecord
	attempts     []Attempt
	phase        string         // that follows what is finished
	snapshot     string         // that was taken
	snapshotting snapshotRecord // that was asked for
	token        string
	loading      bool                 // files are on their way
	files        map[string]loadState // by path
	leaves       map[string]fileRecord
	taken        []Taken // regions that have taken files
	loadedFiles  int     // by them
	verified     bool
	done         bool
	doneAt       time.Time
	staging      string // what becomes of the staging directory of a job that is done: removed, kept; empty: not told
	result       *result.Result

	takenAt map[string]int // where a region is in taken
}

func newHistory() history {
	return history{Done: build.NewDone(), files: map[string]loadState{}, leaves: map[string]fileRecord{}, takenAt: map[string]int{}}
}

// historyOf replays records. After an error the history is that of the records
// before.
func historyOf(records []journal.Record) (history, error) {
	h := newHistory()
	for _, r := range records {
		if err := h.replay(r); err != nil {
			return h, &recordError{r, err}
		}
	}
	return h, nil
}

// unresolved are the paths of files of which HBase may have some: they were
// sent, and no answer is known.
func (h *history) unresolved() []string {
	var paths []string
	if h.done {
		return nil
	}
	for path, at := range h.files {
		if at == fileSent {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// replay takes a record into account. It is the one place where journals are
// read, those of version 0.1 too. Events that are not known are ignored.
func (h *history) replay(r journal.Record) (err error) {
	h.records++
	if r.Time.After(h.last) {
		h.last = r.Time
	}
	if n := len(h.attempts); n > 0 {
		h.attempts[n-1].Ended = r.Time
	}
	switch Event(r.Event) {
	case EventPlan:
		p, err := decode[planRecord](r)
		h.plan = &p
		return err
	case EventAttempt:
		a, err := decode[attemptRecord](r)
		h.attempts = append(h.attempts, Attempt{Attempt: a.Attempt, PID: a.PID, Host: a.Host, Version: a.Version,
			Began: r.Time, Ended: r.Time, State: JobInterrupted, Steps: []Step{}})
		h.phase = cmp.Or(h.phase, "read")
		return err
	case EventSorted:
		s, err := decode[build.SortedRecord](r)
		h.Sorted = &s
		h.step(r, "write")
		return err
	case EventSpill:
		s, err := decode[build.SpillRecord](r)
		h.ForgetSpill(s.Dir)
		return err
	case EventWritten:
		w, err := decode[build.WrittenRecord](r)
		h.Written[w.Region] = w
		return err
	case EventBuilt:
		b, err := decode[builtRecord](r)
		if err == nil && b.Manifest == nil {
			err = errors.New("it has no manifest")
		}
		h.Built = b.Manifest
		h.step(r, "load")
		return err
	case EventSnapshotting, EventSnapshot:
		s, err := decode[snapshotRecord](r)
		s.at = r.Time
		if h.snapshotting = s; Event(r.Event) == EventSnapshot {
			h.snapshot = s.Snapshot
			h.step(r, "load")
		}
		return err
	case EventLoading:
		l, err := decode[filesRecord](r)
		h.loading = true
		h.set(l.Files, fileReady)
		h.step(r, "load")
		return err
	case EventPrepared:
		t, err := decode[tokenRecord](r)
		h.token = t.Token
		return err
	case EventSending:
		s, err := decode[sendingRecord](r)
		if err == nil && !slices.ContainsFunc(s.Groups, func(g filesRecord) bool { return len(g.Files) > 0 }) {
			err = errors.New("it names no files")
		}
		for _, g := range s.Groups {
			h.set(g.Files, fileSent)
			h.region(g.Region).Server = g.Server
		}
		return err
	case EventLoaded:
		f, err := decode[filesRecord](r)
		h.set(f.Files, fileLoaded)
		h.loadedFiles += len(f.Files)
		h.region(f.Region).Files += len(f.Files)
		return err
	case EventReturned:
		f, err := decode[filesRecord](r)
		h.set(f.Files, fileReady)
		return err
	case EventFenced:
		f, err := decode[fencingRecord](r)
		was := cmp.Or(f.From, f.To)
		delete(h.files, was)
		delete(h.leaves, was)
		h.set([]fileRecord{f.File}, fileReady)
		return err
	case EventCut, EventMerged:
		w, err := decode[rewrittenRecord](r)
		for _, p := range w.Parents {
			delete(h.files, p.Path)
			delete(h.leaves, p.Path)
		}
		h.set(w.Children, fileReady)
		return err
	case EventVerified:
		h.verified = true
		h.step(r, "verify")
	case EventFailed:
		f, err := decode[failedRecord](r)
		if n := len(h.attempts); n > 0 {
			h.attempts[n-1].State, h.attempts[n-1].Error = JobFailed, f.Error
		}
		return err
	case EventDone:
		d, err := decode[doneRecord](r)
		h.done, h.doneAt, h.result, h.staging = true, r.Time, d.Result, d.Staging
		h.step(r, "")
		if n := len(h.attempts); n > 0 {
			h.attempts[n-1].State = JobDone
		}
		return err
	}
	return nil
}

func (h *history) set(files []fileRecord, to loadState) {
	for _, f := range files {
		h.files[f.Path] = to
		h.leaves[f.Path] = f
	}
}

// step notes what the last attempt has finished, and which phase follows.
func (h *history) step(r journal.Record, next string) {
	if n := len(h.attempts); n > 0 {
		h.attempts[n-1].Steps = append(h.attempts[n-1].Steps, Step{r.Event, r.Time})
	}
	h.phase = next
}

// region is the entry of a region that was asked to take files.
func (h *history) region(name string) *Taken {
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
