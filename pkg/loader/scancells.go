package loader

import (
	"slices"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"
)

// columnsOf returns the columns that a request reads, one entry for each family. A family without qualifiers is read whole.
func columnsOf(r ScanRequest) []*pb.Column {
	var columns []*pb.Column
	at := map[string]*pb.Column{}
	for _, family := range r.Families {
		if at[family] == nil {
			at[family] = &pb.Column{Family: []byte(family)}
			columns = append(columns, at[family])
		}
	}
	whole := len(columns)
	for _, c := range r.Columns {
		entry := at[c.Family]
		if entry == nil {
			entry = &pb.Column{Family: []byte(c.Family)}
			at[c.Family] = entry
			columns = append(columns, entry)
		}
		if !slices.Contains(columns[:whole], entry) {
			entry.Qualifier = append(entry.Qualifier, c.Qualifier)
		}
	}
	return columns
}

// filterOf returns the server's filter for the rows and the conditions of a request, nil if there are none. The filter for rows seeks from one
// to the next (HBase 1.1 and later). A row without a condition's column does not pass. Without conditions, KeysOnly empties the values.
func filterOf(r ScanRequest) (*pb.Filter, error) {
	var all []filter.Filter
	if len(r.Rows) > 0 {
		ranges := make([]*filter.RowRange, len(r.Rows))
		for i, row := range r.Rows {
			ranges[i] = filter.NewRowRange(row, row, true, true)
		}
		all = append(all, filter.NewMultiRowRangeFilter(ranges))
	}
	for _, c := range r.Where {
		add := func(op filter.CompareType, value []byte) {
			comparator := filter.NewBinaryComparator(filter.NewByteArrayComparable(value))
			all = append(all, filter.NewSingleColumnValueFilter([]byte(c.Family), c.Qualifier, op, comparator, true, true))
		}
		if c.From != nil || c.To == nil {
			add(filter.GreaterOrEqual, c.From)
		}
		if c.To != nil {
			add(filter.LessOrEqual, c.To)
		}
	}
	if r.KeysOnly && len(r.Where) == 0 {
		all = append(all, filter.NewKeyOnlyFilter(false))
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0].ConstructPBFilter()
	}
	return filter.NewList(filter.MustPassAll, all...).ConstructPBFilter()
}
