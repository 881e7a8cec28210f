package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/pkg/loader"
)

// loadEvents returns the events about loading the files, up to the end of the job.
func loadEvents() []EventInfo {
	return []EventInfo{
		ofRecord(EventSnapshotting, journal.First, "before the master is asked for a snapshot; without a name, after it proved to be another's", (*History).snapshot),
		ofRecord(EventSnapshot, journal.First, "after the snapshot is complete",
			func(h *History, r journal.Record, s SnapshotRecord) error {
				h.Snapshot = s.Snapshot
				return h.snapshot(r, s)
			}).followedBy("load"),
		ofRecord(EventTable, journal.Later, "before a job of several tables loads and verifies one, or takes its load out again: what follows on files is of this one, counted from 0",
			func(h *History, _ journal.Record, t TurnRecord) error {
				if t.Number < 0 {
					return fmt.Errorf("it has the number %d", t.Number)
				}
				h.turn(t.Number)
				return nil
			}),
		of(EventReplaced, journal.First, "after the files with delete markers are written, which are loaded with the job's", func(h *History, d ReplacedRecord) { h.Replace = d.Replace }).followedBy("load"),
		of(EventLoading, journal.First, "before HBase is asked to load the first file: all files", // the copy next to the files shows it: the journal must not lose it
			func(h *History, l FilesRecord) {
				h.Loading = true
				h.set(l.Files, FileReady)
			}).followedBy("load"),
		of(EventCut, journal.First, "after a file with rows of several regions was cut, before its parts are sent", (*History).rewrite),
		of(EventMerged, journal.First, "after files of a region were merged, before the new one is sent", (*History).rewrite),
		of(EventPrepared, journal.First, "after HBase made its own staging directory for the load",
			func(h *History, t TokenRecord) {
				h.Token = t.Token
				h.prepare(t.Token, h.tableOf(h.Current))
			}),
		ofRecord(EventSending, journal.First, "before files are sent: from now on HBase may have them", (*History).send),
		of(EventLoaded, journal.Later, "after HBase has taken files, by its answer or because they were found in the table", (*History).load),
		of(EventReturned, journal.Later, "after it is certain that HBase has not taken files: refused, not sent, or found at their source", func(h *History, f FilesRecord) { h.set(f.Files, FileReady) }),
		{Event: EventUnknown, Record: FilesRecord{}, Synced: journal.Later, When: "after an answer was lost: HBase may have the files"},
		{Event: EventFencing, Record: FencingRecord{}, Synced: journal.First, When: "before a file gets another name (to), so that a request that still waits cannot find it"},
		of(EventFenced, journal.Later, "after it has that name; from is the one before",
			func(h *History, f FencingRecord) {
				h.forget(cmp.Or(f.From, f.To))
				h.set([]loader.HFile{f.File}, FileReady)
			}),
		of(EventCleaned, journal.Later, "after HBase removed its staging directory; after done, when the job's own is removed", (*History).clean),
		EventInfo{Event: EventVerified, Record: &result.Verification{}, Synced: journal.Later, When: "after the table was compared with what was written",
			apply: func(h *History, _ journal.Record) error { h.verified = true; return nil }}.followedBy("verify"),
		of(EventCluster, journal.First, "after a cluster has the files of a job for several, and its tables were verified", func(h *History, c ClusterRecord) { h.Clusters[c.Conf] = c.Result }),
		of(EventFailed, journal.First, "when an attempt ends with an error", (*History).fail),
		ofRecord(EventDone, journal.First, "when nothing is left to do",
			func(h *History, r journal.Record, d DoneRecord) error {
				if h.Finished, h.FinishedAt, h.Result, h.StagingEnd = true, r.Time, d.Result, d.Staging; d.Next {
					h.StagingEnd = StagingRemoving
				}
				LastAttempt(h.Attempts).State = JobDone
				return nil
			}).followedBy(""),
		ofRecord(EventDropping, journal.First, "before the table is dropped in whose place the job's has come", (*History).drop),
		ofRecord(EventDropped, journal.First, "after it is dropped", (*History).drop),
	}
}

func (h *History) clean(t TokenRecord) {
	if h.Finished && h.Plan != nil && t.Token == h.Plan.Staging {
		h.StagingEnd = StagingGone
	}
	h.prepare(t.Token, "")
}

func (h *History) snapshot(r journal.Record, s SnapshotRecord) error {
	s.At = r.Time
	if s.Snapshot == h.Snapshotting.Snapshot {
		s.Created = cmp.Or(s.Created, h.Snapshotting.Created)
	}
	h.Snapshotting = s
	return nil
}

// rewrite replaces files in the history by the files that were made from them.
func (h *History) rewrite(w RewrittenRecord) {
	for _, p := range w.Parents {
		h.forget(p.Path)
		h.Replaced = append(h.Replaced, p.Path)
	}
	h.set(w.Children, FileReady)
}

// load applies files that were loaded. One whose answer was lost has a record without a region, when it is found in the table, and then one with it.
func (h *History) load(f FilesRecord) {
	if h.loads == nil { // otherwise the load is an undo's
		for _, file := range f.Files {
			if h.Files[file.Path] != FileLoaded {
				h.LoadedFiles++
			}
		}
		if f.Region != "" {
			h.region(f.Region).Files += len(f.Files)
		}
	}
	h.set(f.Files, FileLoaded)
}

func (h *History) send(_ journal.Record, s SendingRecord) error {
	if !slices.ContainsFunc(s.Groups, func(g FilesRecord) bool { return len(g.Files) > 0 }) {
		return errors.New("it lists no files")
	}
	if h.UndoRunning() {
		h.Undo.Sent[h.Current] = true
	}
	for _, g := range s.Groups {
		h.set(g.Files, FileSent)
		if h.loads == nil {
			h.region(g.Region).Server = g.Server
		}
	}
	return nil
}

// fail applies the end of an attempt with an error.
func (h *History) fail(f FailedRecord) {
	a := LastAttempt(h.Attempts)
	if a.State, a.Error, a.Kind = JobFailed, f.Error, f.Kind; f.Stopped {
		a.State = JobStopped
	}
	h.phase = cmp.Or(f.Phase, h.phase)
	if h.UndoRunning() && f.Phase == "verify" {
		h.Undo.Differs = true
	}
}

func (h *History) set(files []loader.HFile, to loadState) {
	for _, f := range files {
		h.Files[f.Path] = to
		h.Leaves[f.Path] = f
	}
}

// forget removes a file from the load, because another replaces it.
func (h *History) forget(path string) {
	delete(h.Files, path)
	delete(h.Leaves, path)
}

// region returns the entry of a region that files were sent to, and creates it if
// needed.
func (h *History) region(name string) *Taken {
	i, known := h.takenAt[name]
	if !known {
		i = len(h.Taken)
		h.takenAt[name] = i
		h.Taken = append(h.Taken, Taken{Region: name})
	}
	return &h.Taken[i]
}
