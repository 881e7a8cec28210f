package checkpoint

import (
	"fmt"
	"slices"

	"bulkload/internal/model/spec"
)

// AskedTables returns [Asked] of the further tables of a job, in order.
func AskedTables(s spec.Job, formats []string) (tables []PlanRecord) {
	for _, t := range s.Targets()[1:] {
		p := Asked(t.Job, formats)
		p.Table, p.Index, p.Format, p.Reading, p.Timestamp = t.Table, t.Index, "", nil, 0 // the rest is the job's
		if t.Filter != s.Filter {
			p.Filter = t.RowFilter().String()
		}
		tables = append(tables, p)
	}
	return tables
}

// Formats returns the detected formats of the inputs.
func (p PlanRecord) Formats() (formats []string) {
	for _, f := range p.Inputs {
		formats = append(formats, f.Format)
	}
	return formats
}

// At returns the record of a table, 0 is the first. A further table's lacks the fields that it shares with the first.
func (p *PlanRecord) At(table int) *PlanRecord {
	if table == 0 {
		return p
	}
	return &p.Tables[table-1]
}

// Of returns the plan of a table, 0 is the first. A further table's has the fields that it shares with the first.
func (p PlanRecord) Of(table int) PlanRecord {
	t := *p.At(table)
	t.Job, t.Columns, t.Timestamp, t.Staging, t.Inputs = p.Job, p.Columns, p.Timestamp, p.Staging, p.Inputs
	return t
}

// tableDifferences returns the changes in further tables.
func (p PlanRecord) tableDifferences(now PlanRecord) (all []string) {
	names := func(p PlanRecord) (list []string) {
		for _, t := range p.Tables {
			list = append(list, t.Table)
		}
		return list
	}
	if was, is := names(p), names(now); !slices.Equal(was, is) {
		return []string{fmt.Sprintf("the list of further tables was %v, it is %v", was, is)}
	}
	for i, t := range p.Tables {
		for _, d := range t.rowDifferences(now.Tables[i]) {
			all = append(all, fmt.Sprintf("table %s: %s", t.Table, d))
		}
	}
	return all
}
