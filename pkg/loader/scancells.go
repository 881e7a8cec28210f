package loader

import (
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
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

// rawScan returns the attribute of a raw scan (org.apache.hadoop.hbase.client.Scan.RAW_ATTR): a Java true.
func rawScan() []*pb.NameBytesPair {
	return []*pb.NameBytesPair{{Name: proto.String("_raw_"), Value: []byte{0xff}}}
}

// keysOnly returns the server's filter that empties values.
func keysOnly() (*pb.Filter, error) {
	b, err := proto.Marshal(&pb.KeyOnlyFilter{LenAsVal: proto.Bool(false)})
	return &pb.Filter{Name: proto.String(filterPackage + "KeyOnlyFilter"), SerializedFilter: b}, err
}

// withKeysOnly adds the filter of keysOnly to a filter, which may be nil.
func withKeysOnly(f *pb.Filter) (*pb.Filter, error) {
	keys, err := keysOnly()
	if err != nil || f == nil {
		return keys, err
	}
	return allOf(&pb.FilterList{Filters: []*pb.Filter{f, keys}})
}

const filterPackage = "org.apache.hadoop.hbase.filter."

// onlyRows returns the server's filter that seeks from one of the rows to the next (HBase 1.1 and later).
func onlyRows(rows [][]byte) (*pb.Filter, error) {
	list := &pb.MultiRowRangeFilter{}
	for _, row := range rows {
		list.RowRangeList = append(list.RowRangeList, &pb.RowRange{StartRow: row, StartRowInclusive: proto.Bool(true), StopRow: row, StopRowInclusive: proto.Bool(true)})
	}
	b, err := proto.Marshal(list)
	return &pb.Filter{Name: proto.String(filterPackage + "MultiRowRangeFilter"), SerializedFilter: b}, err
}

// filterOf returns the server's filter for the rows and the conditions, nil if there are none. A row without a condition's column does not
// pass.
func filterOf(rows [][]byte, where []Condition) (*pb.Filter, error) {
	var list pb.FilterList
	if len(rows) > 0 {
		f, err := onlyRows(rows)
		if err != nil || len(where) == 0 {
			return f, err
		}
		list.Filters = append(list.Filters, f)
	}
	add := func(c Condition, op pb.CompareType, value []byte) error {
		comparator, err := proto.Marshal(&pb.BinaryComparator{Comparable: &pb.ByteArrayComparable{Value: value}})
		if err != nil {
			return err
		}
		b, err := proto.Marshal(&pb.SingleColumnValueFilter{
			ColumnFamily: []byte(c.Family), ColumnQualifier: c.Qualifier, CompareOp: &op,
			Comparator:      &pb.Comparator{Name: proto.String(filterPackage + "BinaryComparator"), SerializedComparator: comparator},
			FilterIfMissing: proto.Bool(true), LatestVersionOnly: proto.Bool(true),
		})
		list.Filters = append(list.Filters, &pb.Filter{Name: proto.String(filterPackage + "SingleColumnValueFilter"), SerializedFilter: b})
		return err
	}
	for _, c := range where {
		if c.From != nil || c.To == nil {
			if err := add(c, pb.CompareType_GREATER_OR_EQUAL, c.From); err != nil {
				return nil, fmt.Errorf("condition on %s:%q: %w", c.Family, c.Qualifier, err)
			}
		}
		if c.To != nil {
			if err := add(c, pb.CompareType_LESS_OR_EQUAL, c.To); err != nil {
				return nil, fmt.Errorf("condition on %s:%q: %w", c.Family, c.Qualifier, err)
			}
		}
	}
	if len(list.Filters) == 0 {
		return nil, nil
	}
	return allOf(&list)
}

// allOf returns a filter that requires all of the list's filters to pass.
func allOf(list *pb.FilterList) (*pb.Filter, error) {
	list.Operator = pb.FilterList_MUST_PASS_ALL.Enum()
	b, err := proto.Marshal(list)
	if err != nil {
		return nil, err
	}
	return &pb.Filter{Name: proto.String(filterPackage + "FilterList"), SerializedFilter: b}, nil
}
