package job

import (
	"context"
	"path"
	"time"

	"bulkload/pkg/checkpoint"
	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// tableRecord is the record of the table as it is.
func (j *run) tableRecord(ctx context.Context, facts *cluster.Facts) (*checkpoint.TableRecord, error) {
	return TableRecord(ctx, j.env, j.c, facts)
}

// TableRecord is by what a job's plan knows its table again.
func TableRecord(ctx context.Context, env *cluster.Env, c *loader.Cluster, facts *cluster.Facts) (*checkpoint.TableRecord, error) {
	id, err := c.ID(ctx)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	t := &checkpoint.TableRecord{Cluster: id, State: facts.Table.StateTime, Dir: tableDir(ctx, env, facts.Name)}
	for _, r := range facts.Regions {
		t.Regions = append(t.Regions, checkpoint.RegionRecord{Name: r.Encoded, Made: r.ID})
	}
	return t, nil
}

// tableDir is the inode of a table's directory, 0 if that is not to be found:
// others may not read HBase's directory in many clusters.
func tableDir(ctx context.Context, env *cluster.Env, t loader.TableName) uint64 {
	l, err := env.Conf.Resolve(env.Conf.Value("hbase.rootdir"))
	if err != nil || l.Local() {
		return 0
	}
	fsys, err := env.FS(l)
	if err != nil {
		return 0
	}
	info, err := fsys.Stat(ctx, path.Join(l.Path, "data", t.Namespace, t.Qualifier))
	if err != nil {
		return 0
	}
	id, _ := hdfsio.FileID(info)
	return id
}

// recreated is nil if the table is the one that the plan was made for, as far as
// the journal says.
func (j *run) recreated(ctx context.Context, facts *cluster.Facts, kind fail.Kind) error {
	was := j.st.History.Plan.Made
	if was == nil {
		return nil
	}
	now, err := j.tableRecord(ctx, facts)
	if err != nil {
		return err
	}
	found, err := was.Compare(*now, func() (map[string]bool, error) { return j.c.RegionTraces(ctx, facts.Name) })
	if err != nil {
		return cluster.Failure(err)
	}
	hint := setting.Textf("what was loaded before went with the old table: %s loads everything into the new one", setting.Restart)
	switch found {
	case checkpoint.OtherTable:
		return fail.Errorf(kind, "table %s was recreated since this job began: it was dropped and made again, or emptied; its oldest region is of %s (%s)",
			facts.Name, now.Oldest().Format(time.RFC3339), hint)
	case checkpoint.DoubtfulTable:
		return fail.Errorf(kind, "table %s may have been recreated since this job began: it was out of service, at %s the latest time, none of its regions is one of then, "+
			"and this user cannot compare its directory on HDFS (if it was not, run the command as a user who can read that; if it was, %s)",
			facts.Name, time.UnixMilli(now.State).UTC().Format(time.RFC3339), hint)
	}
	return nil
}

// stillTheSame looks at the table once more when all files are in it: those
// that went into one that is gone are lost.
func (j *run) stillTheSame(ctx context.Context) error {
	facts, err := cluster.TableFacts(ctx, j.env, j.c, j.facts.Name.String(), j.spec.Families()...)
	if err != nil {
		return err
	}
	return j.recreated(ctx, facts, fail.Verify)
}
