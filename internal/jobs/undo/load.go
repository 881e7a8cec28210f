package undo

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bulkload/internal/engine/history"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// load is a finished load of one table, from its journal.
type load struct {
	job       string // name of the job's directory
	number    int    // of the table in loading order, from 0
	several   bool   // the job has filled several tables
	table     loader.TableName
	index     string   // name of the index that the table is; empty: it is not an index
	stamp     int64    // timestamp of every cell
	families  []string // sorted
	manifest  *manifest.Manifest
	local     bool      // the load was not replicated to peers
	replaces  bool      // it has replaced rows by delete markers with the timestamp before
	began     time.Time // first request to HBase to load; zero: not in the journal
	snapshot  string    // taken before the load
	created   int64     // creation time of the snapshot, milliseconds; 0: not in the journal
	clusterID string    // cluster of the load; empty: the journal is of an older version
	twins     []string  // other jobs that have loaded the table with the same timestamp
	others    int       // number of other timestamps of the table that were undone
	all       bool      // all older cells that become visible again are written with the markers
}

// finished refuses jobs that have no load into an existing table, and jobs that are not done.
func finished(name string, h *history.History) error {
	switch {
	case h.Exporting != nil:
		return fail.Errorf(fail.Check, "job %s exported table %s, which was only read: there is no load to take out", name, h.Exporting.Table)
	case h.Comparing != nil:
		return fail.Errorf(fail.Check, "job %s compared tables, which were only read: a repair of one is a job of its own", name)
	case h.Fresh != nil:
		return fail.Errorf(fail.Check, "job %s made a table to replace table %s: name that one in the readers' job files again", name, h.Fresh.From)
	case len(h.Clusters) > 0 && h.Undo == nil:
		var jobs []string
		for _, conf := range slices.Sorted(maps.Keys(h.Clusters)) {
			for _, dir := range slices.Backward(h.Clusters[conf].Jobs) { // an index before its table, so that readers find no entry whose row is gone
				jobs = append(jobs, dir[max(0, len(dir)-history.StateDigits):])
			}
		}
		return fail.Errorf(fail.Check, "job %s loaded several clusters: undo the job of each, in this order, with its configuration: %s", name, strings.Join(jobs, ", "))
	case h.Rekey != nil:
		return fail.Errorf(fail.Check, "job %s gave rows new keys in a new table: drop that one, table %s was only read", name, h.Rekey.From)
	case h.Plan == nil || !h.Finished:
		return fail.Errorf(fail.Check, "job %s is not done: run its command again, and undo it then", name)
	}
	return nil
}

// newLoad returns the load of one table, with what the journal says about all loads.
func newLoad(name string, h *history.History, plan history.PlanRecord) (*load, error) {
	table, err := loader.ParseTableName(plan.Table)
	if err != nil {
		return nil, fail.With(fail.Config, err)
	}
	l := &load{job: name, table: table, stamp: h.Plan.Timestamp}
	if plan.Made != nil {
		l.clusterID = plan.Made.Cluster
	}
	return l, nil
}

// loadsOf returns the load of each table of a journal, in loading order. It refuses a job that is not done, or whose cells cannot be distinguished
// from others by a timestamp.
func loadsOf(dir string, h *history.History) ([]*load, error) {
	name := filepath.Base(dir)
	if err := finished(name, h); err != nil {
		return nil, err
	}
	files := h.Built
	if h.Plan.LoadsDir() && h.Result != nil {
		files = h.Result.Manifest // of the directory
	}
	switch {
	case files == nil && h.Plan.LoadsDir():
		return nil, fail.With(fail.Check, setting.Errorf("job %s loaded a directory of HFiles without a manifest, whose cells undo by markers cannot recognize: %s", name, otherWay(h)))
	case files == nil:
		return nil, fail.Errorf(fail.Check, "job %s: its journal does not say what was written", name)
	case len(h.Plan.Tables) != len(h.BuiltTables):
		return nil, fail.Errorf(fail.Check, "job %s: its journal has %d further tables, and files of %d", name, len(h.Plan.Tables), len(h.BuiltTables))
	case h.Undo != nil && len(h.Undo.Tables) != len(h.Plan.Tables):
		return nil, fail.Errorf(fail.Check, "job %s: its journal has %d further tables, and an undo of %d", name, len(h.Plan.Tables), len(h.Undo.Tables))
	case h.Replace != nil:
		return nil, fail.With(fail.Check, setting.Errorf("job %s replaced its table's rows, and undo by markers cannot remove its delete markers: %s", name, otherWay(h)))
	}
	var all []*load
	for i, m := range append([]*manifest.Manifest{files}, h.BuiltTables...) {
		plan := h.Plan.Of(i)
		if m.Stamped && i == 0 && len(h.BuiltTables) == 0 {
			return nil, fail.With(fail.Check, setting.Errorf("job %s: its cells have several timestamps, so undo by markers cannot recognize them: %s", name, otherWay(h)))
		}
		if m.Stamped {
			return nil, fail.Errorf(fail.Check, "job %s: the cells of table %s have several timestamps, so undo cannot recognize them: restore a snapshot from before the load", name, plan.Table)
		}
		l, err := newLoad(name, h, plan)
		if err != nil {
			return nil, err
		}
		l.number, l.several, l.index, l.families, l.manifest, l.local = i, len(h.BuiltTables) > 0, plan.Index, m.Families(), m, h.Plan.Replicate == "no"
		if i == 0 {
			l.snapshot, l.created = h.Snapshot, h.Snapshotting.Created
		}
		all = append(all, l)
	}
	return all, nil
}

// loadBefore returns the load of a job of one table, for an undo by a snapshot from before it: its cells need no common timestamp.
func loadBefore(dir string, h *history.History) (*load, error) {
	name := filepath.Base(dir)
	if err := finished(name, h); err != nil {
		return nil, err
	}
	if len(h.Plan.Tables) > 0 {
		return nil, fail.Errorf(fail.Check, "job %s loaded several tables, and a snapshot is of one: undo it by markers", name)
	}
	l, err := newLoad(name, h, *h.Plan)
	if err != nil {
		return nil, err
	}
	l.manifest, l.replaces, l.snapshot, l.created, l.began = h.Built, h.Replace != nil, h.Snapshot, h.Snapshotting.Created, loadBegan(h)
	if h.Plan.LoadsDir() || h.Built == nil || h.Built.Stamped {
		l.stamp = 0
	}
	return l, nil
}

// loadBegan returns the time of the first request to HBase to load files.
func loadBegan(h *history.History) time.Time {
	for _, a := range h.Attempts {
		for _, s := range a.Steps {
			if s.Name == string(history.EventLoading) {
				return s.Time
			}
		}
	}
	return time.Time{}
}

// otherWay explains how to undo a load that markers cannot undo, as far as the journal shows.
func otherWay(h *history.History) setting.Text {
	if h.Snapshot == "" {
		return noSnapshot()
	}
	return bySnapshot(h.Snapshot)
}

func noSnapshot() setting.Text {
	return setting.Textf("no snapshot was taken before the load (next time, give run %s; one that others took then is named with %[1]s and %s %s)", setting.Snapshot, setting.UndoBy, BySnapshot)
}

func bySnapshot(name string) setting.Text {
	return setting.Textf("%s %s restores snapshot %s, and with %s into a new table", setting.UndoBy, BySnapshot, name, setting.Into)
}

// wayBack explains how to restore the table's contents from before the load, other than by markers.
func (t *target) wayBack(ctx context.Context) setting.Text {
	if t.snapshot == "" {
		return noSnapshot()
	}
	s, ok, err := t.undo.cluster.FindSnapshot(ctx, t.snapshot)
	if err == nil && (!ok || s.Table != t.table || t.created != 0 && s.Created != t.created) {
		return setting.Textf("snapshot %s from before the load is gone", t.snapshot)
	}
	return bySnapshot(t.snapshot)
}

// sameCluster refuses a cluster that the job was not loaded into.
func (l *load) sameCluster(id string) error {
	if l.clusterID != "" && l.clusterID != id {
		return fail.Errorf(fail.Config, "job %s was loaded into another cluster, %s; this one is %s (name it with %s)", l.job, l.clusterID, id, setting.Zookeeper)
	}
	return nil
}
