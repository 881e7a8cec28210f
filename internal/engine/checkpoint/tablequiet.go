package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bulkload/internal/base/cleanup"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/progress"
	"bulkload/pkg/loader"
)

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
		r = QuietRecord{Table: table.String(), Was: map[string]string{}}
		for _, key := range QuietAttributes() {
			if now := t.Attributes[key]; now != off {
				r.Was[key] = now
			}
		}
		if err := st.Record(EventQuiet, r); err != nil {
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
			err = st.Record(EventQuiet, QuietRecord{Table: table, Over: true})
		}
		if err != nil {
			e.Warn("the table still has splits, merges and normalization switched off", "table", table, "error", err, "hint", shellLine(st.Quiet[table]))
		}
	}
}

// shellLine returns the command of HBase's shell that restores the attributes.
func shellLine(r QuietRecord) string {
	line := fmt.Sprintf("hbase shell: alter '%s'", r.Table)
	for _, key := range slices.Sorted(maps.Keys(r.Was)) {
		value := cmp.Or(r.Was[key], "true")
		line += fmt.Sprintf(", %s => '%s'", key, value)
	}
	return line
}

// giveBack restores the attributes of a table, except for those that others have changed since. It does nothing for a table that is gone.
func giveBack(ctx context.Context, c *loader.Cluster, r QuietRecord) error {
	name, err := loader.ParseTableName(r.Table)
	if err != nil {
		return err
	}
	err = c.ChangeAttributes(ctx, name, r.restore)
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil
	}
	return err
}
