package checkpoint

import (
	"context"
	"path"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// RecordTable returns the record by which a job recognizes a table later. Regions are
// those of the table; without them a record may be compared with an earlier one,
// and none with it.
func RecordTable(ctx context.Context, env *cluster.Env, c *loader.Cluster, t *loader.Table, regions []loader.Region) (*TableRecord, error) {
	id, err := c.ID(ctx)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	r := &TableRecord{Cluster: id, State: t.StateTime, Dir: tableDir(ctx, env, t.Name)}
	for _, region := range regions {
		r.Regions = append(r.Regions, RegionRecord{Name: region.Encoded, Made: region.ID})
	}
	return r, nil
}

// tableDir returns the inode of a table's directory, 0 if that is not to be found:
// others may not read HBase's directory in many clusters.
func tableDir(ctx context.Context, env *cluster.Env, t loader.TableName) uint64 {
	l, err := env.Conf.Resolve(env.Conf.Value(cluster.RootDirKey))
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
