package checkpoint

import (
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

// QuietRecord is a table whose regions do not split, merge or get normalized while the job runs.
type QuietRecord struct {
	Table string            `json:"table"`
	Was   map[string]string `json:"was,omitempty"` // the attributes that the job sets to false, as they were; empty: not there
	Over  bool              `json:"over,omitempty"`
}

// QuietAttributes returns the attributes of a table that let HBase change its regions (TableDescriptorBuilder, HBase 2.4).
func QuietAttributes() []string {
	return []string{"SPLIT_ENABLED", "MERGE_ENABLED", "NORMALIZATION_ENABLED"}
}

func (h *History) quiet(r QuietRecord) {
	if r.Over {
		delete(h.Quiet, r.Table)
		return
	}
	h.Quiet[r.Table] = r
}

// KeepQuiet has HBase neither split nor merge nor normalize regions of a table until the job gives it back. What others have switched off
// stays theirs. A table that an earlier attempt has begun to keep quiet continues by that attempt's record.
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

// GiveBackTables gives the tables that the job keeps quiet their attributes again, also when it was cancelled. What another has changed
// meanwhile stays. A table that was not given back is a warning: it stays in the journal, for the next attempt and clean.
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

// shellLine gives the attributes back in HBase's shell.
func shellLine(r QuietRecord) string {
	line := fmt.Sprintf("hbase shell: alter '%s'", r.Table)
	for _, key := range slices.Sorted(maps.Keys(r.Was)) {
		value := r.Was[key]
		if value == "" {
			value = "true"
		}
		line += fmt.Sprintf(", %s => '%s'", key, value)
	}
	return line
}

// giveBack gives a table the attributes that it had, but for those that another has changed since. A table that is gone needs none.
func giveBack(ctx context.Context, c *loader.Cluster, r QuietRecord) error {
	name, err := loader.ParseTableName(r.Table)
	if err != nil {
		return err
	}
	err = c.ChangeAttributes(ctx, name, func(now map[string]string) map[string]string {
		set := map[string]string{}
		for key, was := range r.Was {
			if now[key] == "false" {
				set[key] = was
			}
		}
		return set
	})
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil
	}
	return err
}
