package newkeys

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/hbase/snapshot"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/keyrange"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/keygen"
	"bulkload/pkg/partition"
	"bulkload/pkg/partition/extsort"
)

const (
	// placeBytes is the number of bytes of HFiles that a plan reads at a place, and maxPlaces the maximum number of places: 128 MiB
	// altogether. Rows that are sorted by the columns of their new key are then sampled as well as any others.
	placeBytes = 512 << 10
	maxPlaces  = 256
)

// Prediction predicts a plan's result from a snapshot.
type Prediction struct {
	snap    *snapshot.Snapshot
	options Options
	build   estimate.Options
	env     *cluster.Env
	place   int64
	places  int
	ranges  []keyrange.Range // of rows that get new keys

	parts []part
	Whole bool              // the parts are all rows
	runs  *partition.Ranges // of new keys: some rows of each are built
}

// choose chooses the parts to read: all regions if that is not too much or if exact is set. Otherwise regions are cut into parts of
// about the same size, these are concatenated and divided into as many pieces as there are to be places, and a random part of each
// piece is drawn. Every row therefore has the same chance, whatever the sizes of regions and parts.
func (d *Prediction) choose(ctx context.Context, exact bool) (parts []part, whole bool, err error) {
	if exact || d.snap.Bytes() <= d.place*int64(d.places) {
		return wholeParts(d.snap), true, nil
	}
	var all []part
	add := func(p part) {
		r := d.snap.Regions[p.region]
		if both, ok := (keyrange.Range{Start: p.start, Stop: p.stop}).Intersect(keyrange.Range{Start: r.Start, Stop: r.End}); ok && len(keyrange.Within(d.ranges, both)) > 0 {
			all = append(all, p)
		}
	}
	for i, r := range d.snap.Regions {
		cuts, err := d.snap.Cuts(ctx, i, int((r.Bytes+d.place-1)/d.place))
		if err != nil {
			return nil, false, tablesource.InputFailure(err)
		}
		p := part{region: i}
		for _, cut := range cuts {
			p.stop = cut
			add(p)
			p = part{region: i, start: cut}
		}
		add(p)
	}
	if len(all) <= d.places {
		return wholeParts(d.snap), true, nil
	}
	rng := rand.New(rand.NewPCG(sampleSeed, uint64(len(all))))
	for k := range d.places {
		from, to := k*len(all)/d.places, (k+1)*len(all)/d.places
		p := all[from+rng.IntN(to-from)]
		p.stands = to - from
		parts = append(parts, p)
	}
	return parts, false, nil
}

// Predict prepares the prediction for the new keys of a snapshot's rows in some ranges: it chooses the rows to read.
func Predict(ctx context.Context, env *cluster.Env, s *snapshot.Snapshot, in []keyrange.Range, o Options, w estimate.Options) (d *Prediction, err error) {
	d = &Prediction{snap: s, ranges: in, options: o, build: w, env: env, place: placeBytes, places: maxPlaces}
	d.parts, d.Whole, err = d.choose(ctx, w.Exact)
	return d, err
}

// Estimate returns the estimate of a build of the plan. If regions is above 1, it finds split points for that many regions and stores
// them in the plan.
func (d *Prediction) Estimate(ctx context.Context, p *Plan, regions int, maxRegion int64) (*estimate.Estimate, error) {
	if err := d.look(ctx, p, regions); err != nil {
		return nil, err
	}
	return d.estimate(ctx, p, maxRegion)
}

// saltWidth returns the number of digits of a key's salt, 0 for a key without one.
func saltWidth(key keygen.Expr) int {
	if call, ok := keygen.Parts(key)[0].(keygen.Call); ok && call.Func == "salt" && len(call.Ints) > 0 {
		return len(strconv.Itoa(call.Ints[0] - 1))
	}
	return 0
}

// look reads keys to determine the ranges from which rows are built. If regions is above 1, it also stores split points for that many
// regions, with about the same bytes each, in the plan.
func (d *Prediction) look(ctx context.Context, p *Plan, regions int) (err error) {
	parts := d.parts
	if d.build.Exact && regions < 2 {
		if parts, _, err = d.choose(ctx, false); err != nil {
			return err
		}
	}
	keys := &sharedSample{keys: partition.NewKeySample(1, sampleSeed)}
	r, c, err := d.count(ctx, p, parts, keys)
	if err != nil {
		return err
	}
	if regions > 1 {
		p.Ranges, err = partition.New(keys.keys.Splits(regions, saltWidth(p.Key)))
	}
	if err == nil {
		d.runs, err = partition.New(keys.keys.Splits(r.runsOf(c.all.Mean()), 0))
	}
	return err
}

// counter counts the rows of a pass, and keeps a sample of them to build.
type counter struct {
	ranges *partition.Ranges
	sample *rowSample    // nil: no sample
	keys   *sharedSample // nil: they are known

	mu  sync.Mutex
	all *estimate.Rows
}

// countTaker counts the rows of one worker.
type countTaker struct {
	*counter
	rows *estimate.Rows // of the current part
}

func (c *counter) taker() (rowTaker, error) { return &countTaker{c, estimate.NewRows(c.ranges)}, nil }

func (t *countTaker) take(w *readWorker, region int, key []byte) error {
	if t.sample != nil {
		t.sample.add(w.sequence(), key, w.pack.cells)
	}
	if w.cells == 0 { // no cell is late enough
		return nil
	}
	bytes := int64(len(w.pack.cells))
	t.rows.Add(region, key, estimate.Row{Bytes: bytes, Cells: w.cells, Names: w.names, Query: w.maker.fields[0]})
	if t.keys != nil {
		t.keys.add(key, (bytes+int64(len(key)))*int64(w.parts[w.number].stands))
	}
	return nil
}

func (t *countTaker) end(p part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Take(t.rows, float64(p.stands))
}

// count makes the keys of the parts' rows. It keeps them in keys; if keys is nil, it keeps a sample of the rows instead.
func (d *Prediction) count(ctx context.Context, p *Plan, parts []part, keys *sharedSample) (*reader, *counter, error) {
	r, err := newReader(d.snap, p, d.options)
	if err != nil {
		return nil, nil, err
	}
	c := &counter{ranges: p.Ranges, keys: keys, all: estimate.NewRows(p.Ranges)}
	if keys == nil {
		c.sample = newSample(d.runs, r.sampleRoom())
	}
	r.taker, r.parts, r.end = c.taker, parts, len(parts)
	r.options.Events.Phase("count keys")
	return r, c, r.run(ctx)
}

// estimate counts rows for the plan's regions, builds a sample of them, and scales the measurements.
func (d *Prediction) estimate(ctx context.Context, p *Plan, maxRegion int64) (*estimate.Estimate, error) {
	start := time.Now()
	r, c, err := d.count(ctx, p, d.parts, nil)
	if err == nil {
		err = fail.With(fail.BadRows, r.options.Budget.Judge(r.bad.Load(), r.rows))
	}
	if err != nil {
		return nil, err
	}
	s := d.snap
	b := estimate.RowBuild{Plan: p.Build(s), MaxRegion: maxRegion, Query: keygen.Columns(p.Key)[0], Places: len(d.parts), Whole: d.Whole, InputBytes: s.Bytes(), Bad: r.bad.Load(),
		Part: 1, Sort: extsort.Options{Workers: r.options.Workers, Memory: r.room.sort}, WorkerMemory: r.room.worker, ReadTime: time.Since(start)}
	stand := 0
	for _, part := range d.parts {
		stand += part.stands
	}
	b.ReadTime = b.ReadTime * time.Duration(stand) / time.Duration(len(d.parts))
	for _, region := range s.Regions {
		b.Files += region.Files
	}
	if c.all.Bytes() > 0 {
		if err := c.sample.build(ctx, r, c.all, &b); err != nil {
			return nil, err
		}
	}
	w := d.build
	w.Memory = r.options.Memory
	return c.all.Estimate(d.env, b, w), nil
}
