package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
)

// Event is the name of an event in a job's journal.
type Event string

// The events, in the order in which they occur in a job.
const (
	EventDiscarded    Event = "discarded"
	EventStream       Event = "stream"
	EventRekey        Event = "rekey"
	EventReadSnapshot Event = "read_snapshot"
	EventComparing    Event = "comparing"
	EventCompared     Event = "compared"
	EventExporting    Event = "exporting"
	EventExported     Event = "exported"
	EventCluster      Event = "cluster"
	EventFresh        Event = "fresh"
	EventPlan         Event = "plan"
	EventAttempt      Event = "attempt"
	EventChecking     Event = "checking"
	EventQuiet        Event = "quiet"
	EventSpill        Event = "spill"
	EventSorted       Event = "sorted"
	EventSubmitting   Event = "submitting"
	EventSubmitted    Event = "submitted"
	EventEnded        Event = "ended"
	EventWritten      Event = "written"
	EventLost         Event = "lost"
	EventBuilt        Event = "built"
	EventSnapshotting Event = "snapshotting"
	EventSnapshot     Event = "snapshot"
	EventTable        Event = "table"
	EventReplaced     Event = "replaced"
	EventLoading      Event = "loading"
	EventCut          Event = "cut"
	EventMerged       Event = "merged"
	EventPrepared     Event = "prepared"
	EventSending      Event = "sending"
	EventLoaded       Event = "loaded"
	EventReturned     Event = "returned"
	EventUnknown      Event = "unknown"
	EventFencing      Event = "fencing"
	EventFenced       Event = "fenced"
	EventCleaned      Event = "cleaned"
	EventVerified     Event = "verified"
	EventFailed       Event = "failed"
	EventDone         Event = "done"
	EventDropping     Event = "dropping"
	EventDropped      Event = "dropped"
	EventUndoing      Event = "undoing"
	EventMarkers      Event = "markers"
	EventRestoring    Event = "restoring"
	EventRestored     Event = "restored"
	EventTableUndone  Event = "table_undone"
	EventUndone       Event = "undone"
)

// eventReplacing is written by earlier versions for a snapshot of place [PlaceCompared]. It is only read.
const eventReplacing Event = "replacing"

// EventInfo describes an event: the type of its record, when the record is written, how durable it is before the job continues, and its effect on a
// history.
type EventInfo struct {
	Event  Event
	Record any // a zero value
	Synced journal.Durability
	When   string

	apply func(h *History, r journal.Record) error // nil: the event does not change a history
	step  bool                                     // the attempt has finished a step, and phase follows
	phase string
}

// of returns an event whose records have the fields of R. take applies them to a history.
func of[R any](e Event, synced journal.Durability, when string, take func(*History, R)) EventInfo {
	return ofRecord(e, synced, when, func(h *History, _ journal.Record, fields R) error {
		take(h, fields)
		return nil
	})
}

// ofRecord returns an event whose record can be refused, or whose time matters.
func ofRecord[R any](e Event, synced journal.Durability, when string, take func(*History, journal.Record, R) error) EventInfo {
	var none R
	return EventInfo{Event: e, Record: none, Synced: synced, When: when, apply: func(h *History, r journal.Record) error {
		fields, err := Decode[R](r)
		if err != nil {
			return err
		}
		return take(h, r, fields)
	}}
}

// followedBy marks the event as the end of a step, which phase follows.
func (i EventInfo) followedBy(phase string) EventInfo {
	i.step, i.phase = true, phase
	return i
}

// Events returns all events that are written. A job writes them by its Record, and only that and [Of] apply them.
func Events() []EventInfo {
	return slices.Concat(beginEvents(), buildEvents(), loadEvents(), undoEvents())
}

// eventsByName returns all events by name, including those that only earlier versions wrote.
var eventsByName = sync.OnceValue(func() map[Event]EventInfo {
	all := map[Event]EventInfo{}
	for _, i := range append(Events(), ofRecord(eventReplacing, journal.First, "", (*History).replacing)) {
		all[i.Event] = i
	}
	return all
})

// InfoOf returns the description of an event that is written with the given record.
func InfoOf(e Event, data any) (EventInfo, error) {
	info, known := eventsByName()[e]
	if !known || info.When == "" || reflect.TypeOf(info.Record) != reflect.TypeOf(data) {
		return EventInfo{}, fmt.Errorf("journal: unknown event %s with a record %T", e, data)
	}
	if c, ok := data.(CheckingRecord); ok && c.Gone {
		info.Synced = journal.Later // if the record is lost, the directory is only removed again
	}
	return info, nil
}

// Decode decodes a record's own fields.
func Decode[T any](r journal.Record) (v T, err error) {
	err = json.Unmarshal(r.Data, &v)
	return v, err
}

// beginEvents returns the events about the input and the plan of a job, and about the processes that work on it.
func beginEvents() []EventInfo {
	return []EventInfo{
		ofRecord(EventDiscarded, journal.First, "after all that the job had done was discarded, its journal too: it begins again, and keeps what the record names", (*History).startOver),
		of(EventStream, journal.First, "before a stream is copied to local disk; with whole, when the copy is; without copy, when that is gone", (*History).Stream),
		of(EventRekey, journal.First, "before a snapshot is taken or read whose rows get new keys: which it is, and how they get them", (*History).rekey),
		of(EventReadSnapshot, journal.First, "before the job takes a snapshot of a table for itself, to read an input or to compare with the table, or before an input is scanned; without either, when it is not read any more", (*History).own),
		of(EventComparing, journal.First, "before the first range of two tables is compared, and again when one of them is read again: no range counts as compared then",
			func(h *History, c ComparingRecord) {
				h.Comparing, h.Compared, h.phase = &c, map[int]result.ComparedRange{}, "compare"
			}),
		ofRecord(EventCompared, journal.OnDisk, "after a range of rows was compared",
			func(h *History, _ journal.Record, c ComparedRecord) error {
				return part(h.Compared, c.Range, c.Found)
			}),
		of(EventExporting, journal.First, "before a directory is taken for an export, and after the snapshot is open that is read: no region counts as exported then",
			func(h *History, x ExportingRecord) {
				h.Exporting, h.Exported, h.phase = &x, map[int]manifest.ExportedRegion{}, "export"
			}),
		ofRecord(EventExported, journal.Later, "after the rows of a region are in the directory of an export",
			func(h *History, _ journal.Record, x ExportedRecord) error {
				return part(h.Exported, x.Region, x.Wrote)
			}),
		of(EventFresh, journal.First, "before a table is made that takes the place of another, after it is made, and after the export was compared with the other; without a table, when one of that name proved to be another's", (*History).fresh),
		of(EventPlan, journal.First, "before the inputs are read for the first time: what the job is going to do", func(h *History, p PlanRecord) { h.Plan = &p }),
		ofRecord(EventAttempt, journal.Later, "when a process begins to work on the job", (*History).attempt),
		of(EventChecking, journal.First, "after HBase made its own staging directory for a check of the job; with gone, not synced, after it removed it",
			func(h *History, c CheckingRecord) {
				if c.Gone {
					c.Table = ""
				}
				h.prepare(c.Token, c.Table)
			}),
		of(EventQuiet, journal.First, "before splits, merges and normalization of a table are switched off, with the attributes as they were; with over, after it has them again", (*History).quiet),
	}
}

// buildEvents returns the events about building the files.
func buildEvents() []EventInfo {
	return []EventInfo{
		of(EventSpill, journal.Later, "before a directory for sorted runs is made; without one, after it is gone", func(h *History, s build.SpillRecord) { h.ForgetSpill(s.Dir) }),
		of(EventSorted, journal.OnDisk, "after all of the input is sorted and its runs are on disk", (*History).Sort).followedBy("write"),
		of(EventSubmitting, journal.First, "before a job is handed to YARN: the tag and the directory that it alone has", (*History).submit),
		of(EventSubmitted, journal.First, "after its application is known", (*History).submit),
		of(EventEnded, journal.First, "after its application is certain to have ended without its output: another one may be submitted", func(h *History, _ EndedRecord) { h.Submission = nil }),
		of(EventWritten, journal.Later, "after the HFiles of a region have their names", (*History).Write),
		of(EventLost, journal.First, "after files of regions proved not to be there as they were written: these, and what was built of them, are to be written again", (*History).Lose),
		ofRecord(EventBuilt, journal.OnDisk, "after all HFiles are written and their rows add up",
			func(h *History, _ journal.Record, b BuiltRecord) error {
				if b.Manifest == nil {
					return errors.New("the manifest is missing")
				}
				h.Built, h.BuiltTables, h.Submission = b.Manifest, b.Tables, nil
				return nil
			}).followedBy("load"),
	}
}

// part adds a finished part to a whole whose record must have come before.
func part[P any](done map[int]P, number int, p P) error {
	if done == nil {
		return errors.New("the record of the whole, which comes before it, is missing")
	}
	done[number] = p
	return nil
}

func (h *History) rekey(k RekeyRecord) {
	own := ReadSnapshotRecord{Place: PlaceRekeyed, Table: k.From}
	if h.Rekey = &k; k.Own {
		own.Snapshot, own.Created = k.Snapshot, k.Created
	}
	h.own(own)
}

func (h *History) attempt(r journal.Record, a AttemptRecord) error {
	h.Attempts = append(h.Attempts, Attempt{Attempt: a.Attempt, PID: a.PID, Host: a.Host, Start: a.Start, Version: a.Version,
		Began: r.Time, Ended: r.Time, State: JobInterrupted, Steps: []DoneStep{}})
	h.phase = cmp.Or(h.phase, "read")
	return nil
}

func (h *History) submit(s build.SubmissionRecord) {
	h.Submission = &s
	if len(s.Weights) > 0 {
		h.Weights = s.Weights
	}
}

// replacing applies the snapshot of the table that an export is compared with: the job's table, or the table that it replaces.
func (h *History) replacing(_ journal.Record, s SnapshotRecord) error {
	if h.Plan == nil {
		return errors.New("the plan with the table's name is missing")
	}
	table := h.Plan.Table
	if h.Fresh != nil {
		table = h.Fresh.From
	}
	h.own(ReadSnapshotRecord{Place: PlaceCompared, Table: table, Snapshot: s.Snapshot, Created: s.Created})
	return nil
}
