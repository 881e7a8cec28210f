package checkpoint

import (
	"maps"

	"bulkload/internal/engine/journal"
)

// DiscardedRecord is the record of a job that starts over, with the things that still belong to it. They are in one record, so that no kill separates them.
type DiscardedRecord struct {
	Prepared map[string]string `json:"prepared,omitempty"` // staging directories of HBase that could not be removed, and their tables
	Staging  []string          `json:"staging,omitempty"`  // the job's staging directories whose NameNode did not answer
	Snapshot *SnapshotRecord   `json:"snapshot,omitempty"` // of the table from before the load; nil: none
	Fresh    *FreshRecord      `json:"fresh,omitempty"`    // the table that the job has made; nil: none
}

func (h *History) startOver(r journal.Record, d DiscardedRecord) error {
	maps.Copy(h.Prepared, d.Prepared)
	h.LeftStaging = d.Staging
	if d.Fresh != nil {
		h.fresh(*d.Fresh)
	}
	if d.Snapshot == nil {
		return nil
	}
	return h.snapshot(r, *d.Snapshot)
}

// CheckingRecord is a staging directory that HBase made for a check of a job.
type CheckingRecord struct {
	Table string `json:"table"`
	Token string `json:"token"`
	Gone  bool   `json:"gone,omitempty"`
}

// prepare adds a staging directory of HBase; an empty table removes the directory.
func (h *History) prepare(token, table string) {
	if table == "" {
		delete(h.Prepared, token)
		return
	}
	h.Prepared[token] = table
}

// isEmpty reports whether the journal shows that the job has done nothing and left nothing.
func (h *History) isEmpty() bool {
	return h.Plan == nil && h.Rekey == nil && h.Fresh == nil && h.Undo == nil && !h.Finished && !h.AnyLoading() &&
		h.Sorted == nil && h.Built == nil && len(h.Written) == 0 && h.Submission == nil && h.Spill == "" && len(h.Streams) == 0 && len(h.OwnSnapshots) == 0 && len(h.Prepared) == 0 && len(h.Quiet) == 0 &&
		h.Snapshotting.Snapshot == "" && len(h.LeftStaging) == 0 &&
		(h.Exporting == nil || h.Exporting.Token == "") && len(h.Compared) == 0
}

// KeptSnapshot returns the snapshot that a job keeps also when it starts over: the one that was requested for an unfinished job.
func (h *History) KeptSnapshot() SnapshotRecord {
	if h.Finished {
		return SnapshotRecord{}
	}
	return h.Snapshotting
}
