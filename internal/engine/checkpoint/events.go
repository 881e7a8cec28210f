package checkpoint

import (
	"fmt"
	"reflect"
	"slices"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/streams"
)

// Event is what a record of a job's journal reports.
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

// eventReplacing is what earlier versions wrote of a snapshot of place [PlaceCompared]. It is only read.
const eventReplacing Event = "replacing"

// EventInfo says of an event what its record has, when it is written, and
// where it is before the job continues.
type EventInfo struct {
	Event  Event
	Record any // a zero value
	Synced journal.Durability
	When   string
}

// EventInfos are those of all events that are written. Each is written by
// [Job.Record], and read in one place, which that and [HistoryOf] have.
func EventInfos() []EventInfo {
	return []EventInfo{
		{EventDiscarded, DiscardedRecord{}, journal.First, "after all that the job had done was discarded, its journal too: it begins again"},
		{EventStream, streams.Record{}, journal.First, "before a stream is copied to local disk; with whole, when the copy is; without copy, when that is gone"},
		{EventRekey, RekeyRecord{}, journal.First, "before a snapshot is taken or read whose rows get new keys: which it is, and how they get them"},
		{EventReadSnapshot, ReadSnapshotRecord{}, journal.First, "before the job takes a snapshot of a table for itself, to read an input or to compare with the table, or before an input is scanned; without either, when it is not read any more"},
		{EventComparing, ComparingRecord{}, journal.First, "before the first range of two tables is compared, and again when one of them is read again: no range counts as compared then"},
		{EventCompared, ComparedRecord{}, journal.OnDisk, "after a range of rows was compared"},
		{EventExporting, ExportingRecord{}, journal.First, "before a directory is taken for an export, and after the snapshot is open that is read: no region counts as exported then"},
		{EventExported, ExportedRecord{}, journal.Later, "after the rows of a region are in the directory of an export"},
		{EventFresh, FreshRecord{}, journal.First, "before a table is made that takes the place of another, after it is made, and after the export was compared with the other; without a table, when one of that name proved to be another's"},
		{EventPlan, PlanRecord{}, journal.First, "before the inputs are read for the first time: what the job is going to do"},
		{EventAttempt, AttemptRecord{}, journal.Later, "when a process begins to work on the job"},
		{EventChecking, CheckingRecord{}, journal.First, "after HBase made its own staging directory for a check of the job; with gone, not synced, after it removed it"},
		{EventQuiet, QuietRecord{}, journal.First, "before splits, merges and normalization of a table are switched off, with the attributes as they were; with over, after it has them again"},
		{EventSpill, build.SpillRecord{}, journal.Later, "before a directory for sorted runs is made; without one, after it is gone"},
		{EventSorted, build.SortedRecord{}, journal.OnDisk, "after all of the input is sorted and its runs are on disk"},
		{EventSubmitting, SubmissionRecord{}, journal.First, "before a job is handed to YARN: the tag and the directory that it alone has"},
		{EventSubmitted, SubmissionRecord{}, journal.First, "after its application is known"},
		{EventEnded, EndedRecord{}, journal.First, "after its application is certain to have ended without its output: another one may be submitted"},
		{EventWritten, build.WrittenRecord{}, journal.Later, "after the HFiles of a region have their names"},
		{EventLost, build.LostRecord{}, journal.First, "after files of regions proved not to be there as they were written: these, and what was built of them, are to be written again"},
		{EventBuilt, BuiltRecord{}, journal.OnDisk, "after all HFiles are written and their rows add up"},
		{EventSnapshotting, SnapshotRecord{}, journal.First, "before the master is asked for a snapshot; without a name, after it proved to be another's"},
		{EventSnapshot, SnapshotRecord{}, journal.First, "after the snapshot is complete"},
		{EventTable, TurnRecord{}, journal.Later, "before a job of several tables loads and verifies one, or takes its load out again: what follows on files is of this one, counted from 0"},
		{EventReplaced, ReplacedRecord{}, journal.First, "after the files with delete markers are written, which are loaded with the job's"},
		{EventLoading, FilesRecord{}, journal.Later, "before HBase is asked to load the first file: all files"},
		{EventCut, RewrittenRecord{}, journal.First, "after a file with rows of several regions was cut, before its parts are sent"},
		{EventMerged, RewrittenRecord{}, journal.First, "after files of a region were merged, before the new one is sent"},
		{EventPrepared, TokenRecord{}, journal.First, "after HBase made its own staging directory for the load"},
		{EventSending, SendingRecord{}, journal.First, "before files are sent: from now on HBase may have them"},
		{EventLoaded, FilesRecord{}, journal.Later, "after HBase has taken files, by its answer or because they were found in the table"},
		{EventReturned, FilesRecord{}, journal.Later, "after it is certain that HBase has not taken files: refused, or found at their source"},
		{EventUnknown, FilesRecord{}, journal.Later, "after an answer was lost: HBase may have the files"},
		{EventFencing, FencingRecord{}, journal.First, "before a file gets another name (to), so that a request that still waits cannot find it"},
		{EventFenced, FencingRecord{}, journal.Later, "after it has that name; from is the one before"},
		{EventCleaned, TokenRecord{}, journal.Later, "after HBase removed its staging directory"},
		{EventVerified, &result.Verification{}, journal.Later, "after the table was compared with what was written"},
		{EventCluster, ClusterRecord{}, journal.First, "after a cluster has the files of a job for several, and its tables were verified"},
		{EventFailed, FailedRecord{}, journal.First, "when an attempt ends with an error"},
		{EventDone, DoneRecord{}, journal.First, "when nothing is left to do"},
		{EventDropping, DropRecord{}, journal.First, "before the table is dropped in whose place the job's has come"},
		{EventDropped, DropRecord{}, journal.First, "after it is dropped"},
		{EventUndoing, UndoRecord{}, journal.First, "before a finished load is taken out of the table again, or a new table is made like it was before; without a timestamp, after that was refused and nothing was changed"},
		{EventMarkers, MarkersRecord{}, journal.First, "after the files with delete markers are written, which are loaded next; again, after those of the current table were written again; none of these is loaded then"},
		{EventRestoring, RestoringRecord{}, journal.First, "before the master is asked to restore a snapshot from before the load, into the table, which is out of service, or into a new one"},
		{EventRestored, TurnRecord{}, journal.First, "after it has, before the table is put into service"},
		{EventTableUndone, TurnRecord{}, journal.First, "after the load is taken out of a table, and that was verified; the next one's files follow"},
		{EventUndone, UndoneRecord{}, journal.First, "after the load is out of the table, and that was verified"},
	}
}

// infoOf finds what is written of an event.
func infoOf(e Event, data any) (EventInfo, error) {
	all := EventInfos()
	i := slices.IndexFunc(all, func(i EventInfo) bool { return i.Event == e })
	if i < 0 || reflect.TypeOf(all[i].Record) != reflect.TypeOf(data) {
		return EventInfo{}, fmt.Errorf("journal: unknown event %s with a record %T", e, data)
	}
	info := all[i]
	if c, ok := data.(CheckingRecord); ok && c.Gone {
		info.Synced = journal.Later // a directory that is gone may be removed once more
	}
	return info, nil
}
