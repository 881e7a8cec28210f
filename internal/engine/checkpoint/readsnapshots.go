package checkpoint

import (
	"fmt"
	"maps"
	"slices"

	"bulkload/pkg/keygen/rowkey"
)

// ReadSnapshotRecord describes a snapshot that a job takes of a table for itself and deletes when nothing reads it any more, or the job's scan of the
// table instead. It is recorded before the snapshot is requested from the master.
type ReadSnapshotRecord struct {
	Input    string      `json:"input"`             // as it was given; empty: the table is not an input
	Place    string      `json:"place"`             // key of the snapshot in the history
	Table    string      `json:"table"`             // as HBase prints it
	Snapshot string      `json:"snapshot"`          // empty: it was deleted, or there is none
	Created  int64       `json:"created,omitempty"` // creation time, milliseconds
	Conf     string      `json:"conf,omitempty"`    // configuration directory of its cluster; empty: the job's cluster
	Cluster  string      `json:"cluster,omitempty"` // id of the job's cluster, if the snapshot is there
	Scan     *ScanRecord `json:"scan,omitempty"`    // nil: the table is not scanned
}

// ScanRecord describes the beginning of a job's scan of a table.
type ScanRecord struct {
	Began  int64        `json:"began"`      // milliseconds
	State  int64        `json:"state_time"` // state time of the table, as in [TableRecord]
	Starts []rowkey.Key `json:"starts"`     // the first row of each part
}

// Places of a job's own snapshots, except for those of inputs.
const (
	PlaceCompared = "compared" // of the table that an export replaces
	PlaceRekeyed  = "rekeyed"  // of the table whose rows get new keys
	PlaceExported = "exported" // of the table that is exported
	PlaceA        = "side a"   // of a comparison
	PlaceB        = "side b"
	PlaceRestored = "restored" // of the table that an undo has restored, before it is in service
)

// PlaceUndone returns the place of the snapshot from which an undo reads a table, given by its number in loading order.
func PlaceUndone(number int) string { return fmt.Sprintf("undone %d", number) }

// own applies a record.
func (h *History) own(r ReadSnapshotRecord) {
	if r.Snapshot == "" && r.Scan == nil {
		delete(h.OwnSnapshots, r.Place)
		return
	}
	h.OwnSnapshots[r.Place] = r
}

// ownPlaces returns the places of the job's own snapshots whose records satisfy which.
func (h *History) ownPlaces(which func(ReadSnapshotRecord) bool) []string {
	var places []string
	for _, place := range slices.Sorted(maps.Keys(h.OwnSnapshots)) {
		if which(h.OwnSnapshots[place]) {
			places = append(places, place)
		}
	}
	return places
}

// InputPlaces returns the places of the snapshots through which the job reads input tables.
func (h *History) InputPlaces() []string {
	return h.ownPlaces(func(r ReadSnapshotRecord) bool { return r.Input != "" })
}

// snapshots returns the places of all own snapshots that may exist.
func (h *History) snapshots() []string {
	return h.ownPlaces(func(r ReadSnapshotRecord) bool { return r.Snapshot != "" })
}
