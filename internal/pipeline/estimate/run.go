package estimate

import (
	"context"
	"fmt"
	"time"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/preflight"
	"bulkload/internal/pipeline/streams"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

// Options are [build.WorkOptions] and the other settings of an estimate.
type Options struct {
	build.WorkOptions
	Splits *[][]byte // of the regions; default: the table's, from its cluster
	// TableSplits are the split points of further tables, by name, if Splits is set; a table without an entry has one region.
	TableSplits map[string][][]byte
	Exact       bool      // count the keys of the whole input
	Suggest     int       // number of regions to find split points for; default 0: none
	Skew        float64   // warn of regions with more than this multiple of their fair share, default 2
	MaxRegion   spec.Size // at which a region splits; default the table's setting, else the configuration's
}

// Regions returns the families' settings, the split points and the servers for a build of a spec: the table's or, if split points
// are given, [spec.DefaultFamily]'s settings and no servers. maxSize is the size at which a region splits, 0 if no table sets it.
func Regions(ctx context.Context, env *cluster.Env, s spec.Job, splits *[][]byte) (shape build.Shape, maxSize int64, err error) {
	shape.Families = spec.DefaultFamilies(s.Families())
	if splits != nil {
		shape.Splits = *splits
	} else {
		facts, err := cluster.SpecFacts(ctx, env, s)
		if err != nil {
			return shape, 0, err
		}
		shape, maxSize = build.Shape{Families: facts.Families, Splits: facts.Splits, Near: facts.Near}, facts.Table.MaxFileSize
	}
	shape.Families, err = s.ApplyToAll(shape.Families)
	return shape, maxSize, err
}

// Shapes returns the shapes of all targets of a job, as [Regions] does, and the sizes at which their regions split.
func Shapes(ctx context.Context, env *cluster.Env, s spec.Job, w Options) ([]build.Shape, []int64, error) {
	targets := s.Targets()
	shapes, maxSizes := make([]build.Shape, len(targets)), make([]int64, len(targets))
	for i, t := range targets {
		splits := w.Splits
		if splits != nil && i > 0 {
			splits = new(w.TableSplits[t.Table])
		}
		var err error
		if shapes[i], maxSizes[i], err = Regions(ctx, env, t.Job, splits); err != nil {
			return nil, nil, err
		}
	}
	if w.Splits != nil && w.Suggest == 0 { // a table with N regions that are looked for has N salts
		return shapes, maxSizes, build.KnowsSalts(s, shapes)
	}
	return shapes, maxSizes, nil
}

// Run opens the input of a spec and estimates its build. The regions and the
// family's settings are the table's; if split points are given, or are to be
// found without a table, it contacts no cluster and uses the settings of
// [spec.DefaultFamily]. A job of several tables is estimated as it is built,
// with one reading; split points are found for each table.
func Run(ctx context.Context, env *cluster.Env, s spec.Job, w Options) (*Estimate, error) {
	targets := s.Targets()
	shapes, maxSizes, err := Shapes(ctx, env, s, w)
	if err != nil {
		return nil, err
	}
	for i, t := range targets {
		if w.Suggest > 1 && w.Splits != nil && len(shapes[i].Splits) == 0 && t.Regions == 0 {
			targets[i].Regions = w.Suggest // a table with n regions has n salts unless set otherwise
		}
	}
	if err := streams.Refuse(ctx, env.Source, s.Inputs, w.Stdin, "plan"); err != nil {
		return nil, err
	}
	start := time.Now()
	k, err := build.OpenInput(ctx, env.Source, s, build.WorkOptions{Workers: w.Workers, Memory: w.Memory, SplitSize: countSplit, Events: w.Events}) // rejects of a sample are not kept
	if err != nil {
		return nil, err
	}
	o := BuildOptions{Options: build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, Budget: k.Budget, AllowEmpty: s.AllowEmpty, Events: w.Events, Missing: source.Missing(s.Missing)}, spillLimit: w.SpillLimit,
		Exact: w.Exact, Suggest: w.Suggest, Skew: w.Skew}
	now := time.Now().UnixMilli()
	var tables []tableWork
	for i, t := range targets {
		x := shapes[i]
		plan, err := cells.NewPlan(t.Job, k.Source.Columns(), x.Families[0], x.Splits, now, x.Families[1:]...)
		if err != nil && s.Several() {
			err = fmt.Errorf("table %s: %w", t.Table, err)
		}
		if err != nil {
			return nil, err
		}
		plan.WarnKey(w.Events)
		o.MaxRegion, o.maxRegionFrom = w.maxRegion(env, maxSizes[i])
		o.query = t.QueryColumns(plan.Key)
		tables = append(tables, tableWork{plan, t.Index, o})
	}
	opened := time.Since(start)
	e, err := buildTables(ctx, tables, k.Source)
	if err != nil {
		return nil, err
	}
	for _, t := range e.All() {
		t.OpenTime = opened
	}
	e.Reading = k.Reading
	return e, nil
}

// maxRegion returns the size at which a region splits, and the origin of that setting. table is the table's setting, 0 for none.
func (w Options) maxRegion(env *cluster.Env, table int64) (size int64, from string) {
	if w.MaxRegion > 0 {
		return int64(w.MaxRegion), "as given"
	}
	return preflight.MaxRegionSize(table, env.Conf.Value("hbase.hregion.max.filesize"))
}

// tableWork is one of the tables that a build writes, with its options.
type tableWork struct {
	plan    *cells.Plan
	index   string
	options BuildOptions // the same for all tables, except the table's own query key and size of regions
}

// buildTables samples the input once for all tables. It returns the first table's estimate, which contains the others.
func buildTables(ctx context.Context, tables []tableWork, in *source.Input) (*Estimate, error) {
	plans := make([]*cells.Plan, len(tables))
	for i := range tables {
		tables[i].options = tables[i].options.withDefaults()
		plans[i] = tables[i].plan
	}
	o := tables[0].options
	memory, err := o.SortMemory(in, plans...)
	if err != nil {
		return nil, err
	}
	extent, err := in.Extent(ctx)
	if err != nil {
		return nil, fail.With(fail.Input, err)
	}
	s := &build.Sample{Plan: plans[0], Further: plans[1:], Input: in, Options: o.Options, Extent: extent, Readers: o.readers, Limit: o.sample, Sort: extsort.Options{Workers: o.Workers, Memory: memory}}
	if err := s.Run(ctx); err != nil {
		return nil, o.ReadError(build.Locate(err, in))
	}
	all := make([]*Estimate, len(tables))
	for i, t := range tables {
		one := &scaled{s, plans, i}
		if len(tables) > 1 {
			one.Sample = s.Table(i)
			t.options.spillLimit = 0 // it limits all tables together
		}
		counted, err := one.countKeys(ctx, t.options)
		if err != nil {
			return nil, err
		}
		if i == 0 && counted.rows == 0 && (counted.whole || one.Rows == 0) {
			if err := nothing(in, t.options); err != nil {
				return nil, err
			}
		}
		all[i] = one.estimate(counted, t.options)
		all[i].Index = t.index
		all[i].warn(one.Plan, counted, t.options)
		whole := counted.whole && one.Rows == counted.seen
		sampled := RowBuild{Duplicates: one.Duplicates, Whole: whole, SampledRows: one.Kept()}
		if whole {
			sampled.SampledRows = all[i].Rows // without bad records
		}
		all[i].warnDuplicates(sampled)
	}
	if len(all) > 1 {
		together(all, memory, o.spillLimit)
	}
	return all[0], nil
}

// nothing returns the error of a build of an input that has been read as a whole and has no records with rows.
func nothing(in *source.Input, o BuildOptions) error {
	records, bad := in.Records()+o.Budget.Extra(), o.Budget.Bad()
	return build.SomeRecords(records, bad, records-bad, o.Options)
}

// together stores the common values in each estimate, and the other estimates in the first.
func together(all []*Estimate, memory int64, limit spec.Size) {
	sum := Estimate{}
	need := -memory
	for _, e := range all {
		sum.Memory, sum.ReadTime, sum.Runs = max(sum.Memory, e.Memory), max(sum.ReadTime, e.ReadTime), max(sum.Runs, e.Runs)
		sum.Spills = sum.Spills || e.Spills
		sum.SpillMost += e.SpillMost
		need += e.MoreMemory + memory // for the table's own rows
	}
	for _, e := range all {
		e.Memory, e.ReadTime, e.Runs = sum.Memory, sum.ReadTime, sum.Runs
		if e.Spills {
			e.MoreMemory = need
		}
	}
	if c := sum.warnSpill(limit); c.Severity != preflight.SeverityOK {
		all[0].Warnings = append(all[0].Warnings, c)
	}
	all[0].Tables = all[1:]
}
