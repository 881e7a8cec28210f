package job

import (
	"context"
	"path"
	"time"

	"bulkload/pkg/cluster"
	"bulkload/pkg/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// tableRecord is by what a job knows its table again: a table that was dropped
// and made again, or emptied, has the name and often the split points of the old
// one, and none of its rows.
type tableRecord struct {
	Cluster string         `json:"cluster,omitempty"` // its id
	State   int64          `json:"state_time"`        // when the master wrote the table's state last, milliseconds
	Dir     uint64         `json:"dir_id,omitempty"`  // inode of its directory on HDFS; 0: it cannot be read
	Regions []regionRecord `json:"regions"`           // in the order of their rows: the split points are their starts
}

// regionRecord is a region as it was.
type regionRecord struct {
	Name string `json:"region"` // encoded
	Made uint64 `json:"made"`   // its id: when it was made, milliseconds
}

// sameness is what was found about a table.
type sameness int

const (
	sameTable sameness = iota
	otherTable
	doubtfulTable // it was out of service meanwhile, and nothing that is left tells more
)

// compare says whether a table is the one that it was.
//
// To make, to empty and to restore a table writes its state, a split and a merge do
// not: one that has the state of then, to the millisecond, is the same. If it has
// another, it may have been disabled and enabled. Its directory tells then, which
// is made anew with the table, or a region of then that hbase:meta still tells of,
// since the name of a region has the time in it at which it was made. A region
// that was split or merged is told of for some minutes only.
func (t tableRecord) compare(now tableRecord, traces func() (map[string]bool, error)) (sameness, error) {
	switch {
	case t.State == now.State:
		return sameTable, nil
	case t.Dir != 0 && now.Dir != 0 && t.Dir == now.Dir:
		return sameTable, nil
	case t.Dir != 0 && now.Dir != 0:
		return otherTable, nil
	}
	left, err := traces()
	if err != nil {
		return doubtfulTable, err
	}
	for _, r := range t.Regions {
		if left[r.Name] {
			return sameTable, nil
		}
	}
	return doubtfulTable, nil
}

// oldest is when the oldest region was made.
func (t tableRecord) oldest() time.Time {
	var first uint64
	for i, r := range t.Regions {
		if i == 0 || r.Made < first {
			first = r.Made
		}
	}
	return time.UnixMilli(int64(first)).UTC()
}

// tableRecord is the record of the table as it is.
func (j *run) tableRecord(ctx context.Context, facts *cluster.Facts) (*tableRecord, error) {
	id, err := j.c.ID(ctx)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	t := &tableRecord{Cluster: id, State: facts.Table.StateTime, Dir: tableDir(ctx, j.env, facts.Name)}
	for _, r := range facts.Regions {
		t.Regions = append(t.Regions, regionRecord{r.Encoded, r.ID})
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
// the journal tells.
func (j *run) recreated(ctx context.Context, facts *cluster.Facts, kind fail.Kind) error {
	was := j.st.history.plan.Made
	if was == nil {
		return nil
	}
	now, err := j.tableRecord(ctx, facts)
	if err != nil {
		return err
	}
	found, err := was.compare(*now, func() (map[string]bool, error) { return j.c.RegionTraces(ctx, facts.Name) })
	if err != nil {
		return cluster.Failure(err)
	}
	const hint = "what was loaded before went with the old table: --restart loads everything into the new one"
	switch found {
	case otherTable:
		return fail.Errorf(kind, "table %s was recreated since this job began: it was dropped and made again, or emptied; its oldest region is of %s (%s)",
			facts.Name, now.oldest().Format(time.RFC3339), hint)
	case doubtfulTable:
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
