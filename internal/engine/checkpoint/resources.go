package checkpoint

import (
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

	snapshot ReadSnapshotRecord
	quiet    QuietRecord
	token    string // token of an export
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
	for _, place := range h.snapshots() {
		r := h.OwnSnapshots[place]
		all = append(all, Resource{Kind: ResourceSnapshot, Name: r.Snapshot, Table: r.Table, snapshot: r})
	}
	if p := h.Plan; p != nil && (!h.Finished || h.StagingEnd == StagingKept || h.StagingEnd == StagingRemoving) {
		add(ResourceStaging, p.Staging, p.Table)
	}
	for _, uri := range h.LeftStaging {
		add(ResourceStaging, uri, h.tableOf(0))
	}
	add(ResourceCuts, h.cuts(), h.tableOf(0))
	if x := h.Exporting; x != nil && x.Token != "" && !h.Finished {
		all = append(all, Resource{Kind: ResourceExport, Name: x.Dir, Table: x.Table, token: x.Token})
	}
	if h.undoRunning() {
		for i := range len(h.Undo.Tables) + 1 {
			add(ResourceStaging, h.Undo.Of(i).Staging, h.tableOf(i))
		}
	}
	if h.Undo.Offline() {
		add(ResourceOffline, h.tableOf(0), h.tableOf(0))
	} else if h.undoRunning() {
		add(ResourceTable, h.Undo.From.into(), "")
	}
	for _, token := range slices.Sorted(maps.Keys(h.Prepared)) {
		add(ResourcePrepared, token, h.Prepared[token])
	}
	for _, table := range slices.Sorted(maps.Keys(h.Quiet)) {
		q := h.Quiet[table]
		all = append(all, Resource{Kind: ResourceQuiet, Name: strings.Join(slices.Sorted(maps.Keys(q.Was)), ", "), Table: table, quiet: q})
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
