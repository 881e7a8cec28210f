package estimate

import (
	"context"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/partition/extsort"
	"bulkload/pkg/source"
)

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
