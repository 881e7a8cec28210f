package job

import (
	"context"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/pkg/setting"
)

// tableRecord returns the record of the table in its current state.
func (j *run) tableRecord(ctx context.Context, facts *cluster.Facts) (*checkpoint.TableRecord, error) {
	return checkpoint.RecordTable(ctx, j.env, j.cluster, facts.Table, facts.Regions)
}

// recreated returns an error if the table is not the one that the plan was made
// for, as far as the journal shows.
func (j *run) recreated(ctx context.Context, was *checkpoint.TableRecord, facts *cluster.Facts, kind fail.Kind) error {
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
	case checkpoint.OtherTable:
		return fail.Errorf(kind, "table %s was recreated or emptied since this job began: its oldest region is from %s (%s)",
			facts.Name, now.Oldest().Format(time.RFC3339), hint)
	case checkpoint.DoubtfulTable:
		return fail.Errorf(kind, "table %s may have been recreated: it was offline, at %s last, all regions are new, and its directory is not readable (run as a user who can read it; else %s)",
			facts.Name, time.UnixMilli(now.State).UTC().Format(time.RFC3339), hint)
	}
	return nil
}

// checkUnchanged checks a table again after all files of a manifest are loaded: files loaded into a
// table that was dropped are lost, and cells may have expired.
func (j *run) checkUnchanged(ctx context.Context, was *checkpoint.TableRecord, table string, families []string, m *manifest.Manifest) error {
	facts, err := cluster.TableFacts(ctx, j.env, j.cluster, table, families...)
	if err != nil {
		return err
	}
	if err := j.recreated(ctx, was, facts, fail.Verify); err != nil {
		return err
	}
	return expired(facts, m, fail.Verify)
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
