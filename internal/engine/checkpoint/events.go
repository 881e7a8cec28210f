package checkpoint

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"bulkload/internal/engine/journal"
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

// eventInfo describes an event: the type of its record, when the record is written, how durable it is before the job continues, and its effect on a
// history.
type eventInfo struct {
	Event  Event
	Record any // a zero value
	Synced journal.Durability
	When   string

	apply func(h *History, r journal.Record) error // nil: the event does not change a history
	step  bool                                     // the attempt has finished a step, and phase follows
	phase string
}

// of returns an event whose records have the fields of R. take applies them to a history.
func of[R any](e Event, synced journal.Durability, when string, take func(*History, R)) eventInfo {
	return ofRecord(e, synced, when, func(h *History, _ journal.Record, fields R) error {
		take(h, fields)
		return nil
	})
}

// ofRecord returns an event whose record can be refused, or whose time matters.
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

// followedBy marks the event as the end of a step, which phase follows.
func (i eventInfo) followedBy(phase string) eventInfo {
	i.step, i.phase = true, phase
	return i
}

// eventInfos returns all events that are written. [Job.Record] writes them, and only it and [HistoryOf] apply them.
func eventInfos() []eventInfo {
	return slices.Concat(beginEvents(), buildEvents(), loadEvents(), undoEvents())
}

// eventsByName returns all events by name, including those that only earlier versions wrote.
var eventsByName = sync.OnceValue(func() map[Event]eventInfo {
	all := map[Event]eventInfo{}
	for _, i := range append(eventInfos(), ofRecord(eventReplacing, journal.First, "", (*History).replacing)) {
		all[i.Event] = i
	}
	return all
})

// infoOf returns the description of an event that is written with the given record.
func infoOf(e Event, data any) (eventInfo, error) {
	info, known := eventsByName()[e]
	if !known || info.When == "" || reflect.TypeOf(info.Record) != reflect.TypeOf(data) {
		return eventInfo{}, fmt.Errorf("journal: unknown event %s with a record %T", e, data)
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
