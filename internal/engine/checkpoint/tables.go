package checkpoint

import (
	"bulkload/internal/base/cleanup"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/progress"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"bulkload/internal/hbase/cluster"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
)

// RecordTable returns the record that identifies a table in its current state.
// regions are the table's regions; a record without them can be compared with an
// earlier record, but not the reverse.
func RecordTable(ctx context.Context, env *cluster.Env, c *loader.Cluster, t *loader.Table, regions []loader.Region) (*history.TableRecord, error) {
	id, err := c.ID(ctx)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	r := &history.TableRecord{Cluster: id, State: t.StateTime, Dir: tableDir(ctx, env, t.Name)}
	for _, region := range regions {
		r.Regions = append(r.Regions, history.RegionRecord{Name: region.Encoded, Made: region.ID})
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

// WarnOfQuiet warns of a table that is created with splits, merges or normalization switched off, like another.
func WarnOfQuiet(e progress.Events, table, like string, off []string) {
	if len(off) > 0 {
		e.Warn("the table is created with splits, merges or normalization switched off, as they are for the other: alter it if a job keeps that one quiet", "table", table, "like", like, "off", off)
	}
}

// KeepQuiet switches off splits, merges and normalization of a table until the job restores them. Attributes that others have switched off are not
// changed. If an earlier attempt has begun to keep the table quiet, its record is used.
func (st *Job) KeepQuiet(ctx context.Context, c *loader.Cluster, table loader.TableName) error {
	const off = "false"
	r, begun := st.Quiet[table.String()]
	if !begun {
		t, err := c.Describe(ctx, table)
		if err != nil {
			return cluster.Failure(err)
		}
		r = history.QuietRecord{Table: table.String(), Was: map[string]string{}}
		for _, key := range history.QuietAttributes() {
			if now := t.Attributes[key]; now != off {
				r.Was[key] = now
			}
		}
		if err := st.Record(history.EventQuiet, r); err != nil {
			return err
		}
	}
	err := c.ChangeAttributes(ctx, table, func(now map[string]string) map[string]string {
		set := map[string]string{}
		for key, was := range r.Was {
			if now[key] == was {
				set[key] = off
			}
		}
		return set
	})
	return cluster.Failure(err)
}

// GiveBackTables restores the attributes of the tables that the job keeps quiet, even if ctx is cancelled. Attributes that others have changed
// meanwhile are kept. A failure is a warning: the table stays in the journal, for the next attempt and clean.
func (st *Job) GiveBackTables(ctx context.Context, c *loader.Cluster, e progress.Events) {
	if len(st.Quiet) == 0 || st.Check(ctx) != nil {
		return
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for _, table := range slices.Sorted(maps.Keys(st.Quiet)) {
		err := giveBack(ctx, c, st.Quiet[table])
		if err == nil {
			err = st.Record(history.EventQuiet, history.QuietRecord{Table: table, Over: true})
		}
		if err != nil {
			e.Warn("the table still has splits, merges and normalization switched off", "table", table, "error", err, "hint", shellLine(st.Quiet[table]))
		}
	}
}

// shellLine returns the command of HBase's shell that restores the attributes.
func shellLine(r history.QuietRecord) string {
	line := fmt.Sprintf("hbase shell: alter '%s'", r.Table)
	for _, key := range slices.Sorted(maps.Keys(r.Was)) {
		value := cmp.Or(r.Was[key], "true")
		line += fmt.Sprintf(", %s => '%s'", key, value)
	}
	return line
}

// giveBack restores the attributes of a table, except for those that others have changed since. It does nothing for a table that is gone.
func giveBack(ctx context.Context, c *loader.Cluster, r history.QuietRecord) error {
	name, err := loader.ParseTableName(r.Table)
	if err != nil {
		return err
	}
	err = c.ChangeAttributes(ctx, name, r.Restore)
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil
	}
	return err
}
