package checkpoint

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"bulkload/internal/engine/journal"
)

// Event is the kind of a record of a job's journal.
type Event string

// The events, in the order in which a job has them.
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

// eventReplacing is the record of earlier versions about a snapshot of place [PlaceCompared]. It is only read.
const eventReplacing Event = "replacing"

// eventInfo is all about an event: what its record has, when it is written, where it is before the job continues, and what a
// history makes of it.
type eventInfo struct {
	Event  Event
	Record any // a zero value
	Synced journal.Durability
	When   string

	apply func(h *History, r journal.Record) error // nil: nothing that a history has depends on it
	step  bool                                     // the attempt has finished something, and a phase follows
	phase string
}

// of returns an event whose records have the fields of R, with the function that applies them.
func of[R any](e Event, synced journal.Durability, when string, take func(*History, R)) eventInfo {
	return ofRecord(e, synced, when, func(h *History, _ journal.Record, fields R) error {
		take(h, fields)
		return nil
	})
}

// ofRecord returns one that can be refused, or whose time matters.
func ofRecord[R any](e Event, synced journal.Durability, when string, take func(*History, journal.Record, R) error) eventInfo {
	var none R
	return eventInfo{Event: e, Record: none, Synced: synced, When: when, apply: func(h *History, r journal.Record) error {
		fields, err := Decode[R](r)
		if err != nil {
			return err
		}
		return take(h, r, fields)
	}}
}

// then says that the attempt has finished a step, and which phase follows.
func (i eventInfo) then(phase string) eventInfo {
	i.step, i.phase = true, phase
	return i
}

// eventInfos returns the event infos of all events that are written. Each is written by
// [Job.Record], and read in one place, which that and [HistoryOf] have.
func eventInfos() []eventInfo {
	return slices.Concat(beginEvents(), buildEvents(), loadEvents(), undoEvents())
}

// eventsByName has them, and what earlier versions wrote.
var eventsByName = sync.OnceValue(func() map[Event]eventInfo {
	all := map[Event]eventInfo{}
	for _, i := range append(eventInfos(), earlierEvents()...) {
		all[i.Event] = i
	}
	return all
})

// infoOf finds what is written of an event.
func infoOf(e Event, data any) (eventInfo, error) {
	info, known := eventsByName()[e]
	if !known || info.When == "" || reflect.TypeOf(info.Record) != reflect.TypeOf(data) {
		return eventInfo{}, fmt.Errorf("journal: unknown event %s with a record %T", e, data)
	}
	if c, ok := data.(CheckingRecord); ok && c.Gone {
		info.Synced = journal.Later // a directory that is gone may be removed once more
	}
	return info, nil
}

// Decode reads a record's own fields.
func Decode[T any](r journal.Record) (v T, err error) {
	err = json.Unmarshal(r.Data, &v)
	return v, err
}
