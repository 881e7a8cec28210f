package checkpoint

import (
	"context"
	"path"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// RecordTable returns the record that identifies a table in its current state.
// regions are the table's regions; a record without them can be compared with an
// earlier record, but not the reverse.
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

// tableDir returns the inode of a table's directory, 0 if it cannot be read: many
// clusters do not let other users read HBase's directory.
func tableDir(ctx context.Context, env *cluster.Env, t loader.TableName) uint64 {
	l, err := env.Conf.Resolve(cluster.Root(env.Conf))
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
