package fresh

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/table"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// Splits returns the start keys of a table's second and following regions. It is
// called just before the table is created, with the number of the old table's
// regions.
type Splits func(ctx context.Context, regions int) ([][]byte, error)

// Request describes a table that is to replace another.
type Request struct {
	Old, New loader.TableName
	Splits   Splits // nil: the old table's
	// Fits refuses split points that do not suit the rows, before the table is created. Default: all suit.
	Fits   func(splits [][]byte) error
	Events progress.Events
}

// maker is the work of one process on a table.
type maker struct {
	Request
	env     *cluster.Env
	cluster *loader.Cluster
	job     *checkpoint.Job
}

// Make creates the table of a job, or finds the one that an earlier attempt has
// made. The journal names the table before it is created, and identifies it
// afterwards. Errors have kind [fail.Check] if a table is not the expected one.
func Make(ctx context.Context, env *cluster.Env, c *loader.Cluster, st *checkpoint.Job, r Request) error {
	m := &maker{r, env, c, st}
	exists, err := table.Settle(ctx, c, r.New)
	if err != nil {
		return cluster.Failure(err)
	}
	was := st.Fresh
	switch {
	case was == nil && exists:
		return m.foreign()
	case was != nil && was.Made != nil && !exists:
		return fail.Errorf(fail.Check, "table %s, which this job made to replace table %s, is gone (%s makes it again)", r.New, r.Old, setting.Restart)
	case was != nil && was.Made != nil:
		if err := m.checkSame(ctx, was.Made); err != nil {
			return err
		}
		return m.keepsSplits(ctx)
	case exists:
		return m.adopt(ctx)
	}
	return m.create(ctx)
}

func (m *maker) foreign() error {
	return fail.Errorf(fail.Check, "table %s exists, and this job did not make it: its rows would mix with the export's (drop it, or name a new table with %s)", m.New, setting.Into)
}

// checkSame refuses a table that is not the one that the job has made.
func (m *maker) checkSame(ctx context.Context, was *history.TableRecord) error {
	return sameTable(ctx, m.env, m.cluster, m.New, was, fail.Errorf(fail.Check,
		"table %s may not be the one that this job made: it was recreated, emptied, or offline without a record of its identity (drop it; %s makes it again)", m.New, setting.Restart))
}

// sameTable returns refused unless a table is certainly the recorded one.
func sameTable(ctx context.Context, env *cluster.Env, c *loader.Cluster, name loader.TableName, was *history.TableRecord, refused error) error {
	t, err := c.Describe(ctx, name)
	if err != nil {
		return cluster.Failure(err)
	}
	now, err := checkpoint.RecordTable(ctx, env, c, t, nil)
	if err != nil {
		return err
	}
	if was.Cluster != now.Cluster {
		return refused
	}
	found, err := was.Compare(*now, func() (map[string]bool, error) { return c.RegionTraces(ctx, name) })
	if err == nil && (found == history.OtherTable || found == history.DoubtfulTable) {
		return refused
	}
	return cluster.Failure(err)
}

// record returns the record that identifies a table with its current regions.
func (m *maker) record(ctx context.Context, name loader.TableName) (*history.TableRecord, error) {
	t, err := m.cluster.Describe(ctx, name)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	regions, err := m.cluster.Regions(ctx, name)
	if err != nil {
		return nil, cluster.Failure(err)
	}
	return checkpoint.RecordTable(ctx, m.env, m.cluster, t, regions)
}

// create creates the table like the old one.
func (m *maker) create(ctx context.Context) error {
	like, err := table.Of(ctx, m.cluster, m.Old)
	if errors.Is(err, loader.ErrTableNotFound) {
		return fail.Errorf(fail.Check, "%w: no table can be made like it to replace it (leave %s and %s out to load table %s)", err, setting.Replace, setting.Into, m.New)
	}
	if err != nil {
		return cluster.Failure(err)
	}
	splits, err := m.splitsNow(ctx, like)
	if err == nil && m.Fits != nil {
		err = m.Fits(splits)
	}
	if err != nil {
		return err
	}
	checkpoint.WarnOfQuiet(m.Events, m.New.String(), m.Old.String(), history.Wake(like.Attributes, like.Attributes))
	before := m.job.Fresh
	if err := m.begin(ctx, splits); err != nil {
		return err
	}
	m.Events.Note("table is created", "table", m.New.String(), "like", m.Old.String(), "regions", len(splits)+1)
	err = m.cluster.CreateTable(ctx, like.Spec(m.New, splits))
	if errors.Is(err, loader.ErrTableExists) {
		if before == nil { // another client has created it since Make looked, before any attempt of this job
			return errors.Join(m.foreign(), m.job.Record(history.EventFresh, history.FreshRecord{}))
		}
		if _, err = table.Settle(ctx, m.cluster, m.New); err == nil {
			return m.adopt(ctx)
		}
	}
	if err != nil {
		return cluster.Failure(err)
	}
	return m.recordMade(ctx)
}

// splitsNow returns the split points that are requested now, for a table like the old one.
func (m *maker) splitsNow(ctx context.Context, like *table.Template) ([][]byte, error) {
	if m.Splits == nil {
		return like.SplitKeys, nil
	}
	return m.Splits(ctx, len(like.SplitKeys)+1)
}

// keepsSplits warns, before the job is planned, if split points are requested and the table of an earlier attempt has others. The table is kept,
// since its owner may have given it grants. Split points that cannot be found are not compared: the table does not need them.
func (m *maker) keepsSplits(ctx context.Context) error {
	if m.job.Plan != nil || m.Splits == nil {
		return nil
	}
	like, err := table.Of(ctx, m.cluster, m.Old)
	if errors.Is(err, loader.ErrTableNotFound) {
		return nil
	}
	if err != nil {
		return cluster.Failure(err)
	}
	if splits, err := m.splitsNow(ctx, like); err == nil {
		m.warnOfSplits(splits)
	}
	return ctx.Err()
}

func (m *maker) warnOfSplits(now [][]byte) {
	if was := rowkey.Rows(m.job.Fresh.Splits); !slices.EqualFunc(was, now, bytes.Equal) {
		m.Events.Warn("the table of an earlier attempt keeps its split points: drop it and start the job over to have others", "table", m.New.String(), "regions", len(was)+1, "requested", len(now)+1)
	}
}

// begin records the name of the new table, and the identity of the old one.
func (m *maker) begin(ctx context.Context, splits [][]byte) error {
	old, err := m.record(ctx, m.Old)
	if err != nil {
		return err
	}
	return m.job.Record(history.EventFresh, history.FreshRecord{Table: m.New.String(), From: m.Old.String(), Splits: append([]rowkey.Key{}, rowkey.Keys(splits)...), Old: old})
}

// adopt uses the table of an attempt that was interrupted while creating it.
func (m *maker) adopt(ctx context.Context) error {
	like, err := table.Of(ctx, m.cluster, m.Old)
	if err != nil {
		return cluster.Failure(err)
	}
	if err := table.Same(ctx, m.cluster, like.Spec(m.New, rowkey.Rows(m.job.Fresh.Splits))); errors.Is(err, table.ErrDiffers) {
		return errors.Join(m.foreign(), err)
	} else if err != nil {
		return cluster.Failure(err)
	}
	vacant, err := table.Vacant(ctx, m.cluster, m.New)
	if err != nil {
		return cluster.Failure(err)
	}
	if !vacant {
		return m.foreign()
	}
	if err := m.recordMade(ctx); err != nil {
		return err
	}
	return m.keepsSplits(ctx)
}

// recordMade records that the table exists.
func (m *maker) recordMade(ctx context.Context) error {
	made, err := m.record(ctx, m.New)
	if err != nil {
		return err
	}
	r := *m.job.Fresh
	r.Made = made
	return m.job.Record(history.EventFresh, r)
}

// Forget drops the table of a job that starts over, since it may have rows of
// earlier attempts. It refuses to drop a table that may not be the job's.
func Forget(ctx context.Context, env *cluster.Env, c *loader.Cluster, st *checkpoint.Job, e progress.Events) error {
	f := st.Fresh
	if f == nil || f.Made == nil || st.Finished {
		return nil
	}
	name, err := loader.ParseTableName(f.Table)
	if err != nil {
		return fail.With(fail.Config, err)
	}
	exists, err := table.Settle(ctx, c, name)
	if err != nil {
		return cluster.Failure(err)
	}
	if exists && st.AnyLoading() {
		if err := sameTable(ctx, env, c, name, f.Made, fail.Errorf(fail.Check,
			"table %s may not be the one that this job made, and may have other rows: drop it by hand, or name another with %s", name, setting.Into)); err != nil {
			return err
		}
		e.Note("table of earlier attempts is dropped", "table", name.String())
		if err := c.DeleteTable(ctx, name); err != nil {
			return cluster.Failure(err)
		}
		exists = false
	}
	if exists {
		return nil
	}
	gone := *f
	gone.Made = nil
	return st.Record(history.EventFresh, gone)
}

// Result returns the description of the old table for a run's result.
func Result(r *history.FreshRecord, t *loader.Table) *result.Fresh {
	f := &result.Fresh{From: r.From, Before: r.Compared}
	for key, value := range t.Attributes {
		if strings.HasPrefix(strings.ToLower(key), "coprocessor$") { // TableDescriptorBuilder, HBase 2.6
			f.Coprocessors = append(f.Coprocessors, value)
		}
	}
	slices.Sort(f.Coprocessors)
	return f
}
