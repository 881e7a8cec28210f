package undo

import (
	"path/filepath"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// load is a finished load of one table as its journal knows it.
type load struct {
	job       string // name of its directory
	number    int    // of the table in the order of loading, from 0
	several   bool   // the job has filled more tables
	table     loader.TableName
	index     string   // name of the index that the table is; empty: it is none
	stamp     int64    // of every cell
	families  []string // sorted
	manifest  *manifest.Manifest
	local     bool   // peers of replication have left it out
	snapshot  string // that was taken before it
	clusterID string // on which it was loaded; empty: the journal is of an older version
}

// loadsOf reads a journal: the load of each table, in the order in which they were loaded. A job that is not done, or whose
// cells cannot be distinguished from others by a timestamp, is refused.
func loadsOf(dir string, h *checkpoint.History) ([]*load, error) {
	name := filepath.Base(dir)
	switch {
	case h.Plan == nil || !h.Finished:
		return nil, fail.Errorf(fail.Check, "job %s is not done: run its command again, and undo it then", name)
	case h.Plan.LoadsDir():
		return nil, fail.Errorf(fail.Check, "job %s loaded a directory of HFiles, and undo works for run only: restore a snapshot from before the load", name)
	case h.Built == nil:
		return nil, fail.Errorf(fail.Check, "job %s: its journal does not say what was written", name)
	case h.Fresh != nil:
		return nil, fail.Errorf(fail.Check, "job %s made a table to replace table %s: name that one in the readers' job files again", name, h.Fresh.From)
	case len(h.Plan.Tables) != len(h.BuiltTables):
		return nil, fail.Errorf(fail.Check, "job %s: its journal has %d further tables, and files of %d", name, len(h.Plan.Tables), len(h.BuiltTables))
	case h.Undo != nil && len(h.Undo.Tables) != len(h.Plan.Tables):
		return nil, fail.Errorf(fail.Check, "job %s: its journal has %d further tables, and an undo of %d", name, len(h.Plan.Tables), len(h.Undo.Tables))
	case h.Replace != nil:
		return nil, fail.Errorf(fail.Check, "job %s replaced its table's rows, and undo cannot remove its delete markers: restore a snapshot from before the load", name)
	}
	var all []*load
	for i, m := range append([]*manifest.Manifest{h.Built}, h.BuiltTables...) {
		plan := *h.Plan
		if i > 0 {
			plan = h.Plan.Further(i - 1)
		}
		if m.Stamped && i == 0 && len(h.BuiltTables) == 0 {
			return nil, fail.Errorf(fail.Check, "job %s: its cells have several timestamps, so undo cannot recognize them: restore a snapshot from before the load", name)
		}
		if m.Stamped {
			return nil, fail.Errorf(fail.Check, "job %s: the cells of table %s have several timestamps, so undo cannot recognize them: restore a snapshot from before the load", name, plan.Table)
		}
		table, err := loader.ParseTableName(plan.Table)
		if err != nil {
			return nil, fail.With(fail.Config, err)
		}
		l := &load{job: name, number: i, several: len(h.BuiltTables) > 0, table: table, index: plan.Index, stamp: h.Plan.Timestamp, families: m.Families(), manifest: m,
			local: h.Plan.Replicate == "no"}
		if i == 0 {
			l.snapshot = h.Snapshot
		}
		if plan.Made != nil {
			l.clusterID = plan.Made.Cluster
		}
		all = append(all, l)
	}
	return all, nil
}

// wayBack says how the table gets back what it had before the load, other than
// by markers.
func (l *load) wayBack() string {
	if l.snapshot == "" {
		return "no snapshot was taken before the load"
	}
	t := l.table.String()
	return "in the hbase shell: disable '" + t + "'; restore_snapshot '" + l.snapshot + "'; enable '" + t +
		"', which also discards all later writes; or clone_snapshot '" + l.snapshot + "', '" + t + "_before' to look at it"
}

// sameCluster refuses a cluster on which the job was not loaded.
func (l *load) sameCluster(id string) error {
	if l.clusterID != "" && l.clusterID != id {
		return fail.Errorf(fail.Config, "job %s was loaded into another cluster, %s; this one is %s (name it with %s)", l.job, l.clusterID, id, setting.Zookeeper)
	}
	return nil
}
