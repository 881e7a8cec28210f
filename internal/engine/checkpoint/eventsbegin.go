package checkpoint

import (
	"cmp"
	"errors"

	"bulkload/internal/engine/journal"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/internal/pipeline/build"
)

// beginEvents returns the events about the input and the plan of a job, and about the processes that work on it.
func beginEvents() []eventInfo {
	return []eventInfo{
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
func buildEvents() []eventInfo {
	return []eventInfo{
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
