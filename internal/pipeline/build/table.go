package build

import (
	"fmt"

	"bulkload/internal/pipeline/cells"
)

// A Table is a table that a build writes: the plan of its files, and where they are written.
type Table struct {
	Plan *cells.Plan
	Out  Output
}

// setDefaults completes the outputs of tables.
func setDefaults(tables []Table) {
	for i := range tables {
		tables[i].Out = tables[i].Out.withDefaults()
	}
}

func plansOf(tables []Table) (plans []*cells.Plan) {
	for _, t := range tables {
		plans = append(plans, t.Plan)
	}
	return plans
}

// RegionsOf returns the total number of regions of the tables, which one sort has.
func RegionsOf(plans []*cells.Plan) (n int) {
	for _, p := range plans {
		n += p.Ranges.Len()
	}
	return n
}

// tableOf returns the table of a region, given by its ordinal in the sort, and the region's number in that table.
func tableOf(plans []*cells.Plan, ordinal int) (table, region int) {
	for ordinal >= plans[table].Ranges.Len() {
		ordinal -= plans[table].Ranges.Len()
		table++
	}
	return table, ordinal
}

// ofTable adds the table to an error, if there are several tables.
func ofTable(plans []*cells.Plan, table int, err error) error {
	if err == nil || len(plans) == 1 {
		return err
	}
	return fmt.Errorf("table %s: %w", plans[table].Table, err)
}

// newWriters returns the writers of all tables, whose regions follow one another in the rows.
func newWriters(tables []Table, rows sortedRows, o Options) []*writers {
	all := make([]*writers, len(tables))
	from, sinks := 0, &sinkPool{index: o.indexMemory()}
	for i, t := range tables {
		all[i] = &writers{plan: t.Plan, sort: rows, from: from, out: t.Out, sample: o.Sample, events: o.Events, resume: o.resume, gate: o.Gate, allowed: o.Allowed,
			several: len(tables) > 1, sinks: sinks, decoder: t.Plan.Decoder("")}
		from += t.Plan.Ranges.Len()
	}
	return all
}
