package rekey

import (
	"context"
	"errors"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/newkeys"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/loader"
)

// Estimate predicts the result of [Run]: rows and bytes of the new table's regions, from a sample of a snapshot's rows or, for a small table and if w
// is exact, from all. The regions are the new table's, or those that it would be created with, or as many as w suggests. A snapshot that it takes is
// deleted again; it changes nothing else. It refuses tables that a run would refuse. It does not use Splits of w.
func Estimate(ctx context.Context, env *cluster.Env, request Request, w estimate.Options) (_ *estimate.Estimate, err error) {
	q, err := request.resolve()
	if err != nil {
		return nil, err
	}
	c, err := env.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	src, err := tablesource.Open(ctx, env, q.ref(), tablesource.Options{FilesOnly: true, Choice: q.chosen})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	s, now, o := src.Snapshot, time.Now(), q.options(w.WorkOptions)
	if err := q.checkTable(s); err != nil {
		return nil, err
	}
	d, err := newkeys.Predict(ctx, env, s, q.chosen.Ranges, o, w)
	if err != nil {
		return nil, err
	}
	old, facts, err := q.tables(ctx, env, c, s)
	var splits [][]byte
	regions := w.Suggest
	switch {
	case err == nil:
		err = errors.Join(fits(facts, old, q.Splits, q.further()), q.vacant(ctx, c))
		splits = facts.Splits
	case old != nil && errors.Is(err, loader.ErrTableNotFound):
		facts = &cluster.Facts{Table: old}
		facts.Families, err = cluster.FamiliesOf(env, old, s.FamilyNames()...)
		switch _, salted := newkeys.SaltSplits(q.key); {
		case err != nil || regions > 0:
		case q.Splits == nil && !salted && !d.Whole:
			regions = len(s.Regions) // the run would determine them from all rows
		default:
			splits, err = q.splits(ctx, s, now, o)
		}
	}
	if err != nil {
		return nil, err
	}
	p, err := q.plan(q.To.String(), facts.Families, splits, now)
	if err != nil {
		return nil, err
	}
	return d.Estimate(ctx, p, regions, facts.Table.MaxFileSize)
}
