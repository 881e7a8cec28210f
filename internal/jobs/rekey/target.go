package rekey

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/hbase/table"
	"bulkload/internal/jobs/job"
	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// target finds the new table, or creates it with the old table's descriptor from
// when the snapshot was taken.
func (j *run) target(ctx context.Context) (*cluster.Facts, error) {
	old, facts, err := j.req.tables(ctx, j.env, j.cluster, j.source)
	if old != nil && errors.Is(err, loader.ErrTableNotFound) {
		if err := j.create(ctx, old); err != nil {
			return nil, err
		}
		_, facts, err = j.req.tables(ctx, j.env, j.cluster, j.source)
	}
	if err != nil {
		return nil, err
	}
	if err := j.usable(ctx, facts, old); err != nil {
		return nil, err
	}
	return facts, j.req.vacant(ctx, j.cluster)
}

// usable checks that the new table can hold the old one's cells, and that it has no Phoenix indexes, unless the job ignores them.
func (j *run) usable(ctx context.Context, facts *cluster.Facts, old *loader.Table) error {
	if j.job.Rekey.Makes { // regions of the empty table may have been merged since, and Phoenix does not know it
		return fits(facts, old, nil, j.req.further())
	}
	if err := fits(facts, old, j.req.Splits, j.req.further()); err != nil {
		return err
	}
	return job.CheckPhoenix(ctx, j.cluster, facts, j.options.PhoenixIndexes, j.options.Events)
}

// tables returns the old table, as of the snapshot, and the facts of the new one. If the new one does not exist the error is
// [loader.ErrTableNotFound], and the old one is returned too.
func (q *resolved) tables(ctx context.Context, env *cluster.Env, c *loader.Cluster, s *snapshot.Snapshot) (*loader.Table, *cluster.Facts, error) {
	old, err := loader.DescribedBy(q.From, s.Schema)
	if err != nil {
		return nil, nil, fail.With(fail.Input, err)
	}
	if _, err := table.Settle(ctx, c, q.To); err != nil { // TableFacts refuses a table that is not enabled
		return nil, nil, cluster.Failure(err)
	}
	facts, err := cluster.TableFacts(ctx, env, c, q.To.String(), s.FamilyNames()...)
	return old, facts, err
}

// splits returns the split points for creating a table.
func (q *resolved) splits(ctx context.Context, s *snapshot.Snapshot, now time.Time, o newkeys.Options) ([][]byte, error) {
	if q.Splits != nil {
		return q.Splits, nil
	}
	return newkeys.Splits(ctx, s, q.key, q.oldKey, now, q.chosen.Ranges, o)
}

// create creates the table, pre-split.
func (j *run) create(ctx context.Context, old *loader.Table) error {
	splits, err := j.req.splits(ctx, j.source, j.now(), j.buildOptions())
	if err != nil {
		return err
	}
	now := *j.job.Rekey
	now.Makes = true
	if err := j.job.Record(history.EventRekey, now); err != nil {
		return err
	}
	like, present := table.Like(old), old.Attributes
	if slices.ContainsFunc(history.QuietAttributes(), func(key string) bool { return like.Attributes[key] == "false" }) {
		if t, err := j.cluster.Describe(ctx, j.req.From); err == nil {
			present = t.Attributes
		} // else a warning says what stays off
	}
	checkpoint.WarnOfQuiet(j.options.Events, j.req.To.String(), j.req.From.String(), history.Wake(like.Attributes, present))
	spec := like.Spec(j.req.To, splits)
	j.options.Events.Note("table is created", "table", j.req.To.String(), "like", j.req.From.String(), "regions", len(splits)+1)
	if err := j.cluster.CreateTable(ctx, spec); err != nil && !errors.Is(err, loader.ErrTableExists) {
		return cluster.Failure(err)
	}
	return nil
}

// fits checks that a table can hold the old one's cells unchanged: one that keeps
// fewer versions, or for a shorter time, would lose some. In a further pass, one
// that keeps more would show cells that the old table has dropped since the first
// pass.
func fits(facts *cluster.Facts, old *loader.Table, splits [][]byte, further bool) error {
	var wrong []string
	for _, f := range old.Families {
		now, ok := facts.Table.Family(f.Name)
		switch {
		case !ok:
			wrong = append(wrong, "it has no family "+f.Name)
		case now.Versions < f.Versions:
			wrong = append(wrong, "family "+f.Name+" keeps fewer versions")
		case further && now.Versions > f.Versions:
			wrong = append(wrong, "family "+f.Name+" keeps more versions")
		case now.TTL < f.TTL:
			wrong = append(wrong, "family "+f.Name+" has a shorter TTL")
		case now.TTL != loader.Forever && minVersions(now) < minVersions(f):
			wrong = append(wrong, "family "+f.Name+" has a lower MIN_VERSIONS, and keeps fewer versions past its TTL")
		}
	}
	for _, split := range splits {
		if !slices.ContainsFunc(facts.Splits, func(s []byte) bool { return bytes.Equal(s, split) }) {
			wrong = append(wrong, "no region begins at "+rowkey.String(split))
			break
		}
	}
	if len(wrong) > 0 {
		return fail.Errorf(fail.Check, "table %s exists and cannot take the cells of table %s: %s (alter it, or name a table that does not exist)",
			facts.Name, old.Name, strings.Join(wrong, "; "))
	}
	return nil
}

// minVersions returns the number of versions that a family keeps past its TTL.
func minVersions(f loader.Family) int {
	n, err := strconv.Atoi(f.Attributes["MIN_VERSIONS"])
	if err != nil {
		return 0 // the default
	}
	return n
}

// restartable checks, before the journal of a job that starts over is discarded, that the old table exists, and that the new one has no rows.
func (q *resolved) restartable(ctx context.Context, c *loader.Cluster) error {
	if q.Snapshot == "" {
		if _, err := c.Describe(ctx, q.From); err != nil {
			return cluster.Failure(err)
		}
	}
	if _, err := c.Describe(ctx, q.To); err != nil {
		if errors.Is(err, loader.ErrTableNotFound) {
			return nil
		}
		return cluster.Failure(err)
	}
	return q.vacant(ctx, c)
}

// vacant refuses a table with rows, which would mix with the old ones. A further
// pass adds to the rows of the first.
func (q *resolved) vacant(ctx context.Context, c *loader.Cluster) error {
	if q.further() {
		return nil
	}
	vacant, err := table.Vacant(ctx, c, q.To)
	if err != nil || vacant {
		return cluster.Failure(err)
	}
	empty, err := table.Empty(ctx, c, q.To)
	if err != nil {
		return cluster.Failure(err)
	}
	if empty {
		return fail.Errorf(fail.Check, "table %[1]s has deleted rows, whose markers would hide new ones: flush and major_compact '%[1]s' in HBase's shell, or name another table", q.To)
	}
	return fail.Errorf(fail.Check, "table %s is not empty: rows with new keys go into an empty table (name another one; a further pass needs %s)", q.To, setting.Since)
}
