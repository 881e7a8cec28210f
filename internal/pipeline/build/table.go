package build

import (
	"fmt"

	"bulkload/internal/pipeline/cells"
)

// A Table is one of those that a build writes: what its files hold, and where they go.
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

// RegionsOf returns how many regions tables have together, as one sort has them.
func RegionsOf(plans []*cells.Plan) (n int) {
	for _, p := range plans {
		n += p.Ranges.Len()
	}
	return n
}

// tableOf returns the table of a region, by its ordinal in the sort, and its number in that table.
func tableOf(plans []*cells.Plan, ordinal int) (table, region int) {
	for ordinal >= plans[table].Ranges.Len() {
		ordinal -= plans[table].Ranges.Len()
		table++
	}
	return table, ordinal
}

// ofTable names the table of an error, if there are several.
func ofTable(plans []*cells.Plan, table int, err error) error {
	if err == nil || len(plans) == 1 {
		return err
	}
	return fmt.Errorf("table %s: %w", plans[table].Table, err)
}

// newWriters returns the writers of all tables, whose regions follow one another in the rows.
func newWriters(tables []Table, rows sortedRows, o Options) []*writers {
	all := make([]*writers, len(tables))
	from := 0
	for i, t := range tables {
		all[i] = &writers{plan: t.Plan, sort: rows, from: from, out: t.Out, sample: o.Sample, events: o.Events, resume: o.resume, gate: o.Gate, allowed: o.Allowed,
			several: len(tables) > 1, decoder: t.Plan.Decoder("")}
		from += t.Plan.Ranges.Len()
	}
	return all
}
