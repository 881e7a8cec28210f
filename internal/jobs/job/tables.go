package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// openTables opens the inputs that are tables. For an HBase table it takes a
// snapshot, which the journal names before; a later attempt reads the same one. It
// does not open tables for a job that does not need its inputs any more.
func (j *run) openTables(ctx context.Context) error {
	over := j.job.Finished || j.job.AnyLoading()
	for _, input := range j.spec.Inputs {
		ref, ok, err := tablesource.Parse(input)
		if err != nil {
			return fail.With(fail.Config, err)
		}
		if !ok {
			continue
		}
		if ref.Snapshot == "" && over {
			j.tablesOver = true
			continue
		}
		s, err := j.openTable(ctx, input, ref)
		if err != nil {
			return err
		}
		j.tables = append(j.tables, s)
		s.Mount(j.env, input, j.spec.KeyParser)
	}
	return nil
}

// openTable opens the table or snapshot that an input names, and reports if it is
// scanned.
func (j *run) openTable(ctx context.Context, input string, ref tablesource.Ref) (*tablesource.Source, error) {
	if ref.Snapshot != "" {
		return tablesource.Open(ctx, j.env, ref, tablesource.Options{Choice: j.spec.Choice()})
	}
	r, o, err := j.readTable(ctx, input, ref.Table)
	if err != nil {
		return nil, err
	}
	s, err := tablesource.Open(ctx, j.env, ref, o)
	if err != nil || s.Scanned == nil || r.Scan != nil {
		return s, err
	}
	s.Report(j.options.Events.Warn)
	j.options.Events.Note("table is read by scans: its rows are not from one moment", "table", ref.Table.String(), "parts", len(s.Scanned.Starts))
	r.Snapshot, r.Created = "", 0
	r.Scan = &history.ScanRecord{Began: s.Scanned.Began, State: s.Scanned.State, Starts: rowkey.Keys(s.Scanned.Starts)}
	if err := j.job.Record(history.EventReadSnapshot, r); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// readTable determines how a table is read: in the same way as by an earlier
// attempt, if there was one. Otherwise it records the name of the snapshot to read
// before the snapshot is taken.
func (j *run) readTable(ctx context.Context, input string, table loader.TableName) (r history.ReadSnapshotRecord, o tablesource.Options, err error) {
	place, err := j.env.Place(input)
	if err != nil {
		return r, o, err
	}
	o = tablesource.Options{By: tablesource.ReadBy(j.spec.ReadBy), Keep: j.job.Log != nil, Choice: j.spec.Choice()}
	if j.options.YARN != nil { // tasks on nodes do not scan
		o.By, o.FilesOnly = tablesource.ByFiles, true
	}
	r, ok := j.job.OwnSnapshots[place]
	scan := o.By == tablesource.ByScan
	switch {
	case ok && r.Scan != nil && !scan && o.By != tablesource.ByAuto:
		if j.job.History.Plan != nil {
			return r, o, refuseOtherReading(input, "scans", "scan")
		}
		if err := j.job.ForgetSnapshot(place); err != nil { // of an attempt without a plan
			return r, o, err
		}
		ok = false
	case ok && r.Scan == nil && scan && j.job.History.Plan != nil:
		return r, o, refuseOtherReading(input, "its files", "files")
	case ok && r.Scan != nil:
		o.Bounds = &tablesource.Bounds{Began: r.Scan.Began, State: r.Scan.State, Starts: rowkey.Rows(r.Scan.Starts)}
		return r, o, nil
	case ok && scan: // of an attempt without a plan
		if err := j.job.Check(ctx); err != nil {
			return r, o, err
		}
		return r, o, fail.With(fail.Load, j.cluster.DeleteSnapshot(ctx, table, r.Snapshot))
	case ok && j.job.History.Plan != nil:
		o.By = tablesource.ByFiles // as planned
	}
	if !ok {
		r = history.ReadSnapshotRecord{Input: input, Place: place, Table: table.String()}
		if scan {
			return r, o, nil
		}
		if r, err = RecordSnapshot(j.job, table, r); err != nil {
			return r, o, err
		}
	}
	o.Name, o.Created = r.Snapshot, r.Created
	return r, o, nil
}

// refuseOtherReading refuses to read a table in another way than the job has begun to.
func refuseOtherReading(input, how, by string) error {
	return fail.With(fail.Config, setting.Errorf("input %s: this job began to read it by %s: give %s %s, or discard the job with %s", input, how, setting.ReadBy, by, setting.Restart))
}

// closeTables closes the tables, and deletes the snapshots of a job without a
// journal.
func (j *run) closeTables(ctx context.Context) error {
	var errs []error
	for _, s := range j.tables {
		if s.Scanned != nil && s.Scanned.Torn() > 0 {
			j.options.Events.Warn("regions of a table were split, merged or moved while it was read: rows of one part are from several moments", "table", s.Scanned.Table.String(), "parts", s.Scanned.Torn())
		}
		errs = append(errs, s.Close(ctx))
	}
	j.tables = nil
	return errors.Join(errs...)
}

// dropTables deletes the snapshots through which this job has read tables, when
// nothing reads them any more.
func (j *run) dropTables(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	if err := j.job.DropSnapshots(ctx, j.cluster, j.job.InputPlaces()...); err != nil {
		j.options.Events.Warn("a snapshot is left behind", "error", err)
	}
}

// readBefore returns the files of tables that are not read again, as recorded in
// the journal.
func (j *run) readBefore(old *history.PlanRecord) (files []history.InputRecord, err error) {
	for _, input := range j.spec.Inputs {
		if !j.notRead(input) {
			continue
		}
		place, err := j.env.Place(input)
		if err != nil {
			return nil, err
		}
		for _, f := range old.Inputs {
			if strings.HasPrefix(f.Place, place+"/") {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// notRead reports whether an input is a table that the job does not need any more.
func (j *run) notRead(input string) bool {
	return j.tablesOver && strings.HasPrefix(input, cluster.TableScheme)
}

// RecordSnapshot returns the job's own snapshot of r's place. If there is none it records r, with a new name if r has no name.
func RecordSnapshot(st *checkpoint.Job, table loader.TableName, r history.ReadSnapshotRecord) (history.ReadSnapshotRecord, error) {
	if known, ok := st.OwnSnapshots[r.Place]; ok {
		return known, nil
	}
	if r.Table = table.String(); r.Conf == "" {
		r.Cluster = st.Cluster
	}
	if r.Snapshot == "" {
		now := time.Now()
		r.Snapshot, r.Created = tablesource.NewName(table, now), now.UnixMilli()
	}
	return r, st.Record(history.EventReadSnapshot, r)
}

// OpenSnapshot opens the files of the job's own snapshot of a place, and takes the snapshot of the table if it does not exist.
// [checkpoint.Job.DropSnapshots] deletes it. The table is one that the job changes or replaces: without it the job cannot continue.
func OpenSnapshot(ctx context.Context, env *cluster.Env, st *checkpoint.Job, table loader.TableName, place string) (*tablesource.Source, error) {
	r, err := RecordSnapshot(st, table, history.ReadSnapshotRecord{Place: place})
	if err != nil {
		return nil, err
	}
	src, err := tablesource.Open(ctx, env, tablesource.Ref{Table: table}, tablesource.Options{Name: r.Snapshot, Created: r.Created, Keep: true, FilesOnly: true})
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil, &fail.Error{Kind: fail.Check, Err: fmt.Errorf("%w (it was dropped while the job ran: restore it, then give the same command again)", err)}
	}
	return src, err
}

// tableRecord returns the record of the table in its current state.
func (j *run) tableRecord(ctx context.Context, facts *cluster.Facts) (*history.TableRecord, error) {
	return checkpoint.RecordTable(ctx, j.env, j.cluster, facts.Table, facts.Regions)
}

// recreated returns an error if the table is not the one that the plan was made
// for, as far as the journal shows.
func (j *run) recreated(ctx context.Context, was *history.TableRecord, facts *cluster.Facts, kind fail.Kind) error {
	if was == nil {
		return nil
	}
	now, err := j.tableRecord(ctx, facts)
	if err != nil {
		return err
	}
	found, err := was.Compare(*now, func() (map[string]bool, error) { return j.cluster.RegionTraces(ctx, facts.Name) })
	if err != nil {
		return cluster.Failure(err)
	}
	hint := setting.Textf("what this job loaded is lost with the old table: %s loads everything into the new one", setting.Restart)
	switch {
	case !j.job.AnyLoading():
		hint = setting.Textf("this job has loaded nothing yet: %s begins it again, for the new table", setting.Restart)
	case j.moves && j.job.AnySent():
		hint = setting.Textf("the files that this job moved are lost with the old table: build them again")
	}
	switch found {
	case history.OtherTable:
		return fail.Errorf(kind, "table %s was recreated or emptied since this job began: its oldest region is from %s (%s)",
			facts.Name, now.Oldest().Format(time.RFC3339), hint)
	case history.DoubtfulTable:
		return fail.Errorf(kind, "table %s may have been recreated: it was offline, at %s last, all regions are new, and its directory is not readable (run as a user who can read it; else %s)",
			facts.Name, time.UnixMilli(now.State).UTC().Format(time.RFC3339), hint)
	}
	return nil
}

// checkUnchanged checks a table again before the files of a manifest are loaded, since a build may take hours, and after all of them are: files loaded
// into a table that was dropped are lost, and cells may have expired.
func (j *run) checkUnchanged(ctx context.Context, was *history.TableRecord, table string, families []string, m *manifest.Manifest, kind fail.Kind) error {
	facts, err := cluster.TableFacts(ctx, j.env, j.cluster, table, families...)
	if err != nil {
		return err
	}
	if err := j.recreated(ctx, was, facts, kind); err != nil {
		return err
	}
	return expired(facts, m, kind)
}

// expired returns an error if readers see no cell of a manifest's files in one of the families, because of its TTL.
func expired(facts *cluster.Facts, m *manifest.Manifest, kind fail.Kind) error {
	newest := ownTimestamp(m)
	if m.Stamped && m.Times != nil {
		newest = m.Times.Max
	}
	for _, f := range facts.Families {
		cf, _ := facts.Table.Family(f.Name)
		if over, ttl := cluster.Expired(cf, newest); over {
			return fail.With(kind, setting.Errorf("cells of family %s live for %s and those of this load are older: no reader sees them (make the TTL longer, or build again; %s of run does)", cf.Name, ttl, setting.Restart))
		}
	}
	return nil
}
