package history

import (
	"bulkload/pkg/keygen/rowkey"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bulkload/internal/pipeline/build"
)

// A Resource is something outside its directory that a job has made and has not removed: status lists it, and clean removes it with the job. It may
// not exist, if the job was killed before it made the resource, or after it removed it.
type Resource struct {
	Kind  ResourceKind `json:"kind"`
	Name  string       `json:"name"`            // a snapshot's name, a path or URI, the tag of a YARN job
	Table string       `json:"table,omitempty"` // table of the resource

	Snapshot ReadSnapshotRecord
	Quiet    QuietRecord
	Token    string // token of an export
}

// ResourceKind is the type of a resource.
type ResourceKind string

// The kinds of resources.
const (
	ResourceSnapshot ResourceKind = "snapshot" // snapshot of a table, taken by the job for itself
	ResourceStaging  ResourceKind = "staging"  // directory on HDFS with HFiles or delete markers
	ResourcePrepared ResourceKind = "prepared" // directory of a load below HBase's own staging directory
	ResourceSpill    ResourceKind = "spill"    // local directory of sorted rows
	ResourceStream   ResourceKind = "stream"   // local copy of a stream
	ResourceYARN     ResourceKind = "yarn"     // YARN job whose output has not been taken yet
	ResourceTable    ResourceKind = "table"    // table made by a job that is not done
	ResourceExport   ResourceKind = "export"   // directory of an incomplete export
	ResourceOffline  ResourceKind = "offline"  // table that is out of service, or may be, while an undo restores it
	ResourceQuiet    ResourceKind = "quiet"    // attributes of a table that are false while the job runs
	ResourceCuts     ResourceKind = "cuts"     // directory of cut and merged files in a directory of HFiles that the job loads
)

// Resources returns the resources that the journal knows.
func (h *History) Resources() []Resource {
	var all []Resource
	add := func(kind ResourceKind, name, table string) {
		if name != "" {
			all = append(all, Resource{Kind: kind, Name: name, Table: table})
		}
	}
	for _, place := range h.SnapshotPlaces() {
		r := h.OwnSnapshots[place]
		all = append(all, Resource{Kind: ResourceSnapshot, Name: r.Snapshot, Table: r.Table, Snapshot: r})
	}
	if p := h.Plan; p != nil && (!h.Finished || h.StagingEnd == StagingKept || h.StagingEnd == StagingRemoving) {
		add(ResourceStaging, p.Staging, p.Table)
	}
	for _, uri := range h.LeftStaging {
		add(ResourceStaging, uri, h.tableOf(0))
	}
	add(ResourceCuts, h.cuts(), h.tableOf(0))
	if x := h.Exporting; x != nil && x.Token != "" && !h.Finished {
		all = append(all, Resource{Kind: ResourceExport, Name: x.Dir, Table: x.Table, Token: x.Token})
	}
	if h.UndoRunning() {
		for i := range len(h.Undo.Tables) + 1 {
			add(ResourceStaging, h.Undo.Of(i).Staging, h.tableOf(i))
		}
	}
	if h.Undo.Offline() {
		add(ResourceOffline, h.tableOf(0), h.tableOf(0))
	} else if h.UndoRunning() {
		add(ResourceTable, h.Undo.From.into(), "")
	}
	for _, token := range slices.Sorted(maps.Keys(h.Prepared)) {
		add(ResourcePrepared, token, h.Prepared[token])
	}
	for _, table := range slices.Sorted(maps.Keys(h.Quiet)) {
		q := h.Quiet[table]
		all = append(all, Resource{Kind: ResourceQuiet, Name: strings.Join(slices.Sorted(maps.Keys(q.Was)), ", "), Table: table, Quiet: q})
	}
	add(ResourceSpill, h.Spill, "")
	for _, place := range slices.Sorted(maps.Keys(h.Streams)) {
		add(ResourceStream, h.Streams[place].Copy, "")
	}
	if h.Submission != nil {
		add(ResourceYARN, h.Submission.Tag, "")
	}
	if h.Fresh != nil && !h.Finished {
		add(ResourceTable, h.Fresh.Table, "")
	}
	if h.Rekey != nil && h.Rekey.Makes && h.Plan != nil && !h.Finished {
		add(ResourceTable, h.Plan.Table, "")
	}
	return all
}

// CutsName returns the name of the directory of cut and merged files in a directory of HFiles that a job loads. The files of the directory, or the
// table, have their rows too.
func CutsName(job string) string { return build.LoadingPrefix + job[:min(len(job), StateDigits)] }

// cuts returns the directory on HDFS with the files that an unfinished load of a directory has cut or merged, or may have; empty: there is none. Local
// files are cut in the staging directory.
func (h *History) cuts() string {
	if h.Plan == nil || h.Finished || !h.AnyLoading() || !h.Plan.LoadsDir() || len(h.Plan.Inputs) != 1 {
		return ""
	}
	place := h.Plan.Inputs[0].Place
	if place == "" || strings.HasPrefix(place, "/") || h.Plan.Job == "" {
		return ""
	}
	return strings.TrimSuffix(place, "/") + "/" + CutsName(h.Plan.Job)
}

// tableOf returns the name of a table, by its number in loading order; empty without a plan.
func (h *History) tableOf(number int) string {
	if h.Plan == nil || number > len(h.Plan.Tables) {
		return ""
	}
	return h.Plan.Of(number).Table
}

// InHBase reports whether a resource is in HBase, on the job's cluster.
func (r Resource) InHBase() bool {
	switch r.Kind {
	case ResourceSnapshot:
		return r.Snapshot.Conf == ""
	case ResourceQuiet, ResourceOffline, ResourcePrepared:
		return true
	}
	return false
}

// ClusterID returns the id of the job's cluster, empty if the journal does not have it.
func (h *History) ClusterID() string {
	switch {
	case h.Plan != nil && h.Plan.Made != nil:
		return h.Plan.Made.Cluster
	case h.Fresh != nil && h.Fresh.Old != nil:
		return h.Fresh.Old.Cluster
	}
	for _, r := range h.OwnSnapshots { // of a job that loads nothing, or has no plan yet
		if r.Cluster != "" {
			return r.Cluster
		}
	}
	return ""
}

// RemovesStaging reports whether the staging directory of a finished job is not to be kept. It may exist, if a process was killed before the removal.
func (h *History) RemovesStaging() bool {
	return h.StagingEnd == StagingRemoving || h.StagingEnd == StagingRemoved
}

// QuietRecord is a table whose regions are not split, merged or normalized while the job runs.
type QuietRecord struct {
	Table string            `json:"table"`
	Was   map[string]string `json:"was,omitempty"` // previous values of the attributes that the job sets to false; empty: not set
	Over  bool              `json:"over,omitempty"`
}

// QuietAttributes returns the attributes of a table that let HBase change its regions (TableDescriptorBuilder, HBase 2.4).
func QuietAttributes() []string {
	return []string{"SPLIT_ENABLED", "MERGE_ENABLED", "NORMALIZATION_ENABLED"}
}

// Wake gives the attributes of a table that is created like another the other's present values where a job may have switched them off for the time of
// a snapshot. It returns those that stay off, since they are off now, too: by intention, or by a job that keeps the table quiet.
func Wake(attributes, now map[string]string) (off []string) {
	for _, key := range QuietAttributes() {
		switch {
		case attributes[key] != "false":
		case now[key] == "false":
			off = append(off, key)
		case now[key] == "":
			delete(attributes, key)
		default:
			attributes[key] = now[key]
		}
	}
	return off
}

func (h *History) quiet(r QuietRecord) {
	if r.Over {
		delete(h.Quiet, r.Table)
		return
	}
	h.Quiet[r.Table] = r
}

// Restore returns the attributes to set, from the present ones. It includes those that have their previous values: a change by an attempt that was
// killed may still wait in the master, which makes this change after it.
func (r QuietRecord) Restore(now map[string]string) map[string]string {
	set := map[string]string{}
	for key, was := range r.Was {
		if now[key] == "false" || now[key] == was {
			set[key] = was
		}
	}
	return set
}

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

// SnapshotPlaces returns the places of all own snapshots that may exist.
func (h *History) SnapshotPlaces() []string {
	return h.ownPlaces(func(r ReadSnapshotRecord) bool { return r.Snapshot != "" })
}
