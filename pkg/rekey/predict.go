package rekey

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"bulkload/pkg/cluster"
	"bulkload/pkg/estimate"
	"bulkload/pkg/fail"
	"bulkload/pkg/keygen"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/snapshot"
	"bulkload/pkg/tablesource"
)

// Estimate says what [Run] would come to: rows and bytes of the new table's regions, by all rows of a snapshot of the old one. The
// regions are the new table's, else those that it would be made with; or so many as w suggests. A snapshot that it takes is deleted
// again, and nothing else is changed. What a run would refuse of the tables it refuses too. Splits of w are not used.
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
	ref := tablesource.Ref{Table: q.From}
	if q.Snapshot != "" {
		ref = tablesource.Ref{Snapshot: q.Snapshot}
	}
	src, err := tablesource.Open(ctx, env, ref, tablesource.Options{FilesOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close(ctx)) }()
	s, now, o := src.Snapshot, time.Now(), q.options(w.WorkOptions)
	if err := q.isOf(s); err != nil {
		return nil, err
	}
	old, facts, err := q.tables(ctx, env, c, s)
	var splits [][]byte
	switch {
	case err == nil:
		err = errors.Join(fits(facts, old, q.Splits, q.Since > 0), q.vacant(ctx, c))
		splits = facts.Splits
	case old != nil && errors.Is(err, loader.ErrTableNotFound):
		facts = &cluster.Facts{Table: old}
		if facts.Families, err = cluster.FamiliesOf(env, old, familyNames(s)...); err == nil && w.Suggest == 0 {
			splits, err = q.splits(ctx, s, now, o)
		}
	}
	if err != nil {
		return nil, err
	}
	if w.Suggest > 0 {
		if splits, err = suggest(ctx, s, q.key, q.oldKey, now, w.Suggest, o); err != nil {
			return nil, err
		}
	}
	p, err := q.plan(q.To.String(), facts.Families, splits, now)
	if err != nil {
		return nil, err
	}
	return predict(ctx, env, s, p, facts.Table.MaxFileSize, o, w)
}

// suggest finds split points for so many regions of about the same bytes.
func suggest(ctx context.Context, s *snapshot.Snapshot, key, old keygen.Expr, now time.Time, regions int, o Options) ([][]byte, error) {
	o.Options = o.WithDefaults()
	keys, err := newKeyColumns(key, old, s.Families)
	if err != nil {
		return nil, err
	}
	least := 0
	if call, ok := keygen.Parts(key)[0].(keygen.Call); ok && call.Func == "salt" && len(call.Ints) > 0 {
		least = len(strconv.Itoa(call.Ints[0] - 1))
	}
	return evenSplits(ctx, s, keys, regions, least, snapshot.View{Now: now}, o)
}

// counter counts the rows of a pass, and keeps a sample of them to build.
type counter struct {
	ranges *partition.Ranges
	sample *rowSample

	mu      sync.Mutex
	workers []*countTaker
}

// countTaker counts those of one worker.
type countTaker struct {
	*counter
	rows *estimate.Rows
}

func (c *counter) taker() (rowTaker, error) {
	t := &countTaker{c, estimate.NewRows(c.ranges)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, t)
	return t, nil
}

func (t *countTaker) take(w *readWorker, region int, key []byte) error {
	t.sample.add(sequence(w.number, w.inside), key, w.pack.cells)
	if w.cells > 0 { // else it has none that is late enough
		t.rows.Add(region, key, estimate.Row{Bytes: int64(len(w.pack.cells)), Cells: w.cells, Names: w.names, Query: w.maker.fields[0]})
	}
	return nil
}

// total is what all workers have counted.
func (c *counter) total() *estimate.Rows {
	all := estimate.NewRows(c.ranges)
	for _, t := range c.workers {
		all.Merge(t.rows)
	}
	return all
}

// predict counts all rows for the plan's regions, builds a sample of them, and scales what that took.
func predict(ctx context.Context, env *cluster.Env, s *snapshot.Snapshot, p *Plan, maxRegion int64, o Options, w estimate.Options) (*estimate.Estimate, error) {
	r, err := newReader(s, p, o)
	if err != nil {
		return nil, err
	}
	c := &counter{ranges: p.Ranges, sample: newSample(r.room.sort / int64(2*r.o.Workers))}
	r.taker = c.taker
	start := time.Now()
	r.o.Events.Phase("count keys")
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	if err := r.o.Budget.Judge(r.bad.Load(), r.rows); err != nil {
		return nil, fail.With(fail.BadRows, err)
	}
	all := c.total()
	b := estimate.RowBuild{Plan: p.buildPlan(s.Families), MaxRegion: maxRegion, Query: keygen.Columns(p.Key)[0], Places: len(s.Regions), InputBytes: bytesOf(s), Bad: r.bad.Load(), Part: 1,
		Sort: extsort.Options{Workers: r.o.Workers, Memory: r.room.sort}, WorkerMemory: r.room.worker, ReadTime: time.Since(start)}
	for _, region := range s.Regions {
		b.Files += region.Files
	}
	if all.Count() > 0 {
		if err := c.sample.build(ctx, r, all, &b); err != nil {
			return nil, err
		}
	}
	w.Memory = r.o.Memory
	return all.Estimate(env, b, w), nil
}
