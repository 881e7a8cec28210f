package undo

import (
	"path/filepath"

	"bulkload/pkg/checkpoint"
	"bulkload/pkg/fail"
	"bulkload/pkg/loader"
	"bulkload/pkg/manifest"
	"bulkload/pkg/setting"
)

// load is a finished load as its journal knows it.
type load struct {
	job       string // name of its directory
	table     loader.TableName
	stamp     int64    // of every cell
	families  []string // sorted
	manifest  *manifest.Manifest
	local     bool   // peers of replication have left it out
	snapshot  string // that was taken before it
	undoing   *checkpoint.Undoing
	clusterID string // on which it was loaded; empty: the journal is of an older version
}

// loadOf reads a journal. A job that is not done, or whose cells cannot be distinguished
// from others by a timestamp, is refused.
func loadOf(dir string, h *checkpoint.History) (*load, error) {
	name := filepath.Base(dir)
	switch {
	case h.Plan == nil || !h.Finished:
		return nil, fail.Errorf(fail.Check, "job %s is not done: give its command again, which resumes it, and undo it then", name)
	case h.Built == nil:
		return nil, fail.Errorf(fail.Check, "job %s: its journal does not say what was written", name)
	case len(h.Plan.Tables) > 0:
		return nil, fail.Errorf(fail.Check, "job %s has filled %d tables, and undo knows jobs of one: restore snapshots of before the load", name, 1+len(h.Plan.Tables))
	case h.Replace != nil:
		return nil, fail.Errorf(fail.Check, "job %s has replaced what its table had: its delete markers, by which other rows are gone, would stay; restore a snapshot of before the load", name)
	case h.Built.Stamped:
		return nil, fail.Errorf(fail.Check, "job %s: its cells have timestamps of their own, by which they cannot be distinguished from others: restore a snapshot of before the load", name)
	}
	table, err := loader.ParseTableName(h.Plan.Table)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	l := &load{job: name, table: table, stamp: h.Plan.Timestamp, families: h.Built.Families(), manifest: h.Built, local: h.Plan.Replicate == "no", snapshot: h.Snapshot, undoing: h.Undo}
	if h.Plan.Made != nil {
		l.clusterID = h.Plan.Made.Cluster
	}
	return l, nil
}

// wayBack says how the table gets back what it had before the load, other than
// by markers.
func (l *load) wayBack() string {
	if l.snapshot == "" {
		return "no snapshot was taken before the load"
	}
	t := l.table.String()
	return "in the hbase shell: disable '" + t + "'; restore_snapshot '" + l.snapshot + "'; enable '" + t +
		"', which takes back what everybody has written since the load; or clone_snapshot '" + l.snapshot + "', '" + t + "_before' to look at it"
}

// sameCluster refuses a cluster on which the job was not loaded.
func (l *load) sameCluster(id string) error {
	if l.clusterID != "" && l.clusterID != id {
		return fail.Errorf(fail.Config, "job %s was loaded into another cluster, %s; this one is %s (name it with %s)", l.job, l.clusterID, id, setting.Zookeeper)
	}
	return nil
}
