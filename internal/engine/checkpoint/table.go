package checkpoint

import (
	"context"
	"path"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// TableRecord identifies a table: one that was dropped and created again, or
// truncated, has the same name and often the same split points, but none of the old
// rows.
type TableRecord struct {
	Cluster string         `json:"cluster,omitempty"` // cluster id
	State   int64          `json:"state_time"`        // when the master last wrote the table's state, milliseconds
	Dir     uint64         `json:"dir_id,omitempty"`  // inode of its directory on HDFS; 0: not readable
	Regions []RegionRecord `json:"regions"`           // in row order: the split points are their start keys
}

// RegionRecord identifies a region.
type RegionRecord struct {
	Name string `json:"region"` // encoded name
	Made uint64 `json:"made"`   // region id: its creation time, milliseconds
}

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

// Sameness is the result of comparing a table with its record.
type Sameness int

const (
	sameTable Sameness = iota
	OtherTable
	DoubtfulTable // it was out of service meanwhile, and no remaining trace decides
)

// Compare reports whether a table is still the recorded one.
//
// Creating, truncating and restoring a table writes its state, a split and a merge
// do not: a table with the recorded state time, to the millisecond, is the same.
// Otherwise it may have been disabled and enabled. Then its directory decides,
// which is created again together with the table, or a recorded region that
// hbase:meta still has, since the name of a region contains its creation time. A
// region that was split or merged stays there for some minutes only.
func (t TableRecord) Compare(now TableRecord, traces func() (map[string]bool, error)) (Sameness, error) {
	switch {
	case t.State == now.State:
		return sameTable, nil
	case t.Dir != 0 && now.Dir != 0 && t.Dir == now.Dir:
		return sameTable, nil
	case t.Dir != 0 && now.Dir != 0:
		return OtherTable, nil
	}
	left, err := traces()
	if err != nil {
		return DoubtfulTable, err
	}
	for _, r := range t.Regions {
		if left[r.Name] {
			return sameTable, nil
		}
	}
	return DoubtfulTable, nil
}

// Oldest returns the creation time of the oldest region.
func (t TableRecord) Oldest() time.Time {
	var first uint64
	for i, r := range t.Regions {
		if i == 0 || r.Made < first {
			first = r.Made
		}
	}
	return time.UnixMilli(int64(first)).UTC()
}
